// Conversion of labels, targets, weights and an order from Python to a training batch.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <vector>

#include "arrays.hpp"
#include "guard.hpp"
#include "linear/passes.hpp"

namespace aggro {

using Labels = std::optional<Column<std::int64_t>>;
using Weights = std::optional<Column<double>>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = std::optional<Table>;
template <std::size_t axes>
using Margins = std::optional<nb::ndarray<double, nb::ndim<axes>, nb::c_contig, nb::device::cpu>>;

/// Labels, targets, weights and order, with references that keep the arrays alive.
struct Targets {
    Labels labels;
    Values values;
    Weights weights;
    Labels order = std::nullopt;

    TrainingBatch training_batch(std::size_t rows, std::size_t batch_size) const {
        const bool fits = (!labels || labels->size() == rows) &&
                          (!values || values->shape(0) == rows) &&
                          (!weights || weights->size() == rows);
        if (!fits)
            throw nb::value_error("labels, targets and weights need one entry for each row of X");
        TrainingBatch training;
        training.count = order ? order->size() : rows;
        // the batch size need not exceed the number of rows; a last batch of one row is still
        // solved as a batch, so that results do not depend, to the last bit, on the call it comes
        // in
        training.batch_size =
            std::clamp<std::size_t>(batch_size, 1, std::max<std::size_t>(training.count, 2));
        if (labels) training.labels = labels->data();
        if (values) training.values = values->data(), training.columns = values->shape(1);
        if (weights) training.weights = weights->data();
        if (order) training.order = order->data();
        training.interrupted = signalled;
        return training;
    }

    TrainingBatch training_batch(const Rows& rows, std::size_t batch_size) const {
        TrainingBatch training = this->training_batch(rows.matrix.rows, batch_size);
        training.x = rows.matrix;
        return training;
    }
};

/// Output for the margins of rows before they are learned, and the model to record.
struct RecordedMargins {
    const Rows* reference = nullptr;    ///< scored together with each row
    Margins<3> margins = std::nullopt;  ///< rows x 2 x outputs
    std::size_t model = 0;              ///< number of the model

    void begin(TrainingBatch& training, const std::vector<Shape>& shapes) const {
        if (!reference && !margins) return;
        if (model >= shapes.size())
            throw std::out_of_range("recorded is not the number of a model");
        const Shape& shape = shapes[model];
        const bool fits = reference && margins && reference->matrix.rows == 1 &&
                          reference->matrix.features == shape.features &&
                          margins->shape(0) == training.count && margins->shape(1) == 2 &&
                          margins->shape(2) == shape.outputs / shape.models;
        if (!fits)
            throw std::invalid_argument(
                "margins need a reference row and the shape rows x 2 x outputs");
        check_all_count(training);
        training.reference = &reference->matrix;
        training.margins = margins->data();
        training.recorded = model;
    }

    static void check_all_count(const TrainingBatch& training) {
        for (std::size_t i = 0; i < training.count; ++i)
            if (training.weight(training.row(i)) == 0)
                throw std::invalid_argument(
                    "rows without weight have no margins; leave them out of order");
    }
};

inline void check_features(const Matrix& x, std::size_t features) {
    if (x.features == features) return;
    throw std::invalid_argument("X has " + std::to_string(x.features) +
                                " features, but the model has " + std::to_string(features));
}

/// Check the memory that a batch needs for the products of its rows and the solver.
inline void check_batch(const TrainingBatch& training, std::size_t outputs) {
    const auto rows = static_cast<double>(training.batch_size);
    check_memory(rows * (3 * rows + 6 * static_cast<double>(outputs)) * sizeof(double),
                 "a mini-batch of " + std::to_string(training.batch_size) + " rows",
                 "use smaller ones");
}

/// Return a buffer for the scores of these rows.
template <class T>
inline std::vector<T> score_buffer(const Matrix& x, std::size_t outputs) {
    check_memory(static_cast<double>(x.rows) * static_cast<double>(outputs) * sizeof(T),
                 "the scores of " + std::to_string(x.rows) + " rows", "score fewer at a time");
    return std::vector<T>(x.rows * outputs);
}

inline void check_order(const TrainingBatch& training, std::size_t rows) {
    for (std::size_t i = 0; i < training.count; ++i)
        if (training.row(i) >= rows)
            throw std::out_of_range("order contains the index of a row that does not exist");
}

/// Check that every row has a target for every group.
inline void check_targets(const std::vector<Group>& groups, const TrainingBatch& training) {
    for (const Group& g : groups) {
        const bool classes = picks_class(g.task);
        const bool column = training.values && g.positive < training.columns;
        if (classes && !training.labels)
            throw std::invalid_argument("a class label is needed for each row");
        if (gives_value(g.task) && !column)
            throw std::invalid_argument("a target value is needed for each row and output");
        if (!classes && !training.labels && !column)
            throw std::invalid_argument("a label or a column of targets is needed for each output");
        for (std::size_t i = 0; classes && i < training.count; ++i)
            if (const std::int64_t label = training.labels[training.row(i)];
                label < 0 || label >= static_cast<std::int64_t>(g.count))
                throw std::out_of_range("a label is not one of the model's classes");
    }
}

}  // namespace aggro
