// Loops over features for a single output.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "rows/row.hpp"
#include "rows/vectors.hpp"

namespace aggro {

/// `width` numbers: a vector, or a scalar if there is only one.
template <class T, std::size_t width>
struct NumbersOf : VectorOf<T, width * sizeof(T)> {
    using type = Vector<T, width * sizeof(T)>;
    static type load(const T* p) { return aggro::load<T, width * sizeof(T)>(p); }
    static void store(T* p, type v) { aggro::store<T, width * sizeof(T)>(p, v); }
};
template <class T>
struct NumbersOf<T, 1> {
    using type = T;
    static T load(const T* p) { return *p; }
    static void store(T* p, T v) { *p = v; }
};

/// Cells with the numbers stored per feature: its weight, the shift of its mean and its variance.
/// Three numbers are padded to four.
template <class T, bool shift, bool variance>
struct Cells {
    using Value = T;
    static constexpr std::size_t width = shift && variance ? 4 : 1 + shift + variance;
    static constexpr bool pair = shift && !variance;
    using Numbers = typename NumbersOf<T, width>::type;
    const T* first;

    Numbers read(std::size_t j) const { return NumbersOf<T, width>::load(first + width * j); }
    /// Return the factor of each number for a feature value v.
    static Numbers factors(T v) {
        if constexpr (width == 4)
            return Numbers{v, v, v * v, 0};
        else if constexpr (width == 2)
            return Numbers{v, variance ? v * v : v};
        else
            return v;
    }
};

/// Cells of `step` numbers, read as a sum of multiples of their first two.
template <class T>
struct MixedCells {
    using Value = T;
    static constexpr std::size_t width = 1;
    static constexpr bool pair = false;
    using Numbers = T;
    const T* first;
    std::size_t step;
    T of_first, of_second;

    T read(std::size_t j) const {
        const T* cell = first + j * step;
        return of_first * cell[0] + together(of_second * cell[1]);
    }
    static T factors(T v) { return v; }
};

/// The result of one pass over a row and its cells: the sums of the numbers times their factors,
/// and ||x||^2.
template <class Kind>
struct Products {
    typename Kind::Numbers sums{};
    typename Kind::Value squared = 0;
};

/// Return `count` consecutive numbers, from feature j on.
template <std::size_t count, class Kind>
[[gnu::always_inline]] inline Vector<typename Kind::Value, count * sizeof(typename Kind::Value)>
numbers_from(const Kind& cells, std::size_t j) {
    using T = typename Kind::Value;
    if constexpr (std::is_same_v<Kind, Cells<T, false, false>>) {
        return load<T, count * sizeof(T)>(cells.first + j);
    } else {
        Vector<T, count * sizeof(T)> numbers;
        for (std::size_t i = 0; i < count; ++i) numbers[i] = cells.read(j + i);
        return numbers;
    }
}

/// Repeat each number of a vector twice.
template <class T, std::size_t bytes>
[[gnu::always_inline]] inline Vector<T, 2 * bytes> doubled(Vector<T, bytes> v) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
        return __builtin_shufflevector(v, v, (i / 2)...);
    }(std::make_index_sequence<2 * bytes / sizeof(T)>());
}

/// Call block(k, values, chain) for blocks of `width` values, with enough chains of sums to hide
/// their latency. The last block overlaps the previous one and is a copy with the counted values
/// set to zero, which is faster than a scalar loop. There must be at least `width` values.
template <std::size_t width, std::size_t chains, class T, class Block>
[[gnu::always_inline]] inline void each_block(const T* values, std::size_t size, Block&& block) {
    constexpr std::size_t bytes = width * sizeof(T);
    std::size_t k = 0;
    for (; k + chains * width <= size; k += chains * width)
        for (std::size_t c = 0; c < chains; ++c) block(k + c * width, values + k + c * width, c);
    for (; k + width <= size; k += width) block(k, values + k, std::size_t{0});
    if (k == size) return;
    const std::size_t last = size - width;
    alignas(64) T rest[width];
    store<T, bytes>(rest,
                    load<T, bytes>(values + last) * load<T, bytes>(uncounted<T, width>(size - k)));
    block(last, static_cast<const T*>(rest), chains - 1);
}

