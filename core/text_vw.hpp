// Vowpal Wabbit's text format:  [label [importance]] ['tag]|namespace[:weight] name[:value] ...
// |namespace ...
//
// Names become indices by hashing, as `vw --hash strings --noconstant -b bits` does: the namespace
// is the seed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "hash.hpp"
#include "text.hpp"
#include "text_labels.hpp"

namespace aggro::text {

namespace vw_says {
inline constexpr auto bar = "has no '|' before its features; expected label |namespace name:value";
inline constexpr auto touching =
    "touches the '|', so Vowpal Wabbit takes it for a tag; put a space after a label, or ' before "
    "a tag";
inline constexpr auto importance =
    "is not an importance; expected a finite number that is not negative";
inline constexpr auto extra =
    "is one word too many before '|'; expected label, importance and 'tag at most";
inline constexpr auto weight =
    "has no finite number after its colon; expected a namespace weight such as |text:0.5";
inline constexpr auto value =
    "has no usable value after its colon; expected name, name:2.5 or name:word";
inline constexpr auto overflow =
    "has a value too large for the dtype; expected a smaller one, or dtype=float64";
inline constexpr auto sum = "starts features whose repeats sum to more than the dtype holds";
}  // namespace vw_says

inline constexpr auto vw_blank = byte_set(" \t\r");
inline constexpr auto ends_vw_name = byte_set(" \t\r\n:|");
inline constexpr auto ends_vw_feature = byte_set(" \t\r\n|");
inline constexpr auto ends_vw_string = byte_set(" \t\r\n");

class VowpalWabbit {
  public:
    explicit VowpalWabbit(int bits) : mask_((std::uint64_t{1} << bits) - 1) {}

    template <class R>
    Fault parse_line(const char* line, const char* end, R& rows) const {
        const char* const begin = skip(vw_blank, line);
        if (*begin == '\n') return {};
        const void* bar = std::memchr(begin, '|', static_cast<std::size_t>(end - begin));
        if (bar == nullptr) return {vw_says::bar, begin};
        const char* const features = static_cast<const char*>(bar);
        if (const Fault fault = parse_head(begin, features, rows)) return fault;
        return parse_namespaces(features, end, rows);
    }

  private:
    struct Namespace {
        std::uint64_t hash = 0;
        double weight = 1.0;
        std::uint64_t anonymous = 0;  // nameless features so far, as in "|ns :1 :2"
    };

    // Label, importance and tag. An unlabelled line gets NaN, the name "" or an empty list.
    template <class R>
    static Fault parse_head(const char* p, const char* bar, R& rows) {
        Labels& labels = rows.labels;
        const char* const words_end = tag_begin(p, bar);
        double importance = 1.0;
        if (p == words_end) {
            if (looks_like_label(p, bar)) return {vw_says::touching, p};
            if (!labels.several) labels.add_missing();
        } else {
            if (const Fault fault = parse_labels(p, labels, ends_word)) return fault;
            p = skip(vw_blank, p);
            if (p < words_end) {
                const char* const word = p;
                p = parse_number(p, importance);
                if (p == nullptr || !in(ends_word, *p) ||
                    !(importance >= 0 && fits<double>(importance)))
                    return {vw_says::importance, word};
                p = skip(vw_blank, p);
            }
            if (p < words_end) return {vw_says::extra, p};
        }
        rows.weights.push(importance);
        return {};
    }

    // The tag is the last word before the bar if it touches the bar or starts with a quote.
    static const char* tag_begin(const char* p, const char* bar) {
        const char* end = bar;
        while (end > p && in(vw_blank, end[-1])) --end;
        const char* word = end;
        while (word > p && !in(vw_blank, word[-1])) --word;
        return word < end && (end == bar || *word == '\'') ? word : end;
    }

    // "1|a" is more likely a forgotten space than a tag.
    static bool looks_like_label(const char* p, const char* bar) {
        double number = 0.0;
        return p < bar && parse_number(p, number) == bar;
    }

    template <class R>
    Fault parse_namespaces(const char* p, const char* end, R& rows) const {
        const char* const features = p;
        const auto most =
            static_cast<std::size_t>(end - p) / 2 + 1;  // the shortest feature is " a"
        rows.indices.reserve_more(most);
        rows.values.reserve_more(most);
        std::size_t count = 0;
        while (*p == '|') {
            Namespace space;
            if (const Fault fault = parse_namespace(++p, space)) return fault;
            for (p = skip(vw_blank, p); *p != '\n' && *p != '|'; p = skip(vw_blank, p)) {
                if (const Fault fault = parse_feature(p, space, rows, count)) return fault;
            }
        }
        if (!rows.add_features(count, count <= 1)) return {vw_says::sum, features};
        rows.end_row();
        return {};
    }

    static Fault parse_namespace(const char*& p, Namespace& space) {
        const char* const name = p;
        p = find_end(ends_vw_name, p);
        if (p > name) space.hash = hash_name({name, p}, 0);
        if (*p != ':') return {};
        p = p == name ? nullptr : parse_number(p + 1, space.weight);
        if (p == nullptr || !in(ends_vw_feature, *p) || !fits<double>(space.weight))
            return {vw_says::weight, name};
        return {};
    }

    template <class R>
    Fault parse_feature(const char*& p, Namespace& space, R& rows, std::size_t& count) const {
        const char* const word = p;
        p = find_end(ends_vw_name, p);
        const std::string_view name(word, p);
        double value = space.weight;
        if (*p == ':') {
            const char* const text = p + 1;
            double number = 0.0;
            p = parse_number(text, number);
            if (p == nullptr) {
                p = find_end(ends_vw_string, text);
                const std::string_view string(text, p);
                if (!is_string_value(string)) return {vw_says::value, word};
                // Vowpal Wabbit leaves the namespace weight out of name:word features.
                return add(hash_name(string, hash_name(name, space.hash)), 1.0, word, rows, count);
            }
            if (!in(ends_vw_feature, *p)) return {vw_says::value, word};
            value *= number;
        }
        const std::uint64_t hash =
            name.empty() ? space.hash + space.anonymous++ : hash_name(name, space.hash);
        return add(hash, value, word, rows, count);
    }

    // "red" is; "", "12x" and "nan" are numbers gone wrong.
    static bool is_string_value(std::string_view text) {
        std::string_view rest = text;
        if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
        if (rest.empty()) return !text.empty();
        std::string lower(rest.substr(0, 9));
        for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        if (lower == "nan" || lower == "inf" || lower == "infinity") return false;
        if (rest[0] == '.' && rest.size() > 1) rest.remove_prefix(1);
        return rest[0] < '0' || rest[0] > '9';
    }

    template <class Index, class Value>
    Fault add(std::uint64_t hash, double value, const char* word, Rows<Index, Value>& rows,
              std::size_t& count) const {
        if (!fits<Value>(value)) return {vw_says::overflow, word};
        if (value == 0.0) return {};
        rows.indices.tail()[count] = static_cast<Index>(hash & mask_);
        rows.values.tail()[count++] = static_cast<Value>(value);
        return {};
    }

    std::uint64_t mask_;
};

}  // namespace aggro::text
