// The caller's arrays as rows: dense or CSR, float or double, 32- or 64-bit indices, read in place.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rows/lanes.hpp"

namespace aggro {

/// An example that cannot be learned from; who catches it knows which row it was.
struct BadExample : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A matrix in the caller's memory.
struct Matrix {
    std::size_t rows = 0, features = 0;
    const void* values = nullptr;
    bool doubles = true;            ///< values are double, else float
    const void* indices = nullptr;  ///< null for a dense matrix
    const void* starts = nullptr;   ///< where each sparse row begins
    bool wide_indices = false, wide_starts = false;

    bool sparse() const { return indices != nullptr; }
    std::int64_t start(std::size_t i) const {
        return wide_starts ? static_cast<const std::int64_t*>(starts)[i]
                           : static_cast<const std::int32_t*>(starts)[i];
    }
    std::size_t stored() const {
        return sparse() ? static_cast<std::size_t>(start(rows)) : rows * features;
    }
};

/// Hands out the rows of a matrix as rows of T. What the core cannot read in place (another
/// precision, unsorted or repeated indices) is put right in a buffer the size of one row.
template <class T, class Row>
class Reader {
  public:
    explicit Reader(const Matrix& matrix) : x(matrix) {}

    [[gnu::always_inline]] Row row(std::size_t i) {
        const auto begin = x.sparse() ? static_cast<std::size_t>(x.start(i)) : i * x.features;
        const auto size =
            x.sparse() ? static_cast<std::size_t>(x.start(i + 1)) - begin : x.features;
        const bool direct = x.doubles == std::is_same_v<T, double>;
        const T* values = direct ? static_cast<const T*>(x.values) + begin : convert(begin, size);
        if constexpr (Row::dense) {
            return {values, size};
        } else {
            const Index* indices = static_cast<const Index*>(x.indices) + begin;
            if (well_formed(values, indices, size)) return {values, indices, size};
            return put_in_order(values, indices, size);
        }
    }

  private:
    using Index = typename Row::Index;

    [[gnu::noinline]] const T* convert(std::size_t begin, std::size_t size) {
        converted.resize(size);
        const auto copy = [&](const auto* source) {
            for (std::size_t k = 0; k < size; ++k) {
                converted[k] = static_cast<T>(source[begin + k]);
                if (std::isinf(converted[k]) && !std::isinf(source[begin + k]))
                    throw BadExample("a value is too large for the model's float32 weights");
            }
        };
        if (x.doubles)
            copy(static_cast<const double*>(x.values));
        else
            copy(static_cast<const float*>(x.values));
        return converted.data();
    }

    /// Strictly increasing and inside the matrix. The values will be walked next, and most likely
    /// the rows that follow: memory is asked for both, one line of indices at a time.
    bool well_formed(const T* values, const Index* indices, std::size_t size) const {
        constexpr std::size_t bytes = 64, width = bytes / sizeof(Index), ahead = 1024;
        if (size == 0) return true;
        const auto falls = [&](std::size_t k) {
            return load<Index, bytes>(indices + k) <= load<Index, bytes>(indices + k - 1);
        };
        bool rises = true;
        if (size > width) {
            auto bad = falls(size - width);  // the last block may overlap the one before
            for (std::size_t k = 1; k + width <= size; k += width) {
                __builtin_prefetch(reinterpret_cast<const char*>(indices + k) + ahead);
                for (std::size_t line = 0; line < width * sizeof(T); line += bytes)
                    __builtin_prefetch(reinterpret_cast<const char*>(values + k) + line + ahead);
                bad |= falls(k);
            }
            for (std::size_t i = 0; i < width; ++i) rises &= bad[i] == 0;
        } else {
            for (std::size_t k = 1; k < size; ++k) rises &= indices[k] > indices[k - 1];
        }
        return rises && indices[0] >= 0 && static_cast<std::size_t>(indices[size - 1]) < x.features;
    }

    /// Repeated indices are summed: counted apart, they would falsify the norm.
    [[gnu::noinline]] Row put_in_order(const T* values, const Index* indices, std::size_t size) {
        order.resize(size);
        for (std::size_t k = 0; k < size; ++k) {
            if (indices[k] < 0 || static_cast<std::size_t>(indices[k]) >= x.features)
                throw BadExample("feature index " + std::to_string(indices[k]) +
                                 " is outside a matrix of " + std::to_string(x.features) +
                                 " features");
            order[k] = {indices[k], values[k]};
        }
        std::stable_sort(order.begin(), order.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        ordered_values.clear();
        ordered_indices.clear();
        for (const auto& [index, value] : order) {
            if (!ordered_indices.empty() && ordered_indices.back() == index) {
                ordered_values.back() += value;
            } else {
                ordered_indices.push_back(index);
                ordered_values.push_back(value);
            }
        }
        return {ordered_values.data(), ordered_indices.data(), ordered_indices.size()};
    }

    Matrix x;
    std::vector<T> converted, ordered_values;
    std::vector<Index> ordered_indices;
    std::vector<std::pair<Index, T>> order;
};

/// Calls `use(Row{})` with the type of this matrix' rows.
template <class T, class Use>
inline void with_row_type(const Matrix& x, Use&& use) {
    if (!x.sparse())
        use(DenseRow<T>{});
    else if (x.wide_indices)
        use(SparseRow<T, std::int64_t>{});
    else
        use(SparseRow<T, std::int32_t>{});
}

}  // namespace aggro
