// Classes of characters: letters, spaces, capitals, exactly as in Python's str and re.
//
// ASCII is defined here. Python passes the rest once, when the first document needs it
// (src/aggro/text/alphabet.py), so that words are split as by the running interpreter.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aggro::words {

using Character = std::uint32_t;
inline constexpr Character end_of_unicode = 0x110000, capital_sigma = 0x3A3, small_sigma = 0x3C3,
                           final_sigma = 0x3C2, dotted_capital_i = 0x130, dot_above = 0x307;

/// Properties of a character, as bits.
enum Kind : std::uint8_t { word = 1, space = 2, capital = 4, cased = 8, ignorable = 16 };

/// Properties and lower case of ASCII characters.
struct Ascii {
    std::array<std::uint8_t, 128> kinds{}, lower{};
    constexpr Ascii() {
        for (std::size_t c = 0; c < 128; ++c) {
            const bool upper = c >= 'A' && c <= 'Z', small = c >= 'a' && c <= 'z',
                       digit = c >= '0' && c <= '9',
                       blank = c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
            const int kind = (upper || small || digit || c == '_' ? word : 0) |
                             (blank ? space : 0) | (upper ? capital : 0);
            kinds[c] = static_cast<std::uint8_t>(kind);
            lower[c] = static_cast<std::uint8_t>(upper ? c + 32 : c);
        }
    }
};
inline constexpr Ascii ascii;

/// Properties of all Unicode characters, in a table of one byte each, since documents are long and
/// there is only one table.
class Letters {
  public:
    bool known() const { return !kinds_.empty(); }
    std::uint8_t kind(Character c) const { return kinds_[c]; }

    /// Return the lower case of a single character; `dotted_capital_i` and `capital_sigma` need
    /// their context.
    Character lower(Character c) const { return kinds_[c] & capital ? lower_[c] : c; }

    /// Set the properties; `lower` may end after the last capital.
    void set(std::vector<std::uint8_t> kinds, std::vector<Character> lower) {
        kinds_ = std::move(kinds);
        lower_ = std::move(lower);
    }

  private:
    std::vector<std::uint8_t> kinds_;
    std::vector<Character> lower_;
};

inline Letters& letters() {
    static Letters all;
    return all;
}

inline bool is_ascii(std::string_view text) {
    std::uint64_t high = 0;
    std::size_t i = 0;
    for (; i + 8 <= text.size(); i += 8) {
        std::uint64_t eight;
        __builtin_memcpy(&eight, text.data() + i, 8);
        high |= eight;
    }
    for (; i < text.size(); ++i) high |= static_cast<unsigned char>(text[i]);
    return (high & 0x8080808080808080u) == 0;
}

/// Return the character at `at` of valid UTF-8 (surrogates allowed) and advance `at`.
inline Character decode(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t i) {
        return static_cast<Character>(static_cast<unsigned char>(text[i]));
    };
    const Character lead = byte(at);
    if (lead < 0x80) return ++at, lead;
    const auto next = [&](std::size_t i) { return byte(at + i) & 0x3F; };
    Character c;
    std::size_t length;
    if (lead < 0xE0) {
        c = (lead & 0x1F) << 6 | next(1), length = 2;
    } else if (lead < 0xF0) {
        c = (lead & 0x0F) << 12 | next(1) << 6 | next(2), length = 3;
    } else {
        c = (lead & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3), length = 4;
    }
    at += length;
    return c;
}

/// Return the character before `at` and move `at` to its first byte.
inline Character decode_before(std::string_view text, std::size_t& at) {
    do --at;
    while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
    std::size_t again = at;
    return decode(text, again);
}

/// Write a character as UTF-8; return its number of bytes.
inline std::size_t write(char* to, Character c) {
    const auto put = [&](std::size_t i, Character byte) { to[i] = static_cast<char>(byte); };
    if (c < 0x80) return put(0, c), 1;
    const std::size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (std::size_t i = length - 1; i > 0; --i, c >>= 6) put(i, 0x80 | (c & 0x3F));
    put(0, (0xF00u >> length & 0xFF) | c);
    return length;
}

inline void append(std::string& out, Character c) {
    char bytes[4];
    out.append(bytes, write(bytes, c));
}

/// Return whether a capital sigma from `begin` to `end` is at the end of a word: preceded and not
/// followed by a cased letter, ignoring case-ignorable characters (Unicode, Final_Sigma).
inline bool closes_word(std::string_view text, std::size_t begin, std::size_t end) {
    const Letters& all = letters();
    const auto skipped = [&](Character c) { return (all.kind(c) & ignorable) != 0; };
    bool before = false, after = false;
    while (begin > 0) {
        const Character c = decode_before(text, begin);
        if (skipped(c)) continue;
        before = (all.kind(c) & cased) != 0;
        break;
    }
    while (before && end < text.size()) {
        const Character c = decode(text, end);
        if (skipped(c)) continue;
        after = (all.kind(c) & cased) != 0;
        break;
    }
    return before && !after;
}

/// Call `use` for the character at `at`, in lower case if requested; advance `at`.
template <class Use>
inline void use_character(std::string_view text, std::size_t& at, bool lowercase, Use&& use) {
    const std::size_t begin = at;
    const Character c = decode(text, at);
    if (!lowercase) {
        use(c);
    } else if (c < 0x80) {
        use(Character{ascii.lower[c]});
    } else if (c == dotted_capital_i) {
        use(Character{'i'}), use(dot_above);
    } else if (c == capital_sigma) {
        use(closes_word(text, begin, at) ? final_sigma : small_sigma);
    } else {
        use(letters().lower(c));
    }
}

template <class Use>
inline void for_each_character(std::string_view text, bool lowercase, Use&& use) {
    for (std::size_t at = 0; at < text.size();) use_character(text, at, lowercase, use);
}

}  // namespace aggro::words
