// Hash feature names to indices: MurmurHash3 (x86, 32 bits, Austin Appleby, public domain), seeded
// like Vowpal Wabbit.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace aggro {

inline std::uint32_t murmur3(std::string_view text, std::uint32_t seed) {
    constexpr std::uint32_t c1 = 0xcc9e2d51u, c2 = 0x1b873593u;
    const auto byte = [&](std::size_t i) {
        return std::uint32_t{static_cast<unsigned char>(text[i])};
    };
    const auto scramble = [](std::uint32_t k) { return std::rotl(k * c1, 15) * c2; };
    std::uint32_t hash = seed;
    std::size_t i = 0;
    for (; i + 4 <= text.size(); i += 4) {
        const std::uint32_t block =
            byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
        hash = std::rotl(hash ^ scramble(block), 13) * 5 + 0xe6546b64u;
    }
    std::uint32_t rest = 0;
    for (std::size_t k = text.size(); k > i; --k) rest = rest << 8 | byte(k - 1);
    hash ^= scramble(rest);
    hash ^= static_cast<std::uint32_t>(text.size());
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

// Return murmur3(text, 0). Reads up to three bytes after the text, so that the last bytes of short
// words need no branch.
inline std::uint32_t murmur3_padded(const char* text, std::size_t size) {
    constexpr std::uint32_t c1 = 0xcc9e2d51u, c2 = 0x1b873593u;
    constexpr std::uint32_t masks[] = {0, 0xFF, 0xFFFF, 0xFFFFFF};
    const auto scramble = [](std::uint32_t k) { return std::rotl(k * c1, 15) * c2; };
    const auto four = [&](std::size_t i) {
        std::uint32_t block = 0;
        std::memcpy(&block, text + i, 4);
        return std::endian::native == std::endian::little ? block : __builtin_bswap32(block);
    };
    std::uint32_t hash = 0;
    std::size_t i = 0;
    for (; i + 4 <= size; i += 4) hash = std::rotl(hash ^ scramble(four(i)), 13) * 5 + 0xe6546b64u;
    hash ^= scramble(four(i) & masks[size - i]);
    hash ^= static_cast<std::uint32_t>(size);
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

// Hash a name like Vowpal Wabbit's `--hash strings`: a name that consists of digits is its own
// index.
inline std::uint64_t hash_name(std::string_view name, std::uint64_t seed) {
    const auto is_space = [](char c) { return c >= 0 && c <= ' '; };
    while (!name.empty() && is_space(name.front())) name.remove_prefix(1);
    while (!name.empty() && is_space(name.back())) name.remove_suffix(1);
    std::uint64_t number = 0;
    for (const char c : name) {
        if (c < '0' || c > '9') return murmur3(name, static_cast<std::uint32_t>(seed));
        number = 10 * number + static_cast<std::uint64_t>(c - '0');
    }
    return number + seed;
}

}  // namespace aggro
