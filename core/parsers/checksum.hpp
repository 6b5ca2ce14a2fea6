// A checksum of bytes at memory speed, against damage, not against tampering.
#pragma once
#include <cstdint>
#include <cstring>

#include "rows/lanes.hpp"

namespace aggro {

/// Mix eight words at a time into eight states by an invertible step, so that a single damaged word
/// always changes the result.
inline std::uint64_t checksum(const unsigned char* bytes, std::size_t size) {
    constexpr std::size_t width = 64;
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ULL;
    using Words = Vector<std::uint64_t, width>;
    const auto mixed = [](auto state, auto word) {
        state ^= word;
        return (state << 29 | state >> 35) * odd;
    };
    Words states{};
    const auto take = [&](const unsigned char* line) {
        Words words;
        std::memcpy(&words, line, width);
        states = mixed(states, words);
    };
    std::size_t i = 0;
    for (; i + width <= size; i += width) take(bytes + i);
    unsigned char rest[width] = {};
    if (i < size) std::memcpy(rest, bytes + i, size - i);
    take(rest);
    std::uint64_t sum = size;
    for (std::size_t i = 0; i < width / sizeof(sum); ++i) sum = mixed(sum, states[i]);
    return sum;
}

}  // namespace aggro
