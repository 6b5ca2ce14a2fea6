// Kernels: what an inner product of two examples becomes.
#pragma once
#include <cmath>
#include <cstdint>

#include "rows/lanes.hpp"

namespace aggro {

enum class Kernel { linear, poly, rbf, sigmoid, external };

struct KernelFunction {
    Kernel kind = Kernel::rbf;
    double gamma = 1;
    int degree = 3;
    double coef0 = 0;
};

/// The widest vectors of the machine this is compiled for.
#if defined(__AVX512F__)
inline constexpr std::size_t wide_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t wide_bytes = 32;
#else
inline constexpr std::size_t wide_bytes = 16;
#endif
inline constexpr std::size_t wide = wide_bytes / sizeof(double);
using Wide = Vector<double, wide_bytes>;

/// exp(x) for x <= 0: x = n ln 2 + r, a polynomial in r, then n into the exponent. Relative error
/// below 1e-15 (1 + |x|), which is what an error of one unit in the last place of x does anyway.
inline Wide exp_of_negative(Wide x) {
    typedef std::int32_t Ints __attribute__((vector_size(wide * sizeof(std::int32_t))));
    typedef std::int64_t Longs __attribute__((vector_size(wide_bytes)));
    const Wide floor = Wide{} - 708.0;  // below, the result is no normal number: 0
    const Longs alive = x > floor;
    const Wide y = alive ? x : floor;
    const Ints n = __builtin_convertvector(y * 1.4426950408889634 - 0.5, Ints);
    const Wide whole = __builtin_convertvector(n, Wide);
    const Wide r = (y - whole * 0.693147180369123816490) - whole * 1.90821492927058770002e-10;
    Wide p = Wide{} + 1.0 / 479001600;
    for (const double c : {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                           1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
        p = p * r + c;
    const Longs exponent = (__builtin_convertvector(n, Longs) + 1023) << 52;
    const Wide result = p * reinterpret_cast<const Wide&>(exponent);
    return alive ? result : Wide{};
}

inline double power(double base, int degree) {
    double result = 1;
    for (; degree > 0; degree >>= 1, base *= base)
        if (degree & 1) result *= base;
    return result;
}

/// k(x, x) from ||x||^2.
inline double self_value(const KernelFunction& k, double norm) {
    switch (k.kind) {
        case Kernel::linear:
            return norm;
        case Kernel::poly:
            return power(k.gamma * norm + k.coef0, k.degree);
        case Kernel::sigmoid:
            return std::tanh(k.gamma * norm + k.coef0);
        default:
            return 1;
    }
}

/// exp(-gamma ||x - z||^2) + shift for `count` examples z, given inner products and squared norms.
/// Where x and z nearly agree the three terms cancel: `distance(i)` then measures it directly.
/// `values` has room for whole vectors.
template <class Distance>
inline void rbf_values(double gamma, double shift, double norm, const double* norms,
                       std::size_t count, double* values, Distance&& distance) {
    constexpr double cancels = 1e-5;
    std::int64_t near = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double both = norm + norms[i];
        const double square = both - 2 * values[i];
        near |= square < cancels * both;
        values[i] = -gamma * square;
    }
    for (std::size_t i = 0; near && i < count; ++i)
        if (values[i] > -gamma * cancels * (norm + norms[i])) values[i] = -gamma * distance(i);
    for (std::size_t i = 0; i < count; i += wide)
        store<double, wide_bytes>(values + i,
                                  exp_of_negative(load<double, wide_bytes>(values + i)) + shift);
}

/// Converts inner products of one example with `count` others into kernel values + shift, in
/// place.
template <class Distance>
inline void kernel_values(const KernelFunction& k, double shift, double norm, const double* norms,
                          std::size_t count, double* values, Distance&& distance) {
    switch (k.kind) {
        case Kernel::rbf:
            return rbf_values(k.gamma, shift, norm, norms, count, values, distance);
        case Kernel::poly:
            for (std::size_t i = 0; i < count; ++i)
                values[i] = power(k.gamma * values[i] + k.coef0, k.degree) + shift;
            return;
        case Kernel::sigmoid:
            for (std::size_t i = 0; i < count; ++i)
                values[i] = std::tanh(k.gamma * values[i] + k.coef0) + shift;
            return;
        default:
            for (std::size_t i = 0; i < count; ++i) values[i] += shift;
    }
}

}  // namespace aggro