/// The values of a short row, padded with zeros to a whole block. Scalar loops would be compiled
/// differently for each kind of cell and round differently.
template <std::size_t width, class T>
struct Padded {
    alignas(64) T values[width] = {};

    Padded(const T* from, std::size_t size) { std::copy_n(from, size, values); }
};

/// Cells at arbitrary positions are read one by one, because hardware gathers are slower.
template <class Kind, class Row>
inline Products<Kind> cell_products(const Row& x, const Kind& cells) {
    using T = typename Kind::Value;
    using Numbers = typename Kind::Numbers;
    constexpr std::size_t width = 8, bytes = width * sizeof(T);
    Numbers sums[width] = {};
    Vector<T, bytes> squares{};
    const auto product = [&](T value, std::size_t j) __attribute__((always_inline)) {
        return Kind::factors(value) * cells.read(j);
    };
    const auto take = [&](std::size_t k, const T* values, std::size_t)
                          __attribute__((always_inline)) {
                              const auto v = load<T, bytes>(values);
                              squares += v * v;
                              for (std::size_t i = 0; i < width; ++i)
                                  sums[i] += product(values[i], x.feature(k + i));
                          };
    if (x.size >= width) {
        each_block<width, 1>(x.values, x.size, take);
    } else if (x.size > 0) {
        const Padded<width, T> few(x.values, x.size);
        const auto v = load<T, bytes>(few.values);
        squares = v * v;
        for (std::size_t i = 0; i < width; ++i)
            sums[i] = together(product(few.values[i], x.feature(std::min(i, x.size - 1))));
    }
    for (std::size_t i = 0; i < width / 2; ++i) sums[i] += sums[i + width / 2];
    return {(sums[0] + sums[2]) + (sums[1] + sums[3]), sum<T, bytes>(squares)};
}

/// Products with weights, or pairs of weight and shift, in the order of the values.
template <std::size_t width, class Kind>
[[gnu::always_inline]] inline Products<Kind> block_products(const DenseRow<typename Kind::Value>& x,
                                                            const Kind& cells) {
    using T = typename Kind::Value;
    constexpr std::size_t bytes = width * sizeof(T), half = width / 2;
    Vector<T, bytes> dot[2] = {}, more[2] = {}, squares[2] = {};
    const auto take = [&](std::size_t k, const T* values,
                          std::size_t c) __attribute__((always_inline)) {
        const auto v = load<T, bytes>(values);
        squares[c] += v * v;
        if constexpr (Kind::pair) {
            const T* first = cells.first + 2 * k;
            dot[c] += doubled<T, bytes / 2>(half_of<0, T, bytes>(v)) * load<T, bytes>(first);
            more[c] +=
                doubled<T, bytes / 2>(half_of<1, T, bytes>(v)) * load<T, bytes>(first + 2 * half);
        } else {
            dot[c] += v * numbers_from<width>(cells, k);
        }
    };
    each_block<width, 2>(x.values, x.size, take);
    const T squared = sum<T, bytes>(squares[0] + squares[1]);
    const auto all = (dot[0] + dot[1]) + (more[0] + more[1]);
    if constexpr (Kind::pair)
        return {folded<2, T, bytes>(all), squared};
    else
        return {sum<T, bytes>(all), squared};
}

/// Read a row and its cells in one pass.
template <class Kind, class Row>
inline Products<Kind> products(const Row& x, const Kind& cells) {
    if constexpr (Row::dense && (Kind::width == 1 || Kind::pair)) {
        constexpr std::size_t wide = 64 / sizeof(typename Kind::Value), narrow = 4;
        if (x.size >= wide) return block_products<wide>(x, cells);
        if (x.size >= narrow) return block_products<narrow>(x, cells);
    }
    return cell_products(x, cells);
}

