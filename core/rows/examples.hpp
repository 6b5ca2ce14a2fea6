// Readers of the caller's arrays: dense or CSR, float or double, 32- or 64-bit indices.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rows/lanes.hpp"

namespace aggro {

/// An example that cannot be learned; the caller adds its row number.
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
    /// Whether no row is known to repeat a feature or to contain one outside the matrix.
    bool sound = false;
    bool rising = false;  ///< and features are in increasing order in every row

    bool sparse() const { return indices != nullptr; }
    std::int64_t start(std::size_t i) const {
        return wide_starts ? static_cast<const std::int64_t*>(starts)[i]
                           : static_cast<const std::int32_t*>(starts)[i];
    }
    std::size_t stored() const {
        return sparse() ? static_cast<std::size_t>(start(rows)) : rows * features;
    }
};

/// A callback that does nothing.
struct DoNothing {
    void operator()(std::size_t, std::size_t) const {}
};

/// Return whether indices are strictly increasing and below `features`.
template <class Index>
inline bool well_formed(const Index* indices, std::size_t size, std::size_t features) {
    if (size == 0) return true;
    bool rises = true;
    const auto check = [&](auto bytes) __attribute__((always_inline)) {
        constexpr std::size_t width = bytes() / sizeof(Index);
        const auto falls = [&](std::size_t k) {
            return load<Index, bytes()>(indices + k) <= load<Index, bytes()>(indices + k - 1);
        };
        auto bad = falls(size - width);  // the last block may overlap the one before
        for (std::size_t k = 1; k + width <= size; k += width) bad |= falls(k);
        rises = !any_bit<Index, bytes()>(bad);
    };
    using Size = std::size_t;
    constexpr Size wide = 64, narrow = 16;
    if (size > wide / sizeof(Index))
        check(std::integral_constant<Size, wide>{});
    else if (size > narrow / sizeof(Index))
        check(std::integral_constant<Size, narrow>{});
    else
        for (Size k = 1; k < size; ++k) rises &= indices[k] > indices[k - 1];
    return rises && indices[0] >= 0 && static_cast<Size>(indices[size - 1]) < features;
}

/// Tests whether the features of a row are distinct, in any order, with one bit per feature. Memory
/// that is not accessed is not allocated.
class Distinct {
  public:
    /// Return false if an index is repeated or outside of `features`.
    template <class Index>
    bool operator()(const Index* indices, std::size_t size, std::size_t features) {
        if (!bits) bits.reset(static_cast<Word*>(std::calloc(features / 64 + 1, sizeof(Word))));
        if (!bits) throw std::bad_alloc();
        Word* const marks = bits.get();
        Word twice = 0;
        std::size_t k = 0;
        for (; k < size && static_cast<std::uint64_t>(indices[k]) < features; ++k) {
            const auto j = static_cast<std::uint64_t>(indices[k]);
            const Word bit = Word{1} << (j % 64);
            twice |= marks[j / 64] & bit;
            marks[j / 64] |= bit;
        }
        for (std::size_t i = 0; i < k; ++i) marks[static_cast<std::uint64_t>(indices[i]) / 64] = 0;
        return k == size && twice == 0;
    }

  private:
    using Word = std::uint64_t;
    struct Free {
        void operator()(Word* p) const { std::free(p); }
    };
    std::unique_ptr<Word[], Free> bits;
};

/// Return whether `fine(indices, size)` holds for every row of a sparse matrix.
template <class Fine>
inline bool each_row(const Matrix& x, Fine&& fine) {
    const auto visit = [&](const auto* indices) {
        for (std::size_t i = 0; i < x.rows; ++i)
            if (!fine(indices + x.start(i), static_cast<std::size_t>(x.start(i + 1) - x.start(i))))
                return false;
        return true;
    };
    if (!x.sparse()) return true;
    return x.wide_indices ? visit(static_cast<const std::int64_t*>(x.indices))
                          : visit(static_cast<const std::int32_t*>(x.indices));
}

/// Check the indices of all rows once, so that readers need not check them again.
inline void inspect(Matrix& x) {
    const auto rises = [&](const auto* indices, std::size_t size) {
        return well_formed(indices, size, x.features);
    };
    Distinct distinct;
    const auto differ = [&](const auto* indices, std::size_t size) {
        return distinct(indices, size, x.features);
    };
    x.rising = each_row(x, rises);
    x.sound = x.rising || each_row(x, differ);
}

/// The order of sparse rows that a reader guarantees. Linear models accept any order; kernels merge
/// two rows and need increasing indices.
enum class Order { any, rising };

/// Reads the rows of a matrix as rows of T. Rows that cannot be read in place (other precision or
/// index width, repeated indices, wrong order) are converted into a buffer of one row.
template <class T, class Row, Order order = Order::any>
class Reader {
  public:
    explicit Reader(const Matrix& matrix)
        : x(matrix),
          distinct(std::make_shared<Distinct>()),
          value_lines(lines_of(value_bytes)),
          index_lines(lines_of(index_bytes)) {}

    /// Prefetch a row. The number of cache lines is that of an average row, because a loop whose
    /// length varies from row to row would be mispredicted.
    [[gnu::always_inline]] void prefetch(std::size_t i) const {
        const std::size_t begin = place(i).begin;
        prefetch_lines(x.values, value_bytes, begin, value_lines);
        if constexpr (!Row::dense) prefetch_lines(x.indices, index_bytes, begin, index_lines);
    }

