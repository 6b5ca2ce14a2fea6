// Loops over features for several outputs. Weights are feature-major with one block of outputs per
// feature (the lanes of SIMD vectors), so that a pass over the non-zeros of a row serves all
// outputs.
#pragma once
#include <type_traits>

#include "rows/one.hpp"

namespace aggro {

/// The widest tile: two sums for each of its lanes must fit into the registers.
#if defined(__AVX512F__)
inline constexpr std::size_t tile_bytes = 256;
#else
inline constexpr std::size_t tile_bytes = 128;
#endif

/// Call `tile(integral constants: bytes, vectors; offset)` for all `lanes` of a block, a few
/// vectors at a time, so that their accumulators stay in registers.
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
        default:  // a block with one lane is not padded
            if (lanes == 1) use.template operator()<sizeof(T), 1>(0);
    }
}

// Each tile copies the row and addresses into locals: the compiler then knows that stores to the
// weights cannot change them, and does not reload them in the loop.

/// A block of lanes for each feature.
template <class T>
struct StridedLanes {
    const T* first;
    std::size_t step;

    template <std::size_t bytes>
    Vector<T, bytes> read(std::size_t j, std::size_t at) const {
        return load<T, bytes>(first + j * step + at);
    }
};

/// Two sections of a block, read as a sum of multiples of both.
template <class T>
struct MixedLanes {
    const T *first, *second;
    std::size_t step;
    const T *of_first, *of_second;

    template <std::size_t bytes>
    Vector<T, bytes> read(std::size_t j, std::size_t at) const {
        return load<T, bytes>(of_first + at) * load<T, bytes>(first + j * step + at) +
               together(load<T, bytes>(of_second + at) * load<T, bytes>(second + j * step + at));
    }
};

/// out[l] = sum over the row of x_j * block_j[l], for all lanes.
template <class T, class Row, class Block>
inline void dot_lanes(const Row& x, const Block& block, std::size_t lanes, T* out) {
    for_each_tile<T>(lanes, [=](auto bytes, auto vectors, std::size_t at) {
        constexpr std::size_t B = bytes(), V = vectors(), width = B / sizeof(T);
        const Row row = x;
        const Block cells = block;
        // Several chains hide latency. Two can be added in only one order, so the result is the
        // same for all tiles.
        constexpr std::size_t chains = 2;
        Vector<T, B> acc[chains][V] = {};
        const auto take = [&](std::size_t k, Vector<T, B>* sums) __attribute__((always_inline)) {
            for (std::size_t v = 0; v < V; ++v)
                sums[v] += row.values[k] * cells.template read<B>(row.feature(k), at + v * width);
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

/// out[l] = sum over the row of x_j^2 * block_j[l]: the squared length of the row in a diagonal
/// metric.
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
            const T square = together(row.values[k] * row.values[k]);
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

/// target_j[l] += x_j * variance_j[l] * coef[l], for all lanes: a step in a diagonal metric.
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
                store<T, B>(t + v * width,
                            load<T, B>(t + v * width) +
                                together(row.values[k] * load<T, B>(s + v * width)) * c[v]);
        }
    });
}

/// Let the precision 1/variance_j[l] grow by kappa[l] * x_j^2, after multiplying its excess over
/// one by fade[l]. The variance is multiplied by the square first, so that a variance of zero stays
/// zero for any kappa.
template <class T, class Row>
inline void shrink_lanes(const Row& x, T* variance, std::size_t stride, std::size_t lanes,
                         const T* kappa, const T* fade, bool root) {
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
            const T square = together(row.values[k] * row.values[k]),
                    used = square > T(0) ? T(1) : T(0);
            for (std::size_t v = 0; v < V; ++v) {
                const auto old = load<T, B>(s + v * width), inverse = root ? old * old : old;
                const auto kept = together(T(1) + used * f[v] * together(inverse - T(1)));
                auto growth = kept + c[v] * together(square * inverse);
                for (std::size_t l = 0; root && l < width; ++l) growth[l] = std::sqrt(growth[l]);
                store<T, B>(s + v * width, old / growth);
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

}  // namespace aggro
