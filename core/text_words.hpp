// Columns of strings to hashed features: one index per string, or one per word of it.
//
// A column is Arrow's layout: all bytes in one buffer, string i from offsets[i] to offsets[i + 1].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hash.hpp"
#include "text.hpp"

namespace aggro::text {

inline constexpr auto ends_number = byte_set(" \t\r");

template <class Offset>
struct StringColumn {
    const char* bytes;
    const Offset* offsets;
    std::size_t count;

    std::string_view operator[](std::size_t i) const {
        return {bytes + offsets[i], bytes + offsets[i + 1]};
    }
};

// The index of "prefix" + string, for each string.
template <class Offset>
Buffer<std::int32_t> hash_column(const StringColumn<Offset>& column, std::string_view prefix,
                                 int bits) {
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    Buffer<std::int32_t> indices;
    indices.reserve_more(column.count);
    std::string name(prefix);
    for (std::size_t i = 0; i < column.count; ++i) {
        name.resize(prefix.size());
        name += column[i];
        indices.push(static_cast<std::int32_t>(hash_name(name, 0) & mask));
    }
    return indices;
}

// The decimal number each string is; NaN for one that is none.
template <class Offset>
Buffer<double> parse_column(const StringColumn<Offset>& column) {
    Buffer<double> numbers;
    numbers.reserve_more(column.count);
    std::string padded;
    for (std::size_t i = 0; i < column.count; ++i) {
        padded.assign(column[i]).append(9, '\n');
        const char* const begin = skip(ends_number, padded.data());
        double value = 0.0;
        const char* const end = *begin == '\n' ? nullptr : parse_number(begin, value);
        const bool is_number = end != nullptr && *skip(ends_number, end) == '\n';
        numbers.push(is_number ? value : std::numeric_limits<double>::quiet_NaN());
    }
    return numbers;
}

// Letters, digits, '_' and everything beyond ASCII. Lower-casing is the caller's, who knows
// Unicode.
inline bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80) != 0;
}

// Counts the words of each string, at the index of "prefix" + word.
template <class Offset>
void count_words(const StringColumn<Offset>& column, std::string_view prefix, int bits,
                 Rows<std::int32_t, double>& rows) {
    std::string name(prefix);
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    for (std::size_t i = 0; i < column.count; ++i) {
        const std::string_view text = column[i];
        rows.indices.reserve_more(text.size() / 2 + 1);
        rows.values.reserve_more(text.size() / 2 + 1);
        std::size_t words = 0;
        for (std::size_t p = 0; p < text.size();) {
            const std::size_t begin = p;
            while (p < text.size() && is_word_byte(text[p])) ++p;
            if (p > begin) {
                name.resize(prefix.size());
                name += text.substr(begin, p - begin);
                rows.indices.tail()[words] = static_cast<std::int32_t>(hash_name(name, 0) & mask);
                rows.values.tail()[words++] = 1.0;
            } else {
                ++p;
            }
        }
        rows.add_features(words, words <= 1);
        rows.end_row();
    }
}

}  // namespace aggro::text
