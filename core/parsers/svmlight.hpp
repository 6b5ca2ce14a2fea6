// The svmlight / libsvm format:  label[,label...] [qid:n] index:value index:value ... # comment
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "parsers/labels.hpp"
#include "parsers/text.hpp"

namespace aggro::text {

namespace svmlight_messages {
inline constexpr auto query = "is not a query number; expected qid: and a whole number";
inline constexpr auto index =
    "does not start with a feature index; expected index:value such as 3:0.5";
inline constexpr auto negative = "has a negative index; expected index:value such as 3:0.5";
inline constexpr auto too_long = "has an index beyond 63 bits; expected index:value such as 3:0.5";
inline constexpr auto zero =
    "has index 0 where indices start at 1; pass {zero_based=True} if they start at 0";
inline constexpr auto beyond =
    "has an index beyond n_features; raise {n_features}, or leave it out";
inline constexpr auto too_wide = "needs more columns than there is memory for weights";
inline constexpr auto colon = "has no colon after the index; expected index:value such as 3:0.5";
inline constexpr auto value =
    "has no finite decimal number after the colon; expected index:value such as 3:0.5";
inline constexpr auto overflow =
    "has a value too large for the dtype; expected a smaller one, or {dtype=float64}";
inline constexpr auto sum =
    "starts features whose repeated indices sum to more than the dtype holds";
}  // namespace svmlight_messages

inline constexpr auto svmlight_blank = byte_set(" \t\r\v\f");  // as in bytes.split()
inline constexpr auto ends_svmlight_word = byte_set(" \t\r\v\f\n#");

class Svmlight {
  public:
    // Columns are numbered from `first_index` (0 or 1) in the file and from 0 in the rows. Indices
    // of `n_features` or more are rejected; indices of `widest` or more are assumed to be typing
    // errors.
    explicit Svmlight(std::int64_t first_index = 0,
                      std::int64_t n_features = std::numeric_limits<std::int64_t>::max(),
                      std::int64_t widest = std::numeric_limits<std::int64_t>::max())
        : first_index_(first_index), n_features_(n_features), widest_(widest) {}

    template <class R>
    Fault parse_line(const char* line, const char* end, R& rows) const {
        const char* p = skip(svmlight_blank, line);
        if (*p == '\n' || *p == '#') return {};
        if (const Fault fault = parse_row_labels(p, rows.labels)) return fault;
        p = skip(svmlight_blank, p);
        if (const Fault fault = parse_query(p, rows.queries)) return fault;
        if (const Fault fault = parse_features(p, end, rows)) return fault;
        rows.end_row();
        return {};
    }

  private:
    static Fault parse_row_labels(const char*& p, Labels& labels) {
        // A multilabel row may have no labels: the line then starts with a feature.
        const char* end = find_end(ends_svmlight_word, p);
        if (labels.several && std::memchr(p, ':', static_cast<std::size_t>(end - p)) != nullptr)
            return {};
        return parse_labels(p, labels, ends_svmlight_word);
    }

    // Parse "qid:n" if present; otherwise the row keeps -1.
    static Fault parse_query(const char*& p, Buffer<std::int64_t>& queries) {
        std::int64_t query = -1;
        if (*p == 'q' && std::memcmp(p, "qid:", 4) == 0) {
            std::uint64_t digits = 0;
            const char* const begin = p + 4;
            const char* const end = read_digits(begin, digits);
            if (end == begin || end - begin > 18 || !in(ends_svmlight_word, *end))
                return {svmlight_messages::query, p};
            query = static_cast<std::int64_t>(digits);
            p = end;
        }
        queries.push(query);
        return {};
    }

    // Parse "index:". Return false if there is none; p is then undefined.
    bool parse_index(const char*& p, std::int64_t& index) const {
        const DigitRun run = leading_digits(p);
        std::uint64_t digits = run.value;
        const char* const word = p;
        p += run.count;
        if (run.count == 8) [[unlikely]] {
            p = read_digits(p, digits);
            if (p - word > max_index_digits) return false;
        }
        index = static_cast<std::int64_t>(digits) - first_index_;
        return run.count > 0 && *p++ == ':';
    }

    template <class Index, class Value>
    Fault parse_features(const char* p, const char* end, Rows<Index, Value>& rows) const {
        const char* const features = p;
        // the shortest feature is "1:1 "
        const auto most = static_cast<std::size_t>(end - p) / 4 + 2;
        rows.indices.reserve_more(most);
        rows.values.reserve_more(most);
        Index* const indices = rows.indices.tail();
        Value* const values = rows.values.tail();
        const auto limit =
            static_cast<std::uint64_t>(std::min({n_features_, widest_, index_limit<Index>}));
        std::int64_t previous = -1;
        bool increasing = true;
        std::size_t count = 0;
        for (;; ++count) {
            p = skip(svmlight_blank, p);
            if (*p == '\n' || *p == '#') break;
            const char* const word = p;
            std::int64_t index = 0;
            if (!parse_index(p, index)) return explain<Index>(word);
            double value = 0.0;
            p = parse_number(p, value);
            if (p == nullptr || !in(ends_svmlight_word, *p)) return explain<Index>(word);
            if (static_cast<std::uint64_t>(index) >= limit || !fits<Value>(value))
                return explain<Index>(word);
            increasing &= index > previous;
            previous = index;
            indices[count] = static_cast<Index>(index);
            values[count] = static_cast<Value>(value);
        }
        return rows.add_features(count, increasing) ? Fault{}
                                                    : Fault{svmlight_messages::sum, features};
    }

    // Find the reason why a feature is invalid; the loop above only detects that it is.
    template <class Index>
    [[gnu::cold]] Fault explain(const char* word) const {
        using namespace svmlight_messages;
        if (*word == '-') return {negative, word};
        std::uint64_t digits = 0;
        const char* const colon_at = read_digits(word, digits);
        if (colon_at == word) return {svmlight_messages::index, word};
        if (colon_at - word > max_index_digits) return {too_long, word};
        if (*colon_at != ':') return {colon, word};
        double number = 0.0;
        const char* const end = parse_number(colon_at + 1, number);
        if (end == nullptr || !in(ends_svmlight_word, *end)) return {value, word};
        if (!fits<double>(number)) return {overflow, word};
        const std::int64_t index = static_cast<std::int64_t>(digits) - first_index_;
        if (index < 0) return {zero, word};
        if (index >= n_features_) return {beyond, word};
        if (index >= widest_) return {too_wide, word};
        if (index >= index_limit<Index>) return {needs_wide_indices, word};
        return {overflow, word};  // of a float
    }

    static constexpr std::ptrdiff_t max_index_digits = 18;
    std::int64_t first_index_;
    std::int64_t n_features_;
    std::int64_t widest_;
};

}  // namespace aggro::text
