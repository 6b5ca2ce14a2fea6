// Labels, targets, weights and an order, as Python gives them: a lesson.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <vector>

#include "arrays.hpp"
#include "guard.hpp"
#include "passes.hpp"

namespace aggro {

using Labels = std::optional<Column<std::int64_t>>;
using Weights = std::optional<Column<double>>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = std::optional<Table>;

/// What belongs to the rows, kept alive while they are learned.
struct Targets {
    Labels labels;
    Values values;
    Weights weights;
    Labels order = std::nullopt;

    Lesson lesson(std::size_t rows, std::size_t batch_size) const {
        const bool fits = (!labels || labels->size() == rows) &&
                          (!values || values->shape(0) == rows) &&
                          (!weights || weights->size() == rows);
        if (!fits)
            throw nb::value_error("labels, targets and weights need one entry for each row of X");
        Lesson lesson;
        lesson.count = order ? order->size() : rows;
        // a batch of more rows than there are needs no room for them
        lesson.batch_size =
            std::clamp<std::size_t>(batch_size, 1, std::max<std::size_t>(lesson.count, 1));
        if (labels) lesson.labels = labels->data();
        if (values) lesson.values = values->data(), lesson.columns = values->shape(1);
        if (weights) lesson.weights = weights->data();
        if (order) lesson.order = order->data();
        lesson.interrupted = signalled;
        return lesson;
    }

    Lesson lesson(const Rows& rows, std::size_t batch_size) const {
        Lesson lesson = this->lesson(rows.matrix.rows, batch_size);
        lesson.x = rows.matrix;
        return lesson;
    }
};

inline void check_features(const Matrix& x, std::size_t features) {
    if (x.features == features) return;
    throw std::invalid_argument("X has " + std::to_string(x.features) +
                                " features, but the model has " + std::to_string(features));
}

inline void check_order(const Lesson& lesson, std::size_t rows) {
    for (std::size_t i = 0; i < lesson.count; ++i)
        if (lesson.row(i) >= rows) throw std::out_of_range("order names a row that is not there");
}

/// Every group has what it learns from, in every row of the lesson.
inline void check_targets(const std::vector<Group>& groups, const Lesson& lesson) {
    for (const Group& g : groups) {
        const bool classes = g.task != Task::margin && g.task != Task::tube;
        const bool column = lesson.values && g.positive < lesson.columns;
        if (classes && !lesson.labels)
            throw std::invalid_argument("a class label is needed for each row");
        if (g.task == Task::tube && !column)
            throw std::invalid_argument("a target value is needed for each row and output");
        if (!classes && !lesson.labels && !column)
            throw std::invalid_argument("a label or a column of targets is needed for each output");
        for (std::size_t i = 0; classes && i < lesson.count; ++i)
            if (const std::int64_t label = lesson.labels[lesson.row(i)];
                label < 0 || label >= static_cast<std::int64_t>(g.count))
                throw std::out_of_range("a label is not one of the model's classes");
    }
}

}  // namespace aggro
