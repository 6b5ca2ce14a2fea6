// Python bindings of linear models of one precision.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "linear_core.hpp"

namespace aggro {

using namespace nb::literals;

/// Return a method that reads the model under its lock.
template <class T, class Read>
auto reading(Read read) {
    return
        [read](LinearCore<T>& self) { return self.guard.peek([&] { return read(self.model); }); };
}

/// Return a method that sets a value of the model under its lock.
template <class T, class Value, class Write>
auto writing(Write write) {
    return [write](LinearCore<T>& self, Value value) {
        self.guard.write([&] { write(self.model, value); });
    };
}

template <class Values>
std::vector<double> doubles(const Values& values) {
    return {values.begin(), values.end()};
}

template <class T>
void bind_model(nb::module_& m, const char* name) {
    using G = LinearCore<T>;
    nb::class_<G>(m, name, "A linear model: weights, metric, centre and counters.")
        .def(
            "__init__",
            [](G* self, const Shape& shape, std::vector<Group> groups,
               std::vector<std::size_t> own_sum) {
                new (self) G(shape, std::move(groups), std::move(own_sum));
            },
            "shape"_a, "groups"_a, "own_sum"_a)
        .def(
            "learn",
            [](G& self, const Rows& rows, Labels labels, Values values, Weights weights,
               Labels order, std::size_t batch_size, bool undo, std::size_t threads,
               const Rows* reference, Margins<3> margins) {
                const Targets targets{labels, values, weights, order};
                G::learn({&self}, targets.training_batch(rows, batch_size), {reference, margins},
                         undo, threads);
            },
            "rows"_a, "labels"_a.none() = nb::none(), "values"_a.none() = nb::none(),
            "weights"_a.none() = nb::none(), "order"_a.none() = nb::none(), "batch_size"_a = 1,
            "undo"_a = true, "threads"_a = 1, "reference"_a.none() = nb::none(),
            "margins"_a.none() = nb::none(),
            "Learn the rows in order. An invalid row raises and leaves the model unchanged. "
            "margins, rows x 2 x outputs, is filled with the scores of each row and of the "
            "reference row before the row is learned.")
        .def(
            "score",
            [](G& self, const Rows& rows, std::size_t threads) {
                return self.score(rows.matrix, std::max<std::size_t>(threads, 1));
            },
            "rows"_a, "threads"_a = 1,
            "Return the scores of the predictor, one row per example and one column per output.")
        .def(
            "ensemble_score",
            [](G& self, const Rows& rows, std::size_t threads) {
                return self.ensemble_score(rows.matrix, std::max<std::size_t>(threads, 1));
            },
            "rows"_a, "threads"_a = 1,
            "Return the part of these models in the ensemble prediction of each row.")
        .def("ensemble_coefficients", &G::ensemble_coefficients,
             "Return the part of these models in the weights of the ensemble prediction, followed "
             "by the intercept.")
        .def("grow", writing<T, std::size_t>([](auto& m, std::size_t n) { m.grow(n); }),
             "features"_a, "Add features with weight zero.")
        .def("forget", writing<T, std::size_t>([](auto& m, std::size_t feature) {
                 if (feature >= m.shape.features)
                     throw std::out_of_range("there is no such feature");
                 m.forget(feature);
             }),
             "feature"_a, "Reset a feature to its initial state.")
        .def(
            "fold",
            [](G& self) {
                self.guard.write([&] {
                    for (const Group& group : self.model.groups) fold(self.model, group);
                });
            },
            "Write the effective weights to the table and reset the mixture to the identity.")
        .def("copy", &G::copy, nb::rv_policy::take_ownership, "Return a copy of the model.")
        .def("change_since", &G::change_since, "start"_a,
             nb::sig("def change_since(self, start: object) -> dict[str, object]"),
             "Return what the model has learned since a start, as the fields of a Change.")
        .def(
            "apply_change",
            [](G& self, nb::handle change, double prior, double damping, double relaxation) {
                self.apply_change(change, {prior, damping, relaxation});
            },
            "change"_a, "prior"_a = 0.0, "damping"_a = 0.0, "relaxation"_a = 0.0,
            "Add the changes of all models that continued this one.")
        .def("state", &G::state, "Return all arrays of the state by name.")
        .def("layout", &G::layout, nb::sig("def layout(self) -> dict[str, str]"),
             "Return the kind of each array of the state: column, slot, feature, output, mixture, "
             "group, matrix, model or shared.")
        .def(
            "load_state", &G::load_state, "state"_a,
            "Restore what state() returned; an array that does not fit raises and changes nothing.")
        .def("continue_models", &G::continue_models, "source"_a, "models"_a,
             "labels"_a = std::vector<std::size_t>(),
             "Continue model models[i] of another core in model i; with labels, output labels[k] "
             "of each model in its output k.")
        .def("continue_features", &G::continue_features, "source"_a, "places"_a,
             "Continue another core whose feature j is feature places[j] of this one; -1 leaves it "
             "out.")
        .def("add_classes", &G::add_classes, "source"_a, "position"_a, "change"_a,
             "Continue another core with more classes: position[c] is the new number of class c, "
             "and change is the matrix that maps the outputs of a model to the new ones, row by "
             "row.")
        .def("set_weights", &G::set_weights, "weights"_a.none(), "bias"_a.none(),
             "Set the predicting weights, features x outputs, and intercepts; None leaves them "
             "unchanged. Averages, queue and reservoir restart.")
        .def("weights_view", &G::weights_view,
             "Return a writable view of the last weights, features x outputs.")
        .def("weights", &G::weights, "Return the predicting weights, features x outputs.")
        .def("bias", &G::bias, "Return the predicting intercepts.")
        .def("set_groups", &G::set_groups, "groups"_a, "Change the rules; the weights stay.")
        .def("freeze_means",
             writing<T, bool>([](auto& m, bool frozen) { m.counters.frozen = frozen; }), "frozen"_a)
        .def("seed",
             writing<T, std::uint64_t>([](auto& m, std::uint64_t s) { m.counters.random = s; }),
             "seed"_a)
        .def("average_from",
             writing<T, std::int64_t>([](auto& m, std::int64_t n) { m.average_from = n; }),
             "examples"_a)
        .def("set_memory",
             writing<T, double>([](auto& m, double memory) { m.record.memory = memory; }),
             "memory"_a, "Set the discount factor of the recent records per example.")
        .def("set_unit",
             writing<T, double>([](auto& m, double s) { m.unit.known.at(CScale::steps) = s; }),
             "steps"_a, "Set the position of the grid of C.")
        .def_prop_ro("features", reading<T>([](auto& m) { return m.shape.features; }))
        .def_prop_ro("columns", [](G& self) { return self.model.saved_columns(); })
        .def_prop_ro("keeps_total", [](G& self) { return self.model.shape.total; })
        .def_prop_ro("examples", reading<T>([](auto& m) { return m.counters.examples; }))
        .def_prop_ro("averaged", reading<T>([](auto& m) { return m.counters.averaged; }))
        .def_prop_ro("group_counts", &G::group_counts, "Mistakes, updates and loss of each group.")
        .def_prop_ro("memory", reading<T>([](auto& m) { return m.record.memory; }))
        .def_prop_ro("unit", reading<T>([](auto& m) { return doubles(m.unit.known); }),
                     "Statistics of the unit of C: number of rows, sum of their log squared "
                     "lengths, number of targets, sum of their logs, steps of the grid.")
        .def_prop_ro("records", reading<T>([](auto& m) { return list_of(m.record); }),
                     "Mistakes, recent mistakes, recent loss and recent examples of each model; "
                     "the recent ones count in examples of equal weight.")
        .def_prop_ro("distances", reading<T>([](auto& m) { return doubles(m.record.distances); }),
                     "Sum of the absolute errors of each model, in regression.")
        .def_prop_ro("by_mean", reading<T>([](auto& m) {
                         const std::size_t each = m.shape.outputs / m.shape.models;
                         const auto outputs = predicts_by_mean(m);
                         std::vector<bool> models;
                         for (std::size_t k = 0; k < outputs.size(); k += each)
                             models.push_back(outputs[k]);
                         return models;
                     }),
                     "For each model, whether the mean of its weights predicts.")
        .def_prop_ro("chosen", reading<T>([](auto& m) { return best_record(m.record); }),
                     "Number of the model with the best recent record.")
        .def_prop_ro("ensemble_weights", reading<T>([](auto& m) { return doubles(m.record.part); }),
                     "Coefficient of each score in the ensemble, of the mean and of the last "
                     "weights of each model; zero if there is no ensemble.")
        .def_prop_ro("chosen_unit", reading<T>([](auto& m) { return unit_of_chosen(m.record); }),
                     "Unit of the score of the best model in the ensemble prediction.")
        .def_prop_ro("forms_ensemble",
                     reading<T>([](auto& m) { return m.record.forms_ensemble(); }),
                     "Whether the models form an ensemble.")
        .def_prop_ro("chosen_record", reading<T>([](auto& m) {
                         return std::pair(m.record.chosen_mistakes, m.record.chosen_error);
                     }),
                     "Mistakes and error of the model with the best record at the time, or of the "
                     "ensemble.")
        .def_prop_ro("drift_record", reading<T>([](auto& m) {
                         const DriftRecord& drift = m.record.drift;
                         return std::tuple(drift.weight, drift.squared_weight, drift.loss,
                                           drift.squared_loss);
                     }),
                     "Sums over the rows evaluated before they were learned: weights, squared "
                     "weights, and weighted bounded losses of the best model and their squares.");
}

/// Bind the functions on several models.
template <class T>
void bind_several(nb::module_& m, const char* name) {
    using G = LinearCore<T>;
    using B = BoundTransaction<T>;
    nb::class_<B>(m, name, "A copy of the state that a batch may change in some models.")
        .def("restore", &B::restore, "Restore the models, including their rules.")
        .def("end", &B::end,
             "Ignore later changes: they have transactions of their own, to restore first.")
        .def("check", &B::check, "Raise if a number that the batch changed overflows.");
    m.def(
        "begin_transaction",
        [](std::vector<G*> models, const Rows& rows, Labels labels, Values values, Weights weights,
           Labels order, bool undo) {
            const Targets targets{labels, values, weights, order};
            TrainingBatch training = targets.training_batch(rows, 1);
            training.undo = undo;
            return new B(std::move(models), training);
        },
        "models"_a, "rows"_a, "labels"_a.none() = nb::none(), "values"_a.none() = nb::none(),
        "weights"_a.none() = nb::none(), "order"_a.none() = nb::none(), "undo"_a = true,
        nb::rv_policy::take_ownership,
        "Copy the state that a batch learned in several calls may change, to check it and, unless "
        "undo is false, to restore it. The cost depends on the rows, not on the size of the "
        "model.");
    m.def(
        "set_ensemble_weights",
        [](const std::vector<G*>& models, bool predict) {
            Guard::write_all(G::guards(models),
                             [&] { set_ensemble_weights(G::models(models), predict); });
        },
        "models"_a, "predict"_a,
        "Set the weight of each score in the ensemble by the loss of its margins, or to zero "
        "without predict.");
    m.def(
        "learn_together",
        [](std::vector<G*> models, const Rows& rows, Labels labels, Values values, Weights weights,
           Labels order, std::size_t batch_size, bool undo, std::size_t threads,
           const Rows* reference, Margins<3> margins, std::size_t recorded, bool check) {
            const Targets targets{labels, values, weights, order};
            G::learn(models, targets.training_batch(rows, batch_size),
                     {reference, margins, recorded}, undo, threads, check);
        },
        "models"_a, "rows"_a, "labels"_a.none() = nb::none(), "values"_a.none() = nb::none(),
        "weights"_a.none() = nb::none(), "order"_a.none() = nb::none(), "batch_size"_a = 1,
        "undo"_a = true, "threads"_a = 1, "reference"_a.none() = nb::none(),
        "margins"_a.none() = nb::none(), "recorded"_a = 0, "check"_a = true,
        "Learn the rows in all models independently. An invalid row raises and leaves all of them "
        "unchanged; after an interrupt all have learned the same rows. margins receives those of "
        "model number `recorded`. Unless check is false, a model that overflows raises as well.");
}

}  // namespace aggro
