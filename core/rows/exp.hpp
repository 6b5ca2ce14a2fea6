// The exponential function of the widest vectors of the machine.
#pragma once
#include <cstdint>

#include "rows/vectors.hpp"

namespace aggro {

/// Size of the widest vectors of the target machine.
#if defined(__AVX512F__)
inline constexpr std::size_t wide_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t wide_bytes = 32;
#else
inline constexpr std::size_t wide_bytes = 16;
#endif
inline constexpr std::size_t wide = wide_bytes / sizeof(double);
using Wide = Vector<double, wide_bytes>;

/// Return exp(x) for x <= 0: x = n ln 2 + r, a polynomial in r, and n as the exponent. The relative
/// error is below 1e-15 (1 + |x|), like that of an error of one unit in the last place of x.
inline Wide exp_of_negative(Wide x) {
    typedef std::int32_t Ints __attribute__((vector_size(wide * sizeof(std::int32_t))));
    typedef std::int64_t Longs __attribute__((vector_size(wide_bytes)));
    const Wide floor = Wide{} - 708.0;  // below, the result is subnormal and set to 0
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

}  // namespace aggro
