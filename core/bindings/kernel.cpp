// Python bindings of the kernel learner and of the mini-batch solver.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "kernel_state.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro;

namespace {

/// Return ids and coefficients under one lock.
std::pair<nb::ndarray<nb::numpy, std::int64_t>, nb::ndarray<nb::numpy, double>> expansion_of(
    KernelCore& core) {
    std::vector<std::int64_t> ids;
    std::vector<double> coef;
    core.guard.read([&] {
        const Expansion& e = core.model.expansion;
        ids = e.ids;
        coef = unpadded(e, e.predictor(core.model.history.examples));
    });
    const std::size_t size = ids.size();
    return {to_numpy(std::move(ids), {size}),
            to_numpy(std::move(coef), {size, core.model.shape.outputs})};
}

/// Return the coefficients of a batch, or None if a hard batch is infeasible.
nb::object solve_alone(const Group& group, const Table& gram, const Table& scores,
                       const Labels& labels, const Values& values, const Weights& weights) {
    const std::size_t n = gram.shape(0);
    const TrainingBatch training = Targets{labels, values, weights}.training_batch(n, n);
    check_targets({group}, training);
    if (gram.shape(1) != n || scores.shape(0) != n || scores.shape(1) != group.count)
        throw nb::value_error("gram must be n x n and scores n x outputs");
    std::vector<Target> targets;
    std::vector<Rule> rules;
    for (std::size_t k = 0; k < n; ++k) {
        targets.push_back(training.target(k));
        rules.push_back(group.rule.scaled_C(training.weight(k)));
    }
    BatchWork work;
    std::vector<double> tau(n * group.count);
    const BatchProblem problem{n, gram.data(), scores.data(), targets.data(), rules.data()};
    if (!solve_batch(group, problem, tau.data(), work)) return nb::none();
    return nb::cast(to_numpy(std::move(tau), {n, group.count}));
}

}  // namespace

void bind_kernel(nb::module_& m) {
    nb::enum_<Kernel>(m, "Kernel")
        .value("linear", Kernel::linear)
        .value("poly", Kernel::poly)
        .value("rbf", Kernel::rbf)
        .value("sigmoid", Kernel::sigmoid)
        .value("external", Kernel::external);
    nb::enum_<Forget> forget(m, "Forget");
    for (const auto& [name, value] : strategy_names) forget.value(name, value);
    nb::class_<KernelShape>(m, "KernelShape", "The options of a kernel model.")
        .def(
            "__init__",
            [](KernelShape* self, std::size_t features, std::size_t outputs, Kernel kernel,
               double gamma, int degree, double coef0, bool intercept, bool average, Vote vote,
               std::size_t budget, Forget forget) {
                new (self) KernelShape{features,  outputs, {kernel, gamma, degree, coef0},
                                       intercept, average, vote,
                                       budget,    forget};
            },
            nb::kw_only(), "features"_a, "outputs"_a, "kernel"_a, "gamma"_a = 1.0, "degree"_a = 3,
            "coef0"_a = 0.0, "intercept"_a = true, "average"_a = false, "vote"_a = Vote::each,
            "budget"_a = 0, "forget"_a = Forget::simple);

    nb::class_<KernelCore>(m, "KernelModel", "Support vectors, their coefficients and the history.")
        .def(nb::init<const KernelShape&, std::vector<Group>, bool>(), "shape"_a, "groups"_a,
             "sparse"_a)
        .def(
            "learn",
            [](KernelCore& self, const Rows& rows, Labels labels, Values values, Weights weights,
               Labels order, std::size_t batch_size, std::int64_t first_id, Margins<2> margins) {
                const Targets targets{labels, values, weights, order};
                self.learn(targets.training_batch(rows, batch_size), first_id, margins);
            },
            "rows"_a, "labels"_a.none() = nb::none(), "values"_a.none() = nb::none(),
            "weights"_a.none() = nb::none(), "order"_a.none() = nb::none(), "batch_size"_a = 1,
            "first_id"_a = 0, "margins"_a.none() = nb::none(),
            "Learn the rows in order. An invalid row raises and leaves the model unchanged. "
            "margins, rows x outputs, is filled with the scores of each row before it is learned.")
        .def(
            "learn_values",
            [](KernelCore& self, const Table& with_support, const Table& within, Labels labels,
               Values values, Weights weights, Column<std::int64_t> ids, std::size_t batch_size,
               Margins<2> margins) {
                const Targets targets{labels, values, weights};
                self.learn_values(with_support, within,
                                  targets.training_batch(ids.size(), batch_size), ids, margins);
            },
            "with_support"_a, "within"_a, "labels"_a.none(), "values"_a.none(), "weights"_a.none(),
            "ids"_a, "batch_size"_a = 1, "margins"_a.none() = nb::none(),
            "Learn a block of examples from kernel values computed outside.")
        .def("score", &KernelCore::score, "rows"_a,
             "Scores, one row per example and one column per output.")
        .def("expansion", &expansion_of,
             "Return the example index of each support vector and the predicting coefficients.")
        .def(
            "coef", [](KernelCore& self) { return expansion_of(self).second; },
            "Return the predicting coefficients, support vectors x outputs.")
        .def(
            "ids", [](KernelCore& self) { return expansion_of(self).first; },
            "Return the example index of each support vector.")
        .def("add_classes", &KernelCore::add_classes, "source"_a, "change"_a, "first"_a,
             "Continue another model with more classes: change, new x old, is the matrix that maps "
             "its outputs to the new ones; first says whether its only class is now the first.")
        .def("state", &state_of, "Return all arrays of the state by name.")
        .def("load_state", &load_state, "state"_a, "Restore what state() returned.")
        .def(
            "set_groups",
            [](KernelCore& self, std::vector<Group> groups) {
                self.guard.write([&] {
                    if (groups.size() != self.model.groups.size())
                        throw std::invalid_argument("the number of groups is fixed");
                    self.model.groups = std::move(groups);
                });
            },
            "groups"_a, "Change the rules; the coefficients stay.")
        .def(
            "freeze",
            [](KernelCore& self, bool frozen) {
                self.guard.write([&] { self.model.frozen = frozen; });
            },
            "frozen"_a, "Set whether the following rows have been learned before.")
        .def(
            "support",
            [](KernelCore& self) {
                nb::dict rows;
                put_rows(rows, self.guard.read([&] { return self.store; }));
                return rows;
            },
            "Return the support vectors: `support`, or `data`, `indices` and `indptr`; empty if "
            "they are stored outside.")
        .def_prop_ro("features", [](KernelCore& self) { return self.model.shape.features; })
        .def_prop_ro("size",
                     [](KernelCore& self) {
                         return self.guard.peek([&] { return self.model.expansion.size(); });
                     })
        .def_prop_ro("examples",
                     [](KernelCore& self) {
                         return self.guard.peek([&] { return self.model.history.examples; });
                     })
        .def_prop_ro(
            "history",
            [](KernelCore& self) {
                const KernelHistory h = self.guard.peek([&] { return self.model.history; });
                return std::make_tuple(h.mistakes, h.updates, h.loss);
            },
            "Mistakes in new rows, updates and loss; each example is predicted before it is "
            "learned.");

    m.def("solve_batch", &solve_alone, "group"_a, "gram"_a, "scores"_a,
          "labels"_a.none() = nb::none(), "values"_a.none() = nb::none(),
          "weights"_a.none() = nb::none(),
          "Return the coefficients of the exact step of a mini-batch, or None if a hard batch is "
          "infeasible.");
}
