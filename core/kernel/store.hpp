// Storage of support vectors, and the inner products of a block of examples with all of them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernel/functions.hpp"

namespace aggro {

/// A block of examples as a row-major matrix.
struct DenseBlock {
    std::size_t features = 0;
    std::vector<double> values;
    std::vector<double> norms;  ///< squared

    void resize(std::size_t rows, std::size_t width) {
        features = width;
        values.assign(rows * width, 0.0);
        norms.assign(rows, 0.0);
    }
    template <class Row>
    void set(std::size_t r, const Row& x) {
        double* row = values.data() + r * features;
        for (std::size_t k = 0; k < x.size; ++k) row[x.feature(k)] = x.values[k];
        norms[r] = squared_length(x);
    }
    const double* row(std::size_t r) const { return values.data() + r * features; }
};

/// Dense support vectors in panels of `wide` vectors, feature by feature, so that one vector load
/// serves one feature of all of them and the products need no horizontal sums.
class DenseStore {
  public:
    using Block = DenseBlock;
    explicit DenseStore(std::size_t width = 0) : features(width) {}

    std::size_t size() const { return norms.size(); }
    const std::vector<double>& squared_norms() const { return norms; }
    std::size_t width() const { return features; }

    void append(const Block& block, std::size_t r) {
        const std::size_t slot = norms.size();
        norms.push_back(block.norms[r]);
        if (slot % wide == 0) panels.resize(panels.size() + features * wide, 0.0);
        double* at = panels.data() + start(slot);
        for (std::size_t j = 0; j < features; ++j) at[j * wide] = block.row(r)[j];
    }

    /// Remove `slot`, which the last one replaces.
    void remove(std::size_t slot) {
        const std::size_t last = norms.size() - 1;
        double* to = panels.data() + start(slot);
        double* from = panels.data() + start(last);
        for (std::size_t j = 0; j < features; ++j) to[j * wide] = from[j * wide];
        for (std::size_t j = 0; j < features; ++j) from[j * wide] = 0;
        norms[slot] = norms[last];
        norms.pop_back();
        if (last % wide == 0) panels.resize(last * features);
    }

    void copy_row(std::size_t slot, double* out) const {
        const double* at = panels.data() + start(slot);
        for (std::size_t j = 0; j < features; ++j) out[j] = at[j * wide];
    }

    double squared_distance(const Block& block, std::size_t r, std::size_t slot) const {
        const double* x = block.row(r);
        const double* at = panels.data() + start(slot);
        double total = 0;
        for (std::size_t j = 0; j < features; ++j)
            total += (x[j] - at[j * wide]) * (x[j] - at[j * wide]);
        return total;
    }

    /// Compute out[r * stride + slot] = <x_r, z_slot>; `stride` is padded to whole panels.
    void products(const Block& block, std::size_t rows, double* out, std::size_t stride) const {
        const std::size_t count = (size() + wide - 1) / wide;
        for (std::size_t r = 0; r < rows; ++r) std::fill_n(out + r * stride, count * wide, 0.0);
        for (std::size_t begin = 0; begin < features; begin += depth) {
            const Tile tile{block.values.data() + begin, features,
                            std::min(depth, features - begin), out, stride};
            std::size_t r = 0;
            for (; r + tall <= rows; r += tall) sweep_panels<tall, 3>(tile, begin, r, count);
            for (; r < rows; ++r) sweep_panels<1, 8>(tile, begin, r, count);
        }
    }

  private:
#if defined(__AVX512F__)
    static constexpr std::size_t tall =
        8;  ///< rows whose sums with three panels fit in the registers
#else
    static constexpr std::size_t tall = 4;
#endif
    static constexpr std::size_t depth =
        256;  ///< features per block, so that rows stay in the cache

    struct Tile {
        const double* x;
        std::size_t x_stride, depth;
        double* out;
        std::size_t stride;
    };

    std::size_t start(std::size_t slot) const {
        return slot / wide * wide * features + slot % wide;
    }

    template <std::size_t Rows, std::size_t Panels>
    void sweep_panels(const Tile& tile, std::size_t begin, std::size_t r, std::size_t count) const {
        const double* first = panels.data() + begin * wide;
        std::size_t p = 0;
        for (; p + Panels <= count; p += Panels)
            multiply<Rows, Panels>(tile, r, p, first + p * features * wide);
        for (; p < count; ++p) multiply<Rows, 1>(tile, r, p, first + p * features * wide);
    }

