// Python bindings of the log loss.
#include "linear/log_loss.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro;

namespace {

using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Return the mean magnitude of the scores: 1 if all are zero, not finite if one is not.
double size_of(const double* scores, std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += std::abs(scores[i]);
    return sum == 0 ? 1 : sum / static_cast<double>(count);
}

/// Return the weights of the rows, normalised to a sum of 1; equal weights if all are zero.
std::vector<double> weights_of(const std::optional<Column<double>>& given, std::size_t rows) {
    double sum = 0;
    for (std::size_t i = 0; given && i < rows; ++i) sum += (*given)(i);
    std::vector<double> weights(rows, 1 / static_cast<double>(rows));
    for (std::size_t i = 0; sum > 0 && i < rows; ++i) weights[i] = (*given)(i) / sum;
    return weights;
}

/// Return the loss of rows with exclusive classes.
double loss_of_classes(const double* scores, const Column<std::int64_t>& right, double size,
                       std::size_t outputs, const std::vector<double>& weights) {
    LogLoss loss(weights.size(), outputs);
    std::vector<double> row(outputs);
    for (std::size_t i = 0; i < weights.size(); ++i, scores += outputs) {
        const auto label = static_cast<std::size_t>(right(i));
        if (label >= outputs) throw nb::value_error("expected the number of a class as label");
        for (std::size_t k = 0; k < outputs; ++k) row[k] = scores[k] / size;
        loss.add(row.data(), label, weights[i]);
    }
    return loss.smallest();
}

/// Return the mean loss of the outputs of a multilabel model.
template <class Positive>
double loss_of_outputs(const double* scores, const Positive& positive, double size,
                       std::size_t outputs, const std::vector<double>& weights) {
    LogLoss loss(weights.size() * outputs, 2);
    for (std::size_t i = 0; i < weights.size(); ++i)
        for (std::size_t k = 0; k < outputs; ++k, ++scores) {
            const double margin = *scores / size;
            loss.add(positive(i, k) ? margin : -margin, weights[i] / static_cast<double>(outputs));
        }
    return loss.smallest();
}

double scaled_log_loss(const Table& scores, const std::optional<Column<std::int64_t>>& labels,
                       const std::optional<Table>& values,
                       const std::optional<Column<double>>& given) {
    const std::size_t rows = scores.shape(0), outputs = scores.shape(1);
    const std::size_t targets = labels ? labels->size() * outputs : values ? values->size() : 0;
    if (targets == 0 || targets != rows * outputs || (given && given->size() != rows))
        throw nb::value_error("expected a target and a weight for each row of scores");
    const double size = size_of(scores.data(), rows * outputs);
    if (!std::isfinite(size)) return infinity;
    const std::vector<double> weights = weights_of(given, rows);
    if (labels && outputs > 1)
        return loss_of_classes(scores.data(), *labels, size, outputs, weights);
    const auto positive = [&](std::size_t i, std::size_t k) {
        return labels ? (*labels)(i) > 0 : values->data()[i * outputs + k] > 0;
    };
    return loss_of_outputs(scores.data(), positive, size, outputs, weights);
}

}  // namespace

void bind_log_loss(nb::module_& m) {
    m.def("scaled_log_loss", &scaled_log_loss, "scores"_a, "labels"_a.none() = nb::none(),
          "values"_a.none() = nb::none(), "weights"_a.none() = nb::none(),
          "Return the mean log loss of the scores multiplied by the factor that minimises it.");
}