    [[gnu::always_inline]] Row row(std::size_t i) {
        const auto [begin, size] = place(i);
        const bool direct = x.doubles == std::is_same_v<T, double>;
        const T* values = direct ? static_cast<const T*>(x.values) + begin : convert(begin, size);
        if constexpr (Row::dense) {
            return {values, size};
        } else {
            const bool fitting = x.wide_indices == (sizeof(Index) == sizeof(std::int64_t));
            const Index* indices = fitting ? static_cast<const Index*>(x.indices) + begin
                                           : convert_indices(begin, size);
            if ((order == Order::any ? x.sound : x.rising) || in_place(indices, size))
                return {values, indices, size};
            return put_in_order(values, indices, size);
        }
    }

  private:
    using Index = typename Row::Index;

    struct Place {
        std::size_t begin, size;
    };

    [[gnu::always_inline]] Place place(std::size_t i) const {
        if (Row::dense) return {i * x.features, x.features};
        const std::int64_t begin = x.start(i);
        return {static_cast<std::size_t>(begin), static_cast<std::size_t>(x.start(i + 1) - begin)};
    }

    [[gnu::always_inline]] static void prefetch_lines(const void* numbers, std::size_t each,
                                                      std::size_t begin, std::size_t lines) {
        const char* bytes = static_cast<const char*>(numbers) + begin * each;
        for (std::size_t i = 0; i < lines; ++i) __builtin_prefetch(bytes + 64 * i);
    }

    /// Return the number of cache lines of an average row.
    std::size_t lines_of(std::size_t each) const {
        constexpr std::size_t line = 64, most = 64;
        const std::size_t size = x.stored() / std::max<std::size_t>(x.rows, 1);
        return std::min((size * each + line / 2) / line, most);
    }

    [[gnu::noinline]] const T* convert(std::size_t begin, std::size_t size) {
        if (converted.size() < size) converted.resize(size);
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

    [[gnu::noinline]] const Index* convert_indices(std::size_t begin, std::size_t size) {
        if (converted_indices.size() < size) converted_indices.resize(size);
        const auto copy = [&](const auto* source) {
            std::size_t lost = 0;
            for (std::size_t k = 0; k < size; ++k) {
                converted_indices[k] = static_cast<Index>(source[begin + k]);
                lost += converted_indices[k] != source[begin + k];
            }
            for (std::size_t k = 0; lost > 0; ++k)
                if (converted_indices[k] != source[begin + k]) throw outside(source[begin + k]);
        };
        if (x.wide_indices)
            copy(static_cast<const std::int64_t*>(x.indices));
        else
            copy(static_cast<const std::int32_t*>(x.indices));
        return converted_indices.data();
    }

    BadExample outside(std::int64_t index) const {
        return BadExample("feature index " + std::to_string(index) + " is outside a matrix of " +
                          std::to_string(x.features) + " features");
    }

    /// Return whether the row can be read in place. Consecutive rows are usually alike, so the
    /// check that succeeded for the previous row is tried first.
    [[gnu::always_inline]] bool in_place(const Index* indices, std::size_t size) {
        if (order == Order::any && unsorted) return (*distinct)(indices, size, x.features);
        if (well_formed(indices, size, x.features)) return true;
        unsorted = true;
        return order == Order::any && (*distinct)(indices, size, x.features);
    }

    /// Repeated indices are summed, because separate entries would falsify the norm.
    [[gnu::noinline]] Row put_in_order(const T* values, const Index* indices, std::size_t size) {
        places.resize(size);
        for (std::size_t k = 0; k < size; ++k) {
            if (indices[k] < 0 || static_cast<std::size_t>(indices[k]) >= x.features)
                throw outside(indices[k]);
            places[k] = {indices[k], k};
        }
        std::sort(places.begin(), places.end());
        ordered_values.clear();
        ordered_indices.clear();
        for (const auto& [index, place] : places) {
            if (!ordered_indices.empty() && ordered_indices.back() == index) {
                ordered_values.back() += values[place];
            } else {
                ordered_indices.push_back(index);
                ordered_values.push_back(values[place]);
            }
        }
        return {ordered_values.data(), ordered_indices.data(), ordered_indices.size()};
    }

    Matrix x;
    std::vector<T> converted, ordered_values;
    std::vector<Index> converted_indices, ordered_indices;
    /// positions of the entries, sorted by index
    std::vector<std::pair<Index, std::size_t>> places;
    bool unsorted = false;               ///< whether a row was not in order
    std::shared_ptr<Distinct> distinct;  ///< shared by all readers of a batch
    std::size_t value_bytes = x.doubles ? 8 : 4, index_bytes = x.wide_indices ? 8 : 4;
    std::size_t value_lines, index_lines;
};

/// Call `use(Row{})` with the row type of this matrix. Indices have 32 bits by default: a linear
/// model has memory for each feature, and fewer row types make a smaller core.
template <class T, class Index = std::int32_t, class Use>
inline void with_row_type(const Matrix& x, Use&& use) {
    if (x.sparse())
        use(SparseRow<T, Index>{});
    else
        use(DenseRow<T>{});
}

}  // namespace aggro
