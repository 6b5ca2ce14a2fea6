// Blocks of text lines to rows: the loop over lines, and error messages.
//
// The formats are in svmlight.hpp and vw.hpp (tables in csv.hpp). A format is a function
//     Fault parse_line(const char* line, const char* end, rows)
// where `end` points at the line's '\n'. It adds one row, adds nothing (blank line), or reports a
// fault.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/buffer.hpp"
#include "parsers/number.hpp"

namespace aggro::text {

constexpr std::array<bool, 256> byte_set(std::string_view members) {
    std::array<bool, 256> table{};
    for (const char member : members) table[static_cast<unsigned char>(member)] = true;
    return table;
}
inline constexpr auto ends_word = byte_set(" \t\r\v\f\n");

inline bool in(const std::array<bool, 256>& table, char c) {
    return table[static_cast<unsigned char>(c)];
}

inline const char* skip(const std::array<bool, 256>& table, const char* p) {
    while (in(table, *p)) ++p;
    return p;
}
inline const char* find_end(const std::array<bool, 256>& table, const char* p) {
    while (!in(table, *p)) ++p;
    return p;
}

// Why a line is invalid: the message, and the start of the offending word.
struct Fault {
    const char* reason = nullptr;  // null: the line is valid
    const char* where = nullptr;

    explicit operator bool() const { return reason != nullptr; }
};

// Not an error: an index beyond 32 bits, when the rows have 32-bit indices.
inline constexpr const char* needs_wide_indices = "needs 64-bit indices";

// An invalid line. The reason may name options of a reader, as {zero_based=True}; the word is from
// the file and may contain anything, so the two are separate.
struct Problem {
    std::int64_t line;
    std::int64_t column;  // 0: the entire line
    std::string word;
    std::string reason;
};

// Return a word for a message: short and printable.
inline std::string quoted(const char* begin, const char* end) {
    constexpr std::ptrdiff_t most = 40;
    const char* stop = end - begin > most ? begin + most : end;
    std::string text = "'";
    for (const char* p = begin; p < stop; ++p) {
        const auto byte = static_cast<unsigned char>(*p);
        if (byte >= 0x20 && byte != 0x7F) {
            text += *p;
        } else {
            constexpr char hex[] = "0123456789abcdef";
            text += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
        }
    }
    return text + (stop < end ? "...'" : "'");
}

// Position in a stream of blocks, and the errors so far.
struct Progress {
    bool skip_bad = false;
    std::size_t most_problems = 10;
    std::int64_t line = 0;  // lines read so far
    std::int64_t bad = 0;
    bool stopped = false;  // stopped at an invalid line
    std::vector<Problem> problems;

    [[gnu::cold]] void report(std::int64_t column, std::string word, std::string reason) {
        ++bad;
        stopped = !skip_bad;
        if (problems.size() < most_problems)
            problems.push_back({line, column, std::move(word), std::move(reason)});
    }
    [[gnu::cold]] void report(const Fault& fault, const char* line_begin) {
        const char* word_end = find_end(ends_word, fault.where);
        report(fault.where - line_begin + 1,
               word_end == fault.where ? "the end of the line" : quoted(fault.where, word_end),
               fault.reason);
    }
};

// Parse complete lines of `block` until its end, `most_rows` rows in all, or an invalid line.
// Return the number of bytes used. A last line without '\n' is read only if
// `final`.
template <class Format, class R>
std::size_t parse_block(std::string_view block, bool final, std::size_t most_rows,
                        const Format& format, R& rows, Progress& progress, bool& wide) {
    const char* p = block.data();
    const char* const end = p + block.size();
    std::string padded;
    while (p < end && rows.count() < most_rows && !progress.stopped) {
        const void* newline = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
        const char* line_end = newline ? static_cast<const char*>(newline) : end;
        if (!newline && !final) break;
        const char* line = p;
        const char* stop = line_end;
        if (end - line_end < 9) {  // number parsing reads eight bytes from anywhere up to the '\n'
            padded.assign(p, line_end).append(9, '\n');
            line = padded.data();
            stop = line + (line_end - p);
        }
        const std::size_t labels = rows.labels.size(), features = rows.indices.size(),
                          count = rows.count();
        const Fault fault = format.parse_line(line, stop, rows);
        wide = fault.reason == needs_wide_indices;
        if (fault) rows.rewind(labels, features, count);
        if (wide) break;
        ++progress.line;
        if (fault) progress.report(fault, line);
        p = newline ? line_end + 1 : end;
    }
    return static_cast<std::size_t>(p - block.data());
}

}  // namespace aggro::text
