// Columns of strings to hashed features: one index per string, or one per word of it.
//
// A column is in Arrow's layout: all bytes in one buffer, string i from offsets[i] to offsets[i +
// 1].
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "parsers/text.hpp"

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

// Return the index of "prefix" + string for each string.
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

// The type of a string in a table.
enum class Kind : std::uint8_t { text, number, whole, boolean, missing };

// Return whether a string means a missing value in pandas, Arrow or R.
inline bool is_missing(std::string_view text) {
    static constexpr std::string_view words[] = {
        "",        "#N/A", "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
        "1.#QNAN", "N/A",  "NA",       "NULL", "NaN",     "n/a",      "nan",  "null"};
    return text.size() <= 8 && std::ranges::find(words, text) != std::end(words);
}

inline bool is_any_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, text) != words.end();
}

// Read the value of a string and its kind: a number (possibly infinite), true or false, or none.
inline Kind read_value(std::string_view text, std::string& padded, double& value) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    value = std::numeric_limits<double>::quiet_NaN();
    if (is_missing(text)) return Kind::missing;
    padded.assign(text).append(9, '\n');
    const char* const begin = skip(ends_number, padded.data());
    const char* const end = parse_number(begin, value);
    if (end != nullptr && skip(ends_number, end) == padded.data() + text.size()) {
        const char* const digits = begin + (*begin == '-' || *begin == '+');
        const bool whole = std::all_of(digits, end, [](char c) { return c >= '0' && c <= '9'; });
        return whole ? Kind::whole : Kind::number;
    }
    value = std::numeric_limits<double>::quiet_NaN();
    if (is_any_of(text, {"true", "True", "TRUE"})) return value = 1.0, Kind::boolean;
    if (is_any_of(text, {"false", "False", "FALSE"})) return value = 0.0, Kind::boolean;
    if (is_any_of(text, {"inf", "Inf", "INF", "infinity", "Infinity", "+inf"}))
        return value = infinity, Kind::number;
    if (is_any_of(text, {"-inf", "-Inf", "-INF", "-infinity", "-Infinity"}))
        return value = -infinity, Kind::number;
    return Kind::text;
}

// Return the value and the kind of each string; the value is NaN if there is none.
template <class Offset>
std::pair<Buffer<double>, Buffer<std::uint8_t>> read_values(const StringColumn<Offset>& column) {
    Buffer<double> values;
    Buffer<std::uint8_t> kinds;
    values.reserve_more(column.count);
    kinds.reserve_more(column.count);
    std::string padded;
    for (std::size_t i = 0; i < column.count; ++i) {
        double value = 0.0;
        kinds.push(static_cast<std::uint8_t>(read_value(column[i], padded, value)));
        values.push(value);
    }
    return {std::move(values), std::move(kinds)};
}

// Return whether a byte is part of a word: letters, digits, '_' and everything beyond ASCII. The
// caller converts to lower case.
inline bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80) != 0;
}

// Count the words of each string at the index of "prefix" + word.
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
