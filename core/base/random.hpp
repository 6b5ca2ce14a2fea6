// Random numbers that are reproducible on every machine.
#pragma once
#include <cstdint>
#include <span>
#include <utility>

namespace aggro {

/// Return the next 64 random bits (SplitMix64).
inline std::uint64_t random_bits(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/// Return a uniform number in (0, 1].
inline double uniform(std::uint64_t& state) {
    return static_cast<double>((random_bits(state) >> 11) + 1) * 0x1.0p-53;
}

/// Put numbers in random order (Fisher-Yates shuffle). Positions are the upper half of 64 random
/// bits times the number of remaining positions; the bias is below 2^-64 times that number.
inline void shuffle(std::span<std::int64_t> numbers, std::uint64_t seed) {
    __extension__ using Wide = unsigned __int128;
    for (std::size_t left = numbers.size(); left > 1; --left) {
        const auto place = static_cast<std::size_t>(Wide{random_bits(seed)} * left >> 64);
        std::swap(numbers[left - 1], numbers[place]);
    }
}

}  // namespace aggro