/// <w, x>.
template <class Row>
inline typename Row::Value weights_dot(const Row& x, const typename Row::Value* w) {
    return products(x, Cells<typename Row::Value, false, false>{w}).sums;
}

/// ||x||^2.
template <class Row>
inline typename Row::Value squared_length(const Row& x) {
    using T = typename Row::Value;
    constexpr std::size_t width = 8, bytes = width * sizeof(T);
    Vector<T, bytes> squares{};
    const auto take = [&](std::size_t, const T* values, std::size_t) {
        const auto v = load<T, bytes>(values);
        squares += v * v;
    };
    if (x.size >= width)
        each_block<width, 1>(x.values, x.size, take);
    else
        take(0, Padded<width, T>(x.values, x.size).values, 0);
    return sum<T, bytes>(squares);
}

/// cell_j += x_j * coef, for each number of a cell.
template <std::size_t width, class Row>
inline void add_to_cells(const Row& x, typename Row::Value* cells,
                         const typename Row::Value* coef) {
    using T = typename Row::Value;
    constexpr std::size_t bytes = width * sizeof(T);
    std::size_t k = 0;
    if constexpr (width == 1) {
        const T c = coef[0];
        for (; k < x.size; ++k) cells[x.feature(k)] += c * x.values[k];
        return;
    }
    const auto c = load<T, bytes>(coef);
    if constexpr (Row::dense && width == 2) {
        constexpr std::size_t wide = 64, many = wide / sizeof(T) / width;
        Vector<T, wide> repeated;
        for (std::size_t i = 0; i < wide / sizeof(T); ++i) repeated[i] = coef[i % width];
        for (; k + many <= x.size; k += many)
            store<T, wide>(cells + width * k,
                           load<T, wide>(cells + width * k) +
                               repeated * doubled<T, wide / 2>(load<T, wide / 2>(x.values + k)));
    }
    for (; k < x.size; ++k) {
        T* cell = cells + width * x.feature(k);
        store<T, bytes>(cell, load<T, bytes>(cell) + x.values[k] * c);
    }
}

/// cell_j += x_j * variance_j * coef: a step in a diagonal metric. The variance is stored after the
/// one or two numbers that move.
template <std::size_t moving, class Row>
inline void add_scaled_to_cells(const Row& x, typename Row::Value* cells,
                                const typename Row::Value* coef) {
    using T = typename Row::Value;
    constexpr std::size_t width = moving == 1 ? 2 : 4;
    const auto c = NumbersOf<T, moving>::load(coef);
    for (std::size_t k = 0; k < x.size; ++k) {
        T* cell = cells + width * x.feature(k);
        const T image = together(x.values[k] * cell[moving]);
        NumbersOf<T, moving>::store(cell, NumbersOf<T, moving>::load(cell) + image * c);
    }
}

/// Return sum |x_j block_j[output]|, the magnitude of the terms of a product, for its rounding
/// error.
template <class T, class Row>
inline double reach_of(const Row& x, const T* lane, std::size_t stride) {
    double total = 0;
    for (std::size_t k = 0; k < x.size; ++k)
        total += std::abs(static_cast<double>(x.values[k]) *
                          static_cast<double>(lane[x.feature(k) * stride]));
    return total;
}

/// sum_j += x_j * coef in double precision; `rest` stores the part that a float loses, so that the
/// sum stays accurate for any number of terms.
template <class Row>
inline void add_exactly(const Row& x, float* sum, std::size_t stride, float* rest,
                        std::size_t rest_stride, double coef) {
    for (std::size_t k = 0; k < x.size; ++k) {
        const std::size_t j = x.feature(k);
        float &high = sum[j * stride], &low = rest[j * rest_stride];
        const double whole = static_cast<double>(high) + static_cast<double>(low) +
                             static_cast<double>(x.values[k]) * coef;
        high = static_cast<float>(whole);
        low = static_cast<float>(whole - static_cast<double>(high));
    }
}

}  // namespace aggro
