// Python bindings of the rules, groups, shapes and rows of linear learners.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "base/random.hpp"
#include "changes.hpp"
#include "linear/passes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro;

void bind_linear(nb::module_& m) {
    nb::enum_<Task> task(m, "Task");
    for (const auto& [name, value] : task_names) task.value(name, value);
    nb::enum_<Metric>(m, "Metric")
        .value("euclidean", Metric::euclidean)
        .value("diagonal", Metric::diagonal)
        .value("adagrad", Metric::adagrad)
        .value("full", Metric::full);
    nb::enum_<Scale>(m, "Scale")
        .value("none", Scale::none)
        .value("online", Scale::online)
        .value("standard", Scale::standard);
    nb::enum_<Predictor>(m, "Predictor")
        .value("last", Predictor::last)
        .value("average", Predictor::average)
        .value("either", Predictor::either)
        .value("reservoir", Predictor::reservoir);
    nb::enum_<Vote>(m, "Vote")
        .value("each", Vote::each)
        .value("argmax", Vote::argmax)
        .value("all", Vote::all);
    nb::enum_<Uncertainty>(m, "Uncertainty")
        .value("none", Uncertainty::none)
        .value("variance", Uncertainty::variance)
        .value("deviation", Uncertainty::deviation);

    nb::class_<Rule>(m, "Rule", "The penalty of a violated constraint, as numbers.")
        .def(
            "__init__",
            [](Rule* self, double lo, double cap, double ridge, double margin, double epsilon,
               double kappa, double ahead, double phi, Uncertainty uncertainty, bool weigh_kappa) {
                new (self) Rule{lo,    cap,   ridge, margin,      epsilon,
                                kappa, ahead, phi,   uncertainty, weigh_kappa};
            },
            nb::kw_only(), "lo"_a = 0.0, "cap"_a = infinity, "ridge"_a = 0.0, "margin"_a = 1.0,
            "epsilon"_a = 0.0, "kappa"_a = 1.0, "ahead"_a = 0.0, "phi"_a = 0.0,
            "uncertainty"_a = Uncertainty::none, "weigh_kappa"_a = false);
    nb::class_<Group>(m, "Group", "Outputs of one optimisation problem, and their update rule.")
        .def(
            "__init__",
            [](Group* self, std::size_t first, std::size_t count, Task task, std::size_t positive,
               const Rule& rule, double gamma, bool always) {
                new (self) Group{first, count, task, positive, rule, gamma, always};
            },
            nb::kw_only(), "first"_a, "count"_a, "task"_a, "positive"_a, "rule"_a, "gamma"_a = 0.0,
            "always"_a = false);
    nb::class_<Shape>(m, "Shape", "The shape of a model.")
        .def(
            "__init__",
            [](Shape* self, std::size_t features, std::size_t outputs, bool intercept,
               double intercept_scale, Metric metric, Predictor predictor, std::size_t sums,
               bool total, std::size_t queue, std::size_t reservoir, Vote vote, std::size_t models,
               Scale scale, std::size_t spreads, double forgetting, bool one_class, bool mergeable,
               bool squared_errors) {
                new (self) Shape{features,  outputs,   intercept,     intercept_scale, metric,
                                 predictor, sums,      total,         queue,           reservoir,
                                 vote,      models,    scale,         spreads,         forgetting,
                                 one_class, mergeable, squared_errors};
            },
            nb::kw_only(), "features"_a, "outputs"_a, "intercept"_a, "intercept_scale"_a = 1.0,
            "metric"_a, "predictor"_a, "sums"_a = 0, "total"_a = false, "queue"_a = 1,
            "reservoir"_a = 0, "vote"_a = Vote::each, "models"_a = 1, "scale"_a = Scale::none,
            "spreads"_a = 0, "forgetting"_a = 0.0, "one_class"_a = false, "mergeable"_a = false,
            "squared_errors"_a = false);
    nb::class_<Rows>(m, "Rows", "A view of rows to learn or to score.")
        .def(nb::init<const AnyArray&>(), "x"_a)
        .def(nb::init<const AnyArray&, const AnyArray&, const AnyArray&, std::size_t>(), "data"_a,
             "indices"_a, "indptr"_a, "features"_a)
        .def_prop_ro("count", [](const Rows& self) { return self.matrix.rows; })
        .def_prop_ro("features", [](const Rows& self) { return self.matrix.features; })
        .def_prop_ro("sparse", [](const Rows& self) { return self.matrix.sparse(); })
        .def(
            "inspect", [](Rows& self) { inspect(self.matrix); },
            "Check the indices of all rows once, so that passes need not check them again.")
        .def(
            "square",
            [](const Rows& self, std::size_t row, Scale scale) {
                return square_of(self.matrix, row, scale);
            },
            "row"_a, "scale"_a = Scale::none,
            "Return the squared norm of a row after scaling, if it is the first one.");
    m.def("add_changes", &add_changes, "changes"_a,
          nb::sig("def add_changes(changes: list[object]) -> dict[str, object]"),
          "Return the sum of changes since the same start, as the fields of a Change.");
    m.def(
        "shuffle",
        [](nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& numbers,
           std::uint64_t seed) { shuffle({numbers.data(), numbers.size()}, seed); },
        "numbers"_a, "seed"_a, "Put the numbers of an array in random order.");
}
