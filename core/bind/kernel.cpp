// The kernel learner, and the solver of mini-batches by itself.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "kernel_state.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro;

namespace {

/// Runs `work` while nobody writes.
template <class Work>
auto reading(KernelCore& core, Work&& work) {
    std::shared_lock lock(core.mutex, std::defer_lock);
    {
        nb::gil_scoped_release release;
        lock.lock();
    }
    return work();
}

template <class Work>
void writing(KernelCore& core, Work&& work) {
    std::unique_lock lock(core.mutex, std::defer_lock);
    {
        nb::gil_scoped_release release;
        lock.lock();
    }
    work();
}

/// The coefficients of a batch alone, or None if a hard batch contradicts itself.
nb::object solve_alone(const Group& group, const Table& gram, const Table& scores,
                       const Labels& labels, const Values& values, const Weights& weights) {
    const std::size_t n = gram.shape(0);
    const Lesson lesson = Targets{labels, values, weights}.lesson(n, n);
    check_targets({group}, lesson, n);
    if (gram.shape(1) != n || scores.shape(0) != n || scores.shape(1) != group.count)
        throw nb::value_error("gram must be n x n and scores n x outputs");
    std::vector<Target> targets;
    std::vector<Rule> rules;
    for (std::size_t k = 0; k < n; ++k) {
        targets.push_back(lesson.target(k));
        rules.push_back(group.rule.priced(lesson.weight(k)));
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
    nb::enum_<Forget>(m, "Forget")
        .value("simple", Forget::simple)
        .value("nearest", Forget::nearest)
        .value("projection", Forget::projection)
        .value("oldest", Forget::oldest);
    nb::class_<KernelShape>(m, "KernelShape", "What kind of kernel model to make.")
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
               Labels order, std::size_t batch_size, std::int64_t first_id, Margins margins) {
                self.learn(rows, {labels, values, weights, margins}, order, batch_size, first_id);
            },
            "rows"_a, "labels"_a.none() = nb::none(), "values"_a.none() = nb::none(),
            "weights"_a.none() = nb::none(), "order"_a.none() = nb::none(), "batch_size"_a = 1,
            "first_id"_a = 0, "margins"_a.none() = nb::none(),
            "Learn the rows, in order. A bad row raises and leaves the model as it was. margins, "
            "rows x outputs, is filled with the scores of each row before it is learned.")
        .def(
            "learn_values",
            [](KernelCore& self, const Table& with_support, const Table& within, Labels labels,
               Values values, Weights weights, Column<std::int64_t> ids, std::size_t batch_size,
               Margins margins) {
                self.learn_values(with_support, within, {labels, values, weights, margins}, ids,
                                  batch_size);
            },
            "with_support"_a, "within"_a, "labels"_a.none(), "values"_a.none(), "weights"_a.none(),
            "ids"_a, "batch_size"_a = 1, "margins"_a.none() = nb::none(),
            "Learn a block of examples from kernel values computed outside.")
        .def("score", &KernelCore::score, "rows"_a,
             "Scores, one row per example and one column per output.")
        .def(
            "coef",
            [](KernelCore& self) {
                return reading(self, [&] {
                    const Expansion& e = self.model.expansion;
                    return to_numpy(unpadded(e, e.predictor(self.model.history.examples)),
                                    {e.size(), e.outputs});
                });
            },
            "The coefficients that predict, support vectors x outputs.")
        .def(
            "ids",
            [](KernelCore& self) {
                return reading(self, [&] {
                    return to_numpy(self.model.expansion.ids, {self.model.expansion.size()});
                });
            },
            "Which example each support vector was.")
        .def(
            "state", [](KernelCore& self) { return reading(self, [&] { return state_of(self); }); },
            "All arrays of the state by name.")
        .def(
            "load_state",
            [](KernelCore& self, const nb::dict& state) {
                writing(self, [&] { load_state(self, state); });
            },
            "state"_a, "Put back what state() gave.")
        .def(
            "set_groups",
            [](KernelCore& self, std::vector<Group> groups) {
                if (groups.size() != self.model.groups.size())
                    throw nb::value_error("the number of groups is fixed");
                writing(self, [&] { self.model.groups = std::move(groups); });
            },
            "groups"_a, "Change the rules; what was learned stays.")
        .def(
            "support",
            [](KernelCore& self) {
                return reading(self, [&] {
                    nb::dict rows;
                    std::visit([&](const auto& kept) { put_rows(rows, kept); }, self.store);
                    return rows;
                });
            },
            "The support vectors: `support`, or `data`, `indices` and `indptr`; nothing if they "
            "are kept outside.")
        .def_prop_ro("features", [](KernelCore& self) { return self.model.shape.features; })
        .def_prop_ro("size", [](KernelCore& self) { return self.model.expansion.size(); })
        .def_prop_ro("examples", [](KernelCore& self) { return self.model.history.examples; })
        .def_prop_ro(
            "history",
            [](KernelCore& self) {
                const KernelHistory& h = self.model.history;
                return std::make_tuple(h.mistakes, h.updates, h.loss);
            },
            "Mistakes, updates and loss, each example judged before it was learned.");

    m.def("solve_batch", &solve_alone, "group"_a, "gram"_a, "scores"_a,
          "labels"_a.none() = nb::none(), "values"_a.none() = nb::none(),
          "weights"_a.none() = nb::none(),
          "The exact step of a mini-batch: coefficients, or None if a hard batch contradicts "
          "itself.");
}
