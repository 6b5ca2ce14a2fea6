// Inner products of the rows of a mini-batch in the metric of a group.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "linear/row_ops.hpp"

namespace aggro {

/// One example of a batch.
template <class Row>
struct Member {
    Row x;
    Target y;
    double weight;
};

/// The same type of row with values in double precision.
template <class T>
DenseRow<double> widened(const DenseRow<T>& x, const double* values) {
    return {values, x.size};
}
template <class T, class Index>
SparseRow<double, Index> widened(const SparseRow<T, Index>& x, const double* values) {
    return {values, x.indices, x.size};
}

/// The Gram matrix of a batch, always in double precision. Rows of a batch are often linearly
/// dependent, and the solver has to detect it: rounding to single precision would leave directions
/// of tiny length, along which hard constraints need huge steps.
template <class T, class Row>
class BatchGram {
  public:
    explicit BatchGram(Model<T>& model) : m(model) {}

    const double* data() const { return gram.data(); }

    /// Discard the rows of the last batch.
    void forget() { known = false; }

    /// Compute x_j' Sigma x_k for all pairs of the batch, including the constant feature.
    void measure(std::size_t index, const std::vector<Member<Row>>& batch) {
        if (known && m.shape.metric == Metric::euclidean) return;
        if (!known) widen(batch);  // all groups of a model learn the same rows
        known = true;
        const std::size_t count = rows.size();
        gram.resize(count * count);
        constexpr std::size_t few = 8;  // below this, pairwise products are faster than a board
        if (Row::dense || m.shape.metric == Metric::full || count <= few)
            return measure_images(index);
        number_features();
        for (std::size_t first = 0; first < count; first += width) measure_board(index, first);
    }

  private:
    using Wide = decltype(widened(Row{}, nullptr));

    /// Convert the rows of the batch to double precision; rows that already are stay in place.
    void widen(const std::vector<Member<Row>>& batch) {
        rows.clear();
        if constexpr (std::is_same_v<T, double>) {
            for (const auto& example : batch) rows.push_back(example.x);
        } else {
            std::size_t entries = 0;
            for (const auto& example : batch) entries += example.x.size;
            values.resize(entries);
            double* to = values.data();
            for (const auto& example : batch) {
                rows.push_back(widened(example.x, to));
                to = std::copy_n(example.x.values, example.x.size, to);
            }
        }
    }

    /// Number the features of the batch consecutively, so that its board stays in the cache.
    /// Numbers of earlier batches are below `base` and need no clearing.
    void number_features() {
        std::size_t entries = 0;
        for (const Wide& x : rows) entries += x.size;
        if (number.size() < m.shape.features || base > (1 << 30))
            number.assign(m.shape.features, base = 0);
        base += used + 1;
        used = 0;
        numbers.resize(entries);
        std::int32_t *name = numbers.data(), *known = number.data(), next = base;
        const std::int32_t first = base;
        for (const Wide& x : rows) {
            for (std::size_t k = 0; k < x.size; ++k) {
                // `fresh` is all ones for a new feature; a branch here would be mispredicted
                const std::int32_t old = known[x.feature(k)], fresh = -(old < first);
                const std::int32_t now = old ^ ((old ^ next) & fresh);
                known[x.feature(k)] = now;
                next -= fresh;
                *name++ = now - first;
            }
        }
        used = next - base;
    }

    /// Multiply sparse rows: up to `width` of them are laid out side by side, one column each, so
    /// that one pass over another row computes its products with all of them.
    void measure_board(std::size_t index, std::size_t first) {
        const std::size_t n = rows.size(), some = std::min(width, n - first),
                          column = m.groups[index].first;
        const double constant = m.shape.intercept ? m.bias_variance[column] : 0;
        board.assign(static_cast<std::size_t>(used) * width, 0.0);
        const std::int32_t* names = numbers.data();
        for (std::size_t j = 0; j < first + some; names += rows[j++].size)
            for (std::size_t k = 0; j >= first && k < rows[j].size; ++k)
                board[static_cast<std::size_t>(names[k]) * width + j - first] = rows[j].values[k];
        double products[width];
        names = numbers.data();
        for (std::size_t k = 0; k < n; names += rows[k++].size) {
            if (k < first) continue;
            const Wide scaled = in_metric(rows[k], column);
            const SparseRow<double, std::int32_t> x{scaled.values, names, scaled.size};
            dot_lanes(x, StridedLanes<double>{board.data(), width}, width, products);
            for (std::size_t j = 0; j < some; ++j)
                gram[k * n + first + j] = gram[(first + j) * n + k] = products[j] + constant;
        }
    }

    /// Return the row multiplied by the variances of the metric.
    Wide in_metric(const Wide& x, std::size_t column) {
        if (!m.diagonal()) return x;
        scaled.resize(x.size);
        for (std::size_t k = 0; k < x.size; ++k)
            scaled[k] = x.values[k] * m.variance()[x.feature(k) * m.weights.stride() + column];
        return widened(x, scaled.data());
    }

    void measure_images(std::size_t index) {
        const std::size_t n = rows.size();
        for (std::size_t j = 0; j < n; ++j) {
            const double constant = write_image(index, rows[j]);
            for (std::size_t k = 0; k <= j; ++k)
                gram[j * n + k] = gram[k * n + j] = weights_dot(rows[k], image.data()) + constant;
            if (!Row::dense && m.shape.metric != Metric::full) write(rows[j], nullptr);
        }
    }

    /// Write Sigma x to `image`; return the contribution of the constant feature to every product.
    double write_image(std::size_t index, const Wide& x) {
        if (m.shape.metric == Metric::full) {
            m.full[index].write_image(x, image);
            return m.shape.intercept ? image.back() : 0;
        }
        const std::size_t column = m.groups[index].first;
        image.resize(m.shape.features);
        write(x, in_metric(x, column).values);
        return m.shape.intercept ? m.bias_variance[column] : 0;
    }

    /// Set the image at the row's features to these values, or to zero.
    void write(const Wide& x, const double* becomes) {
        for (std::size_t k = 0; k < x.size; ++k) image[x.feature(k)] = becomes ? becomes[k] : 0.0;
    }

    static constexpr std::size_t width = 64 / sizeof(double);
    Model<T>& m;
    bool known = false;
    std::vector<double> gram;
    std::vector<Wide> rows;
    std::vector<double> values, scaled;  ///< of all rows; of one row in the metric
    std::vector<double>
        board;  ///< rows of the batch side by side, `width` columns for each feature
    std::vector<std::int32_t> number, numbers;  ///< of each feature, and of each entry of the batch
    std::int32_t base = 0, used = 0;
    std::vector<double> image;
};

}  // namespace aggro
