// Kernel functions of inner products.
#pragma once
#include <cmath>
#include <cstdint>

#include "rows/exp.hpp"

namespace aggro {

enum class Kernel { linear, poly, rbf, sigmoid, external };

struct KernelFunction {
    Kernel kind = Kernel::rbf;
    double gamma = 1;
    int degree = 3;
    double coef0 = 0;
};

inline double power(double base, int degree) {
    double result = 1;
    for (; degree > 0; degree >>= 1, base *= base)
        if (degree & 1) result *= base;
    return result;
}

/// Return k(x, x) from ||x||^2.
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

/// Compute exp(-gamma ||x - z||^2) + shift for `count` examples z, given inner products and squared
/// norms. If x and z nearly agree, the three terms cancel, and `distance(i)` measures the distance
/// directly. `values` must have space for whole vectors.
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

/// Convert inner products of one example with `count` others into kernel values + shift, in place.
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
