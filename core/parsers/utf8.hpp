// Validation of UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace aggro::text {

// Return the number of bytes of the character at p; 0 if it is invalid.
inline int utf8_length(const unsigned char* p, std::ptrdiff_t left) {
    const auto continues = [&](int i) { return i < left && (p[i] & 0xC0) == 0x80; };
    const unsigned char lead = p[0];
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4 || !continues(1)) return 0;
    if (lead < 0xE0) return 2;
    if (lead == 0xE0 && p[1] < 0xA0) return 0;  // overlong
    if (lead == 0xED && p[1] > 0x9F) return 0;  // surrogate
    if (lead == 0xF0 && p[1] < 0x90) return 0;  // overlong
    if (lead == 0xF4 && p[1] > 0x8F) return 0;  // beyond U+10FFFF
    if (!continues(2)) return 0;
    if (lead < 0xF0) return 3;
    return continues(3) ? 4 : 0;
}

inline bool is_utf8(const char* begin, const char* end) {
    for (;;) {
        std::uint64_t word = 0;
        while (end - begin >= 8) {  // most text is ASCII
            std::memcpy(&word, begin, 8);
            if (word & 0x8080808080808080u) break;
            begin += 8;
        }
        if (begin == end) return true;
        const int length = utf8_length(reinterpret_cast<const unsigned char*>(begin), end - begin);
        if (length == 0) return false;
        begin += length;
    }
}

}  // namespace aggro::text
