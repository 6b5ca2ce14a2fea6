// The loops over features. Weights are feature-major: one block of outputs ("lanes") per feature,
// so that a row's non-zeros are walked once for all outputs.
#pragma once
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "row.hpp"

namespace aggro {

/// A SIMD vector of `Bytes` bytes of T; the compiler lowers it to what the machine has.
template <class T, std::size_t Bytes>
struct VectorOf {
    typedef T type __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
    static constexpr std::size_t width = Bytes / sizeof(T);
};
template <class T, std::size_t Bytes>
using Vector = typename VectorOf<T, Bytes>::type;

template <class T, std::size_t Bytes>
inline Vector<T, Bytes> load(const T* p) {
    return *reinterpret_cast<const Vector<T, Bytes>*>(p);
}
template <class T, std::size_t Bytes>
inline void store(T* p, Vector<T, Bytes> v) {
    *reinterpret_cast<Vector<T, Bytes>*>(p) = v;
}
template <class T, std::size_t Bytes>
inline T sum(Vector<T, Bytes> v) {
    T total = 0;
    for (std::size_t i = 0; i < Bytes / sizeof(T); ++i) total += v[i];
    return total;
}

/// Before a loop over lanes: they are independent, so no check for overlap need precede its
/// vectors.
#if defined(__clang__)
#define AGGRO_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define AGGRO_LANES _Pragma("GCC ivdep")
#endif

/// How many values one feature's block of `lanes` outputs takes, padded to whole vectors.
template <class T>
constexpr std::size_t padded(std::size_t lanes) {
    if (lanes <= 1) return lanes;
    const std::size_t bytes = lanes * sizeof(T), unit = bytes <= 16 ? 16 : 32;
    return (bytes + unit - 1) / unit * unit / sizeof(T);
}

/// Ones for the last `rest` entries of a block that overlaps the one before, else zeros: what was
/// counted already is masked out, for a loop over the rest would cost more than all of it.
template <class T, std::size_t width>
inline const T* uncounted(std::size_t rest) {
    static constexpr auto mask = [] {
        std::array<T, 2 * width> values{};
        for (std::size_t i = width; i < 2 * width; ++i) values[i] = 1;
        return values;
    }();
    return mask.data() + rest;
}

// ---- one output ------------------------------------------------------------------------------

/// <w, x> and ||x||^2 in one pass.
template <class T>
struct Glance {
    T dot = 0;
    T length = 0;
};

template <class T>
inline Glance<T> glance(const DenseRow<T>& x, const T* w) {
    constexpr std::size_t bytes = 64, width = bytes / sizeof(T);
    Vector<T, bytes> d0{}, d1{}, n0{}, n1{};
    std::size_t i = 0;
    for (; i + 2 * width <= x.size; i += 2 * width) {
        const auto a = load<T, bytes>(x.values + i), b = load<T, bytes>(x.values + i + width);
        d0 += a * load<T, bytes>(w + i);
        d1 += b * load<T, bytes>(w + i + width);
        n0 += a * a;
        n1 += b * b;
    }
    Glance<T> seen{sum<T, bytes>(d0 + d1), sum<T, bytes>(n0 + n1)};
    for (; i < x.size; ++i) {
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

// ---- several outputs -------------------------------------------------------------------------

/// The widest tile: two sums for each of its lanes must fit into the registers.
#if defined(__AVX512F__)
inline constexpr std::size_t tile_bytes = 256;
#else
inline constexpr std::size_t tile_bytes = 128;
#endif

/// Calls `tile(integral constants: bytes, vectors; offset)` over all `lanes` of a block, few
/// vectors at a time so that their accumulators stay in registers.
template <class T, class Tile>
inline void for_each_tile(std::size_t lanes, Tile&& tile) {
    using Size = std::size_t;
    const auto use = [&]<Size bytes, Size vectors>(Size at) {
        tile(std::integral_constant<Size, bytes>{}, std::integral_constant<Size, vectors>{}, at);
    };
    if (lanes * sizeof(T) == 16) return use.template operator()<16, 1>(0);
    constexpr Size most = tile_bytes / sizeof(T);
    Size at = 0;
    for (; at + most <= lanes; at += most) use.template operator()<64, tile_bytes / 64>(at);
    switch ((lanes - at) * sizeof(T) / 32) {
        case 1:
            return use.template operator()<32, 1>(at);
        case 2:
            return use.template operator()<64, 1>(at);
        case 3:
            return use.template operator()<32, 3>(at);
        case 4:
            return use.template operator()<64, 2>(at);
        case 5:
            return use.template operator()<32, 5>(at);
        case 6:
            return use.template operator()<64, 3>(at);
        case 7:
            return use.template operator()<32, 7>(at);
        default:  // a block of one lane, which is not padded
            if (lanes == 1) use.template operator()<sizeof(T), 1>(0);
    }
}

// Each tile copies the row and the addresses it needs: held in registers, they cannot be what a
// store to the weights changes, so the loop need not read them again.

/// out[l] = sum over the row of x_j * block_j[l], for all lanes.
template <class T, class Row>
inline void dot_lanes(const Row& x, const T* block, std::size_t stride, std::size_t lanes, T* out) {
    for_each_tile<T>(lanes, [=](auto bytes, auto vectors, std::size_t at) {
        constexpr std::size_t B = bytes(), V = vectors(), width = B / sizeof(T);
        const Row row = x;
        const T* const first = block + at;
        const std::size_t step = stride;
        constexpr std::size_t chains = 2;  // to hide latency; two can be added in one order only,
                                           // so a product is the same whatever tile it is in
        Vector<T, B> acc[chains][V] = {};
        const auto take = [&](std::size_t k, Vector<T, B>* sums) __attribute__((always_inline)) {
            const T* w = first + row.feature(k) * step;
            for (std::size_t v = 0; v < V; ++v)
                sums[v] += row.values[k] * load<T, B>(w + v * width);
        };
        std::size_t k = 0;
        for (; k + chains <= row.size; k += chains)
            for (std::size_t c = 0; c < chains; ++c) take(k + c, acc[c]);
        for (; k < row.size; ++k) take(k, acc[0]);
        for (std::size_t v = 0; v < V; ++v) {
            for (std::size_t c = 1; c < chains; ++c) acc[0][v] += acc[c][v];
            store<T, B>(out + at + v * width, acc[0][v]);
        }
    });
}

/// out[l] = sum over the row of x_j^2 * block_j[l]: the row's squared length in a diagonal metric.
template <class T, class Row>
inline void length_lanes(const Row& x, const T* block, std::size_t stride, std::size_t lanes,
                         T* out) {
    for_each_tile<T>(lanes, [=](auto bytes, auto vectors, std::size_t at) {
        constexpr std::size_t B = bytes(), V = vectors(), width = B / sizeof(T);
        const Row row = x;
        const T* const first = block + at;
        const std::size_t step = stride;
        Vector<T, B> acc[V] = {};
        for (std::size_t k = 0; k < row.size; ++k) {
            const T square = row.values[k] * row.values[k];
            const T* s = first + row.feature(k) * step;
            for (std::size_t v = 0; v < V; ++v) acc[v] += square * load<T, B>(s + v * width);
        }
        for (std::size_t v = 0; v < V; ++v) store<T, B>(out + at + v * width, acc[v]);
    });
}

/// block_j[l] += x_j * coef[l], for all lanes.
template <class T, class Row>
inline void add_lanes(const Row& x, T* block, std::size_t stride, std::size_t lanes,
                      const T* coef) {
    for_each_tile<T>(lanes, [=](auto bytes, auto vectors, std::size_t at) {
        constexpr std::size_t B = bytes(), V = vectors(), width = B / sizeof(T);
        const Row row = x;
        T* const first = block + at;
        const std::size_t step = stride;
        Vector<T, B> c[V];
        for (std::size_t v = 0; v < V; ++v) c[v] = load<T, B>(coef + at + v * width);
        for (std::size_t k = 0; k < row.size; ++k) {
            T* w = first + row.feature(k) * step;
            for (std::size_t v = 0; v < V; ++v)
                store<T, B>(w + v * width, load<T, B>(w + v * width) + row.values[k] * c[v]);
        }
    });
}

/// target_j[l] += x_j * variance_j[l] * coef[l]: the same step in a diagonal metric.
template <class T, class Row>
inline void add_scaled_lanes(const Row& x, T* target, std::size_t target_stride, const T* variance,
                             std::size_t stride, std::size_t lanes, const T* coef) {
    for_each_tile<T>(lanes, [=](auto bytes, auto vectors, std::size_t at) {
        constexpr std::size_t B = bytes(), V = vectors(), width = B / sizeof(T);
        const Row row = x;
        T* const first = target + at;
        const T* const scale = variance + at;
        const std::size_t step = target_stride, scale_step = stride;
        Vector<T, B> c[V];
        for (std::size_t v = 0; v < V; ++v) c[v] = load<T, B>(coef + at + v * width);
        for (std::size_t k = 0; k < row.size; ++k) {
            T* t = first + row.feature(k) * step;
            const T* s = scale + row.feature(k) * scale_step;
            for (std::size_t v = 0; v < V; ++v)
                store<T, B>(t + v * width, load<T, B>(t + v * width) +
                                               row.values[k] * load<T, B>(s + v * width) * c[v]);
        }
    });
}

/// The precision 1/variance_j[l] grows by kappa[l] * x_j^2, after fade[l] of what it was above one.
template <class T, class Row>
inline void shrink_lanes(const Row& x, T* variance, std::size_t stride, std::size_t lanes,
                         const T* kappa, const T* fade) {
    for_each_tile<T>(lanes, [=](auto bytes, auto vectors, std::size_t at) {
        constexpr std::size_t B = bytes(), V = vectors(), width = B / sizeof(T);
        const Row row = x;
        T* const first = variance + at;
        const std::size_t step = stride;
        Vector<T, B> c[V], f[V];
        for (std::size_t v = 0; v < V; ++v) {
            c[v] = load<T, B>(kappa + at + v * width);
            f[v] = load<T, B>(fade + at + v * width);
        }
        for (std::size_t k = 0; k < row.size; ++k) {
            T* s = first + row.feature(k) * step;
            const T square = row.values[k] * row.values[k], used = square > T(0) ? T(1) : T(0);
            for (std::size_t v = 0; v < V; ++v) {
                const auto old = load<T, B>(s + v * width);
                const auto growth = used * f[v] * (old - T(1)) + square * c[v] * old;
                store<T, B>(s + v * width, old / (T(1) + growth));
            }
        }
    });
}

/// block_j[l] *= factor[l], for all features.
template <class T>
inline void scale_lanes(T* block, std::size_t features, std::size_t stride, std::size_t lanes,
                        const T* factor) {
    for_each_tile<T>(lanes, [=](auto bytes, auto vectors, std::size_t at) {
        constexpr std::size_t B = bytes(), V = vectors(), width = B / sizeof(T);
        T* const first = block + at;
        const std::size_t step = stride, end = features;
        Vector<T, B> f[V];
        for (std::size_t v = 0; v < V; ++v) f[v] = load<T, B>(factor + at + v * width);
        for (std::size_t j = 0; j < end; ++j) {
            T* w = first + j * step;
            for (std::size_t v = 0; v < V; ++v)
                store<T, B>(w + v * width, load<T, B>(w + v * width) * f[v]);
        }
    });
}

/// block_j[lane] += x_j * coef, for one lane.
template <class T, class Row>
inline void add_one(const Row& x, T* block, std::size_t stride, T coef) {
    if constexpr (Row::dense) {
        if (stride == 1) {
            for (std::size_t i = 0; i < x.size; ++i) block[i] += coef * x.values[i];
            return;
        }
    }
    for (std::size_t k = 0; k < x.size; ++k) block[x.feature(k) * stride] += coef * x.values[k];
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
