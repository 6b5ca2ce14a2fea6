// The loops over features for one output.
#pragma once
#include <cmath>
#include <utility>

#include "rows/row.hpp"
#include "rows/vectors.hpp"

namespace aggro {

/// <w, x> and ||x||^2 in one pass.
template <class T>
struct Glance {
    T dot = 0;
    T length = 0;
};

/// The same for a dense row of at least `width` values. The last block overlaps the one before:
/// what was counted already is masked out.
template <std::size_t width, class T>
[[gnu::always_inline]] inline Glance<T> glance_blocks(const DenseRow<T>& x, const T* w) {
    constexpr std::size_t bytes = width * sizeof(T);
    Vector<T, bytes> d0{}, d1{}, n0{}, n1{};
    std::size_t i = 0;
    for (; i + 2 * width <= x.size; i += 2 * width) {
        const auto a = load<T, bytes>(x.values + i), b = load<T, bytes>(x.values + i + width);
        d0 += a * load<T, bytes>(w + i);
        d1 += b * load<T, bytes>(w + i + width);
        n0 += a * a;
        n1 += b * b;
    }
    if (i + width <= x.size) {
        const auto a = load<T, bytes>(x.values + i);
        d0 += a * load<T, bytes>(w + i);
        n0 += a * a;
        i += width;
    }
    if (i < x.size) {
        const std::size_t last = x.size - width;
        const auto b =
            load<T, bytes>(x.values + last) * load<T, bytes>(uncounted<T, width>(x.size - i));
        d1 += b * load<T, bytes>(w + last);
        n1 += b * b;
    }
    return {sum<T, bytes>(d0 + d1), sum<T, bytes>(n0 + n1)};
}

template <class T>
[[gnu::always_inline]] inline Glance<T> glance(const DenseRow<T>& x, const T* w) {
    constexpr std::size_t wide = 64 / sizeof(T), narrow = 4;
    if (x.size >= wide) return glance_blocks<wide>(x, w);
    if (x.size >= narrow) return glance_blocks<narrow>(x, w);
    Glance<T> seen;
    for (std::size_t i = 0; i < x.size; ++i) {
        seen.dot += x.values[i] * w[i];
        seen.length += x.values[i] * x.values[i];
    }
    return seen;
}

// Eight entries at a time in two chains hide the latency of the adds. The weights are put together
// by scalar loads: a hardware gather is slower.
template <class T, class Index>
inline Glance<T> glance(const SparseRow<T, Index>& x, const T* w) {
    constexpr std::size_t bytes = 4 * sizeof(T);
    using Four = Vector<T, bytes>;
    const auto pick = [&](const Index* i) { return Four{w[i[0]], w[i[1]], w[i[2]], w[i[3]]}; };
    Four d0{}, d1{}, n0{}, n1{};
    const auto take = [&](std::size_t k, Four a, Four b) __attribute__((always_inline)) {
        d0 += a * pick(x.indices + k);
        d1 += b * pick(x.indices + k + 4);
        n0 += a * a;
        n1 += b * b;
    };
    const std::size_t whole = x.size / 8 * 8, rest = x.size - whole;
    for (std::size_t k = 0; k < whole; k += 8)
        take(k, load<T, bytes>(x.values + k), load<T, bytes>(x.values + k + 4));
    if (whole > 0 && rest > 0) {
        const T *last = x.values + x.size - 8, *mask = uncounted<T, 8>(rest);
        take(x.size - 8, load<T, bytes>(last) * load<T, bytes>(mask),
             load<T, bytes>(last + 4) * load<T, bytes>(mask + 4));
    }
    Glance<T> seen{sum<T, bytes>(d0 + d1), sum<T, bytes>(n0 + n1)};
    for (std::size_t k = 0; whole == 0 && k < x.size; ++k) {
        seen.dot += x.values[k] * w[x.indices[k]];
        seen.length += x.values[k] * x.values[k];
    }
    return seen;
}

/// The numbers that are known of a feature, side by side: its weight, the shift of its mean and its
/// variance, where these are kept; three take the room of four.
template <class T, bool shift, bool variance>
struct Cell {
    static constexpr std::size_t width = shift && variance ? 4 : 1 + shift + variance;
    static constexpr bool pair = shift && !variance;  ///< one product of the row serves both
    using Numbers = Vector<T, width * sizeof(T)>;

