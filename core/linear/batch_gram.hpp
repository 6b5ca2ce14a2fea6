// The products of the rows of a mini-batch with each other, in the metric of a group.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "linear/space.hpp"

namespace aggro {

/// One example of a batch.
template <class Row>
struct Member {
    Row x;
    Target y;
    double weight;
};

template <class T, class Row>
class BatchGram {
  public:
    BatchGram(Model<T>& model, Scratch<T>& scratch) : m(model), s(scratch) {}

    const double* data() const { return gram.data(); }

    /// The next batch has other rows.
    void forget() { known = false; }

    /// x_j' Sigma x_k for all pairs of the batch, constant feature included.
    void measure(std::size_t index, const std::vector<Member<Row>>& batch) {
        if (known && m.shape.metric == Metric::euclidean) return;
        known = true;
        count = batch.size();
        gram.resize(count * count);
        constexpr std::size_t few = 8;  // so few rows meet in pairs faster than on a board
        if (Row::dense || m.shape.metric == Metric::full || count <= few)
            return measure_images(index, batch);
        number_features(batch);
        for (std::size_t first = 0; first < count; first += width)
            measure_board(index, batch, first);
    }

  private:
    /// Numbers the features of the batch one after another, so that its board stays in the cache.
    /// Numbers of earlier batches lie below `base` and need no clearing.
    void number_features(const std::vector<Member<Row>>& batch) {
        std::size_t entries = 0;
        for (const auto& example : batch) entries += example.x.size;
        if (number.size() < m.shape.features || base > (1 << 30))
            number.assign(m.shape.features, base = 0);
        base += used + 1;
        used = 0;
        numbers.resize(entries);
        std::int32_t *name = numbers.data(), *known = number.data(), next = base;
        const std::int32_t first = base;
        for (const auto& example : batch) {
            const Row x = example.x;
            for (std::size_t k = 0; k < x.size; ++k) {
                // `fresh` is all ones for a new feature: a branch could not be foretold
                const std::int32_t old = known[x.feature(k)], fresh = -(old < first);
                const std::int32_t now = old ^ ((old ^ next) & fresh);
                known[x.feature(k)] = now;
                next -= fresh;
                *name++ = now - first;
            }
        }
        used = next - base;
    }

    /// Sparse rows: up to `width` of them are laid out side by side, one lane each, so that every
    /// other row meets them all in one walk.
    void measure_board(std::size_t index, const std::vector<Member<Row>>& batch,
                       std::size_t first) {
        const std::size_t n = batch.size(), some = std::min(width, n - first),
                          lane = m.groups[index].first;
        const double constant = m.shape.intercept ? m.bias_variance[lane] : 0;
        board.assign(static_cast<std::size_t>(used) * width, T(0));
        const std::int32_t* names = numbers.data();
        for (std::size_t j = 0; j < first + some; names += batch[j++].x.size)
            for (std::size_t k = 0; j >= first && k < batch[j].x.size; ++k)
                board[static_cast<std::size_t>(names[k]) * width + j - first] =
                    batch[j].x.values[k];
        T products[width];
        names = numbers.data();
        for (std::size_t k = 0; k < n; names += batch[k++].x.size) {
            if (k < first) continue;
            const Row scaled = in_metric(batch[k].x, lane);
            const SparseRow<T, std::int32_t> x{scaled.values, names, scaled.size};
            dot_lanes(x, board.data(), width, width, products);
            for (std::size_t j = 0; j < some; ++j)
                gram[k * n + first + j] = gram[(first + j) * n + k] =
                    static_cast<double>(products[j]) + constant;
        }
    }

    /// The row times the variances of the metric.
    Row in_metric(const Row& x, std::size_t lane) {
        if (!m.diagonal()) return x;
        s.values.resize(x.size);
        for (std::size_t k = 0; k < x.size; ++k)
            s.values[k] = x.values[k] * m.variance()[x.feature(k) * m.weights.stride() + lane];
        Row scaled = x;
        scaled.values = s.values.data();
        return scaled;
    }

    void measure_images(std::size_t index, const std::vector<Member<Row>>& batch) {
        const std::size_t n = batch.size();
        for (std::size_t j = 0; j < n; ++j) {
            const double constant = write_image(index, batch[j].x);
            for (std::size_t k = 0; k <= j; ++k)
                gram[j * n + k] = gram[k * n + j] =
                    static_cast<double>(glance(batch[k].x, image.data()).dot) + constant;
            if (!Row::dense && m.shape.metric != Metric::full) write(batch[j].x, nullptr);
        }
    }

    /// Sigma x in `image`; returns what the constant feature adds to every product with it.
    double write_image(std::size_t index, const Row& x) {
        const std::size_t lane = m.groups[index].first;
        image.resize(m.shape.features);
        if (m.shape.metric == Metric::full) {
            m.full[index].look(x, 1.0);
            const auto& full = m.full[index].image();
            std::copy_n(full.begin(), m.shape.features, image.begin());
            return m.shape.intercept ? static_cast<double>(full[m.shape.features]) : 0;
        }
        const Row scaled = in_metric(x, lane);
        write(x, scaled.values);
        return m.shape.intercept ? m.bias_variance[lane] : 0;
    }

    /// The image at the row's features becomes these values, or zero again.
    void write(const Row& x, const T* values) {
        for (std::size_t k = 0; k < x.size; ++k) image[x.feature(k)] = values ? values[k] : T(0);
    }

    static constexpr std::size_t width = 64 / sizeof(T);
    Model<T>& m;
    Scratch<T>& s;
    bool known = false;
    std::size_t count = 0;
    std::vector<double> gram;
    std::vector<T> board;  ///< rows of the batch side by side, `width` lanes for each feature
    std::vector<std::int32_t> number, numbers;  ///< of each feature, and of each entry of the batch
    std::int32_t base = 0, used = 0;
    std::vector<T> image;
};

}  // namespace aggro