    /// Add the products of some rows with some panels, with all sums in registers.
    template <std::size_t Rows, std::size_t Panels>
    void multiply(const Tile& tile, std::size_t r, std::size_t panel, const double* z) const {
        Wide sums[Rows][Panels] = {};
        const double* x = tile.x + r * tile.x_stride;
        for (std::size_t j = 0; j < tile.depth; ++j) {
            Wide column[Panels];
#pragma GCC unroll 8
            for (std::size_t p = 0; p < Panels; ++p)
                column[p] = load<double, wide_bytes>(z + p * features * wide + j * wide);
#pragma GCC unroll 8
            for (std::size_t i = 0; i < Rows; ++i) {
                const double value = x[i * tile.x_stride + j];
#pragma GCC unroll 8
                for (std::size_t p = 0; p < Panels; ++p) sums[i][p] += value * column[p];
            }
        }
        for (std::size_t i = 0; i < Rows; ++i)
            for (std::size_t p = 0; p < Panels; ++p) {
                double* out = tile.out + (r + i) * tile.stride + (panel + p) * wide;
                store<double, wide_bytes>(out, load<double, wide_bytes>(out) + sums[i][p]);
            }
    }

    std::size_t features;
    std::vector<double> panels, norms;
};

struct SparseExample {
    std::vector<double> values;
    std::vector<std::int64_t> indices;
    double norm = 0;

    SparseRow<double, std::int64_t> row() const {
        return {values.data(), indices.data(), values.size()};
    }
};

struct SparseBlock {
    std::size_t features = 0;
    std::vector<SparseExample> examples;
    std::vector<double> norms;
    std::vector<double> spread;  ///< features x columns, zero between uses

    void resize(std::size_t rows, std::size_t width) {
        features = width;
        examples.resize(rows), norms.resize(rows);
    }
    template <class Row>
    void set(std::size_t r, const Row& x) {
        SparseExample& example = examples[r];
        example.values.clear(), example.indices.clear();
        for (std::size_t k = 0; k < x.size; ++k)
            if (x.values[k] != 0) {
                example.values.push_back(x.values[k]);
                example.indices.push_back(static_cast<std::int64_t>(x.feature(k)));
            }
        norms[r] = example.norm = squared_length(x);
    }
};

/// Sparse support vectors.
class SparseStore {
  public:
    using Block = SparseBlock;
    explicit SparseStore(std::size_t width = 0) : features(width) {}

    std::size_t size() const { return examples.size(); }
    const std::vector<double>& squared_norms() const { return norms; }
    std::size_t width() const { return features; }
    const SparseExample& example(std::size_t slot) const { return examples[slot]; }

    void append(const Block& block, std::size_t r) {
        examples.push_back(block.examples[r]);
        norms.push_back(block.norms[r]);
    }
    void remove(std::size_t slot) {
        std::swap(examples[slot], examples.back());
        norms[slot] = norms.back();
        examples.pop_back(), norms.pop_back();
    }

    double squared_distance(const Block& block, std::size_t r, std::size_t slot) const {
        const SparseExample &a = block.examples[r], &b = examples[slot];
        double total = 0;
        for (std::size_t i = 0, j = 0; i < a.indices.size() || j < b.indices.size();) {
            const bool left =
                j == b.indices.size() || (i < a.indices.size() && a.indices[i] <= b.indices[j]);
            const bool right =
                i == a.indices.size() || (j < b.indices.size() && b.indices[j] <= a.indices[i]);
            const double difference = (left ? a.values[i] : 0.0) - (right ? b.values[j] : 0.0);
            total += difference * difference;
            i += left, j += right;
        }
        return total;
    }

    /// Compute the products of eight rows at a time: they are expanded to all features, and one
    /// pass over each support vector multiplies it with all of them.
    void products(Block& block, std::size_t rows, double* out, std::size_t stride) const {
        block.spread.resize(features * columns, 0.0);
        for (std::size_t begin = 0; begin < rows; begin += columns) {
            const std::size_t some = std::min(columns, rows - begin);
            fill_spread(block, begin, some, true);
            for (std::size_t slot = 0; slot < examples.size(); ++slot) {
                double sums[columns];
                dot_lanes(examples[slot].row(), StridedLanes<double>{block.spread.data(), columns},
                          columns, sums);
                for (std::size_t i = 0; i < some; ++i) out[(begin + i) * stride + slot] = sums[i];
            }
            fill_spread(block, begin, some, false);
        }
    }

  private:
    static constexpr std::size_t columns = 8;

    static void fill_spread(Block& block, std::size_t begin, std::size_t some, bool value) {
        for (std::size_t i = 0; i < some; ++i) {
            const auto row = block.examples[begin + i].row();
            for (std::size_t k = 0; k < row.size; ++k)
                block.spread[row.feature(k) * columns + i] = value ? row.values[k] : 0.0;
        }
    }

    std::size_t features;
    std::vector<SparseExample> examples;
    std::vector<double> norms;
};

/// Support vectors that the caller stores; kernel values are passed in.
class OutsideStore {
  public:
    struct Block {};
    std::size_t size() const { return count; }
    void append(const Block&, std::size_t) { ++count; }
    void remove(std::size_t) { --count; }
    void assign(std::size_t size) { count = size; }

  private:
    std::size_t count = 0;
};

}  // namespace aggro
