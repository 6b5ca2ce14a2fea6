// Comma-separated text (RFC 4180) to columns of strings. A quoted field may contain delimiters,
// line ends and doubled quotes.
//
// A bad record skips only its first line: parsing continues at the next line, since an unclosed
// quote would otherwise consume good lines.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/text.hpp"
#include "parsers/utf8.hpp"

namespace aggro::text {

namespace csv_messages {
inline constexpr auto open_quote = "starts a record with a quote that is never closed";
inline constexpr auto after_quote =
    "starts a record with text after a closing quote; expected a delimiter there, or a quote "
    "doubled";
inline constexpr auto encoding =
    "starts a record that is not valid UTF-8; expected UTF-8 throughout";
inline constexpr auto too_long = "starts a record longer than {longest_line}";
}  // namespace csv_messages

// The strings of a column in Arrow's layout.
struct Strings {
    Buffer<std::uint8_t> bytes;
    Buffer<std::int64_t> offsets;

    Strings() { offsets.push(0); }
    void append(const char* begin, const char* end) {
        const auto size = static_cast<std::size_t>(end - begin);
        if (size == 0) return;
        bytes.reserve_more(size);
        std::memcpy(bytes.tail(), begin, size);
        bytes.advance(size);
    }
    void end_string() { offsets.push(static_cast<std::int64_t>(bytes.size())); }
    void truncate(std::size_t count) {
        if (offsets.size() <= count + 1) {
            bytes.truncate(static_cast<std::size_t>(offsets[offsets.size() - 1]));
            return;
        }
        offsets.truncate(count + 1);
        bytes.truncate(static_cast<std::size_t>(offsets[count]));
    }
};

class Csv {
  public:
    // Fields of a record are stored in the column that `places` gives them, or skipped if it is
    // negative.
    Csv(char delimiter, std::vector<int> places, std::size_t longest)
        : delimiter_(delimiter), longest_(longest), places_(std::move(places)) {
        ends_[static_cast<unsigned char>(delimiter)] = ends_['\n'] = true;
        columns_.resize(static_cast<std::size_t>(
            1 + std::max(-1, places_.empty() ? -1 : *std::ranges::max_element(places_))));
    }

    std::size_t count() const { return lines.size(); }

    // Parse complete records of `block`, like parse_block, and return the number of bytes used.
    std::size_t parse(std::string_view block, bool final, std::size_t most_rows,
                      Progress& progress) {
        const char* p = block.data();
        const char* const end = p + block.size();
        while (p < end && count() < most_rows && !progress.stopped) {
            const Record record = read_record(p, end, final);
            const bool too_long = record.end - p > static_cast<std::ptrdiff_t>(longest_);
            if (record.unfinished && !final && !too_long) break;
            if (record.fault && !final && next_line(p, end) == end && end[-1] != '\n') {
                drop_unfinished();
                break;  // its first line is incomplete
            }
            ++progress.line;
            const char* fault = too_long ? csv_messages::too_long : record.fault;
            if (record.unfinished && !fault) fault = csv_messages::open_quote;
            if (!fault && record.is_blank) {
                p = record.end;
                continue;
            }
            if (!fault && record.fields != places_.size()) {
                drop_unfinished();
                progress.report(0, first_line(p, end), counted(record.fields));
                p = next_line(p, end);
            } else if (fault || !is_utf8(p, record.end)) {
                drop_unfinished();
                progress.report(0, first_line(p, end), fault ? fault : csv_messages::encoding);
                p = next_line(p, end);
            } else {
                lines.push(progress.line);
                progress.line += record.inner_lines;
                p = record.end;
            }
        }
        return static_cast<std::size_t>(p - block.data());
    }

    std::vector<Strings> take_columns() {
        std::vector<Strings> taken(columns_.size());
        std::swap(taken, columns_);
        return taken;
    }

    Buffer<std::int64_t> lines;  // where each record starts

  private:
    struct Record {
        const char* end;  // after its line end
        std::size_t fields = 0;
        std::int64_t inner_lines = 0;
        bool unfinished = false;
        bool is_blank = false;
        const char* fault = nullptr;
    };

    Record read_record(const char* p, const char* end, bool final) {
        Record record{p};
        for (;; ++record.fields) {
            Strings* const column = column_at(record.fields);
            if (p < end && *p == '"') {
                p = read_quoted(p + 1, end, column, record);
                if (record.unfinished || record.fault) break;
            } else {
                const char* stop = p;
                while (stop < end && !ends_[static_cast<unsigned char>(*stop)]) ++stop;
                const bool at_end = stop == end || *stop == '\n';
                const char* last = at_end && stop > p && stop[-1] == '\r' ? stop - 1 : stop;
                record.is_blank = at_end && record.fields == 0 && last == p;
                if (column) column->append(p, last);
                p = stop;
            }
            if (column) column->end_string();
            if (p == end || *p == '\n') {
                record.unfinished = p == end && !final;
                ++record.fields;
                break;
            }
            ++p;  // the delimiter
        }
        record.end = p < end ? p + 1 : end;
        if (record.is_blank || record.unfinished) drop_unfinished();
        return record;
    }

    // Read a field after its opening quote and return the position after it.
    const char* read_quoted(const char* p, const char* end, Strings* column, Record& record) const {
        for (;;) {
            const auto left = static_cast<std::size_t>(end - p);
            const char* quote =
                left ? static_cast<const char*>(std::memchr(p, '"', left)) : nullptr;
            const char* const stop = quote ? quote : end;
            record.inner_lines += std::count(p, stop, '\n');
            if (quote == nullptr) {
                record.unfinished = true;
                return end;
            }
            const bool doubled = quote + 1 < end && quote[1] == '"';
            if (column) column->append(p, quote + doubled);
            p = quote + 1 + doubled;
            if (doubled) continue;
            if (p < end && *p == '\r' && (p + 1 == end || p[1] == '\n')) ++p;
            if (p < end && *p != '\n' && *p != delimiter_) record.fault = csv_messages::after_quote;
            return p;
        }
    }

    Strings* column_at(std::size_t field) {
        if (field >= places_.size() || places_[field] < 0) return nullptr;
        return &columns_[static_cast<std::size_t>(places_[field])];
    }
    void drop_unfinished() {
        for (Strings& column : columns_) column.truncate(count());
    }
    static const char* next_line(const char* p, const char* end) {
        const void* newline = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
        return newline ? static_cast<const char*>(newline) + 1 : end;
    }
    static std::string first_line(const char* p, const char* end) {
        const char* const line_end = next_line(p, end);
        return quoted(p, line_end > p && line_end[-1] == '\n' ? line_end - 1 : line_end);
    }
    std::string counted(std::size_t fields) const {
        return "starts a record of " + std::to_string(fields) + " fields; expected " +
               std::to_string(places_.size()) + ", as in the first line";
    }

    char delimiter_;
    std::size_t longest_;
    std::array<bool, 256> ends_{};
    std::vector<int> places_;
    std::vector<Strings> columns_;
};

}  // namespace aggro::text
