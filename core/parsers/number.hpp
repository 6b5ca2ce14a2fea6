// Decimal text to double, correctly rounded: the same bits as Python's float().
//
// Eight bytes are read at a time, so the text must be followed by eight readable bytes, the first
// of which is not part of a number. Lines end in '\n', and
// text.hpp pads the last one.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

namespace aggro::text {

inline constexpr int max_exact_digits = 19;  // the most digits that always fit 64 bits
inline constexpr int max_exact_power = 22;   // 10^22 is the last power of ten that is a double

inline constexpr double double_power_of_ten[max_exact_power + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline constexpr std::uint64_t integer_power_of_ten[max_exact_digits + 1] = {1u,
                                                                             10u,
                                                                             100u,
                                                                             1000u,
                                                                             10000u,
                                                                             100000u,
                                                                             1000000u,
                                                                             10000000u,
                                                                             100000000u,
                                                                             1000000000u,
                                                                             10000000000u,
                                                                             100000000000u,
                                                                             1000000000000u,
                                                                             10000000000000u,
                                                                             100000000000000u,
                                                                             1000000000000000u,
                                                                             10000000000000000u,
                                                                             100000000000000000u,
                                                                             1000000000000000000u,
                                                                             10000000000000000000u};

inline std::uint64_t load_eight(const char* p) {
    std::uint64_t word = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&word, p, 8);
    } else {
        for (int i = 0; i < 8; ++i)
            word |= std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i);
    }
    return word;
}

struct DigitRun {
    std::uint64_t value;
    int count;
};

// Read up to eight leading digits without a branch per digit: lengths vary from number to number,
// and a mispredicted branch costs more than the conversion.
[[gnu::always_inline]] inline DigitRun leading_digits(const char* p) {
    const std::uint64_t digits = load_eight(p) ^ 0x3030303030303030u;
    const std::uint64_t others = ((digits + 0x7676767676767676u) | digits) & 0x8080808080808080u;
    const int count = std::countr_zero(others) / 8;
    if (count == 0) return {0, 0};
    std::uint64_t word = digits << (64 - 8 * count);
    word = (word * 2561) >> 8;
    word = ((word & 0x00FF00FF00FF00FFu) * 6553601) >> 16;
    word = ((word & 0x0000FFFF0000FFFFu) * 42949672960001u) >> 32;
    return {word, count};
}

// Read all digits from p on. The mantissa wraps around beyond 19 digits: callers check the count.
[[gnu::always_inline]] inline const char* read_digits(const char* p, std::uint64_t& mantissa) {
    DigitRun run = leading_digits(p);
    mantissa = mantissa * integer_power_of_ten[run.count] + run.value;
    while (run.count == 8) {
        p += 8;
        run = leading_digits(p);
        mantissa = mantissa * integer_power_of_ten[run.count] + run.value;
    }
    return p + run.count;
}

#ifdef __SIZEOF_INT128__
__extension__ using uint128 = unsigned __int128;

// Return mantissa / 10^places for any 64-bit mantissa and places <= 19: one integer division,
// rounded half to even.
inline double divide_by_power_of_ten(std::uint64_t mantissa, int places) {
    const std::uint64_t divisor = integer_power_of_ten[places];
    // Both sides normalised, the quotient has 64 or 65 bits before the cut to 63 or 64.
    const int up = std::countl_zero(mantissa);
    const int divisor_up = std::countl_zero(divisor);
    const uint128 numerator = uint128{mantissa << up} << 63;
    const std::uint64_t scaled_divisor = divisor << divisor_up;
    std::uint64_t quotient = static_cast<std::uint64_t>(numerator / scaled_divisor);
    const bool inexact = numerator % scaled_divisor != 0;
    // The sticky bit is far below the rounding bit, so the conversion to double rounds the true
    // quotient.
    quotient |= static_cast<std::uint64_t>(inexact);
    const auto rounded = static_cast<double>(quotient);
    const int exponent = divisor_up - up - 63;
    return rounded * std::bit_cast<double>(std::uint64_t(1023 + exponent) << 52);
}
#endif

// Convert a decimal that is too long or too extreme for the exact shortcuts; its syntax has been
// checked. Like float(), return infinity above the largest double and zero below the smallest.
[[gnu::cold, gnu::noinline]] inline double convert_slowly(const char* begin, const char* end,
                                                          std::int64_t exponent) {
    double value = 0.0;
    if (std::from_chars(begin, end, value).ec == std::errc{}) return value;
    // The position of the first significant digit tells overflow from underflow.
    while (begin < end && (*begin == '0' || *begin == '.')) ++begin;
    for (; begin < end && (*begin | 0x20) != 'e'; ++begin) exponent += *begin != '.';
    return exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

struct Decimal {
    std::uint64_t mantissa = 0;
    int digits = 0;
    std::int64_t exponent = 0;
    const char* end = nullptr;  // null if there is no number
};

// Parse [digits][.digits][e[+-]digits] with at least one digit.
[[gnu::always_inline]] inline Decimal read_decimal(const char* p) {
    Decimal decimal;
    const char* begin = p;
    p = read_digits(p, decimal.mantissa);
    decimal.digits = static_cast<int>(p - begin);
    if (*p == '.') {
        const char* fraction = ++p;
        p = read_digits(p, decimal.mantissa);
        decimal.exponent = fraction - p;
        decimal.digits += static_cast<int>(p - fraction);
    }
    if (decimal.digits == 0) return decimal;
    if ((*p | 0x20) == 'e') {
        const bool negative = *++p == '-';
        p += negative || *p == '+';
        std::uint64_t power = 0;
        const char* first = p;
        p = read_digits(p, power);
        if (p == first) return decimal;
        if (p - first > 18) power = 1'000'000'000;
        const auto magnitude = static_cast<std::int64_t>(power);
        decimal.exponent += negative ? -magnitude : magnitude;
    }
    decimal.end = p;
    return decimal;
}

// Parse the longest number at p and return its end, or null if there is none. Structs and
// references are avoided here: with them, the compiler passed every number through memory, at twice
// the time.
[[gnu::always_inline]] inline const char* parse_number(const char* p, double& value) {
    const bool negative = *p == '-';
    p += negative || *p == '+';
    const Decimal decimal = read_decimal(p);
    if (decimal.end == nullptr) return nullptr;
    const std::int64_t exponent = decimal.exponent;
    double magnitude = 0.0;
    if (decimal.digits <= max_exact_digits && decimal.mantissa <= (1ull << 53) &&
        exponent >= -max_exact_power && exponent <= max_exact_power) {
        // Clinger's fast path: two exact doubles, one rounding.
        magnitude = static_cast<double>(static_cast<std::int64_t>(decimal.mantissa));
        magnitude = exponent < 0 ? magnitude / double_power_of_ten[-exponent]
                                 : magnitude * double_power_of_ten[exponent];
#ifdef __SIZEOF_INT128__
    } else if (decimal.digits <= max_exact_digits && exponent <= 0 &&
               exponent >= -max_exact_digits) {
        magnitude = divide_by_power_of_ten(decimal.mantissa, static_cast<int>(-exponent));
#endif
    } else {
        magnitude = convert_slowly(p, decimal.end, exponent);
    }
    // Set the sign bit: the build ignores the sign of zero in arithmetic, float() does not.
    value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | std::uint64_t{negative}
                                                                                << 63);
    return decimal.end;
}

}  // namespace aggro::text