    /// What each is multiplied by where the row has the value v.
    static Numbers factors(T v) {
        if constexpr (width == 4)
            return Numbers{v, v, v * v, 0};
        else if constexpr (width == 2)
            return Numbers{v, variance ? v * v : v};
        else
            return Numbers{v};
    }
};

/// Each number of a vector twice.
template <class T, std::size_t bytes>
[[gnu::always_inline]] inline Vector<T, 2 * bytes> doubled(Vector<T, bytes> v) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
        return __builtin_shufflevector(v, v, (i / 2)...);
    }(std::make_index_sequence<2 * bytes / sizeof(T)>());
}

/// The sums over a row of the numbers of its cells times their factors.
template <class Kind, class Row>
inline typename Kind::Numbers cell_products(const Row& x, const typename Row::Value* cells) {
    using T = typename Row::Value;
    constexpr std::size_t width = Kind::width, bytes = width * sizeof(T), chains = 4;
    typename Kind::Numbers sums[chains] = {};  // several chains hide latency
    std::size_t k = 0;
    if constexpr (Row::dense && Kind::pair) {
        constexpr std::size_t wide = 64, many = wide / sizeof(T);
        Vector<T, wide> low{}, high{};
        for (; k + many <= x.size; k += many) {
            const auto both = [&](std::size_t at,
                                  Vector<T, wide>& sum) __attribute__((always_inline)) {
                sum += doubled<T, wide / 2>(load<T, wide / 2>(x.values + at)) *
                       load<T, wide>(cells + 2 * at);
            };
            both(k, low);
            both(k + many / 2, high);
        }
        low += high;
        for (std::size_t i = 0; i < many; ++i) sums[i / 2 % chains][i % 2] += low[i];
    }
    const auto take = [&](std::size_t at, auto& sum) __attribute__((always_inline)) {
        sum += Kind::factors(x.values[at]) * load<T, bytes>(cells + width * x.feature(at));
    };
    for (; k + chains <= x.size; k += chains)
        for (std::size_t c = 0; c < chains; ++c) take(k + c, sums[c]);
    for (; k < x.size; ++k) take(k, sums[0]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// ||x||^2.
template <class Row>
inline typename Row::Value squared_length(const Row& x) {
    using T = typename Row::Value;
    constexpr std::size_t bytes = 64, width = bytes / sizeof(T);
    if (x.size < width) {
        T n = 0;
        for (std::size_t k = 0; k < x.size; ++k) n += x.values[k] * x.values[k];
        return n;
    }
    Vector<T, bytes> n{};
    std::size_t k = 0;
    for (; k + width <= x.size; k += width) {
        const auto v = load<T, bytes>(x.values + k);
        n += v * v;
    }
    const auto last =
        load<T, bytes>(x.values + x.size - width) * load<T, bytes>(uncounted<T, width>(x.size - k));
    return sum<T, bytes>(n + last * last);
}

/// cell_j += x_j * coef: one number for each of a cell.
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

/// sum |x_j block_j[lane]|: how large the terms of a product are, by which its rounding is judged.
template <class T, class Row>
inline double reach_of(const Row& x, const T* lane, std::size_t stride) {
    double total = 0;
    for (std::size_t k = 0; k < x.size; ++k)
        total += std::abs(static_cast<double>(x.values[k]) *
                          static_cast<double>(lane[x.feature(k) * stride]));
    return total;
}

/// sum_j += x_j * coef in double precision, of which `rest` holds what a float leaves out: however
/// many terms come, the sum stays as exact as a float can be.
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
