// Vowpal Wabbit's text format:
//     [label [importance [initial]]] ['tag]|namespace[:weight] name[:value] ... |namespace ...
//
// The results are those of Vowpal Wabbit, including its quirks: text before a tab in the head is
// ignored, "x:" at the end of a line is 1 and "x:." is 0. Unlike there, a number followed by other
// characters, as in "x:12y", is an error.
//
// Names become indices by hashing, as `vw --hash strings --noconstant -b bits` does: the namespace
// is the seed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "parsers/labels.hpp"
#include "parsers/text.hpp"

namespace aggro::text {

namespace vw_messages {
inline constexpr auto bar = "has no '|' before its features; expected label |namespace name:value";
inline constexpr auto touching =
    "touches the '|', so Vowpal Wabbit takes it for a tag; put a space after a label, or ' before "
    "a tag";
inline constexpr auto importance =
    "is not an importance; expected a finite number that is not negative";
inline constexpr auto initial =
    "is not an initial prediction; expected label, importance, initial prediction and 'tag at most";
inline constexpr auto extra =
    "is one word too many before '|'; expected label, importance, initial prediction and 'tag at "
    "most";
inline constexpr auto tabs =
    "has a second tab before '|'; Vowpal Wabbit reads the words between one tab and the '|'";
inline constexpr auto unlabelled =
    "starts a line without a label, which cannot be learned from; expected label |namespace "
    "name:value (text before a tab is ignored)";
inline constexpr auto weight =
    "has no finite number after its colon; expected a namespace weight such as |text:0.5";
inline constexpr auto value =
    "has no usable value after its colon; expected name, name:2.5 or name:word";
inline constexpr auto no_value =
    "has a colon and no value, so Vowpal Wabbit takes the next word for it; expected name, "
    "name:2.5 "
    "or name:word";
inline constexpr auto overflow =
    "has a value too large for the dtype; expected a smaller one, or {dtype=float64}";
inline constexpr auto sum = "starts features whose repeats sum to more than the dtype holds";
}  // namespace vw_messages

inline constexpr auto vw_blank = byte_set(" \t\r");
inline constexpr auto ends_vw_name = byte_set(" \t\r\n:|");
inline constexpr auto ends_vw_feature = byte_set(" \t\r\n|");
inline constexpr auto ends_vw_string = byte_set(" \t\r\n");

class VowpalWabbit {
  public:
    // With `need_labels`, a line without a label is invalid.
    explicit VowpalWabbit(int bits, bool need_labels = false)
        : mask_((std::uint64_t{1} << bits) - 1), need_labels_(need_labels) {}

    template <class R>
    Fault parse_line(const char* line, const char* end, R& rows) const {
        const char* const begin = skip(vw_blank, line);
        if (*begin == '\n') return {};
        const void* bar = std::memchr(begin, '|', static_cast<std::size_t>(end - begin));
        if (bar == nullptr) return {vw_messages::bar, begin};
        const char* const features = static_cast<const char*>(bar);
        if (const Fault fault = parse_head(begin, features, rows)) return fault;
        return parse_namespaces(features, end, rows);
    }

  private:
    struct Namespace {
        std::uint64_t hash = 0;
        double weight = 1.0;
        std::uint64_t anonymous = 0;  // number of nameless features, as in "|ns :1 :2"
    };

    // Parse label, importance, initial prediction and tag. An unlabelled line gets NaN, the name ""
    // or an empty list. Initial predictions are only counted, since no model uses them.
    template <class R>
    Fault parse_head(const char* p, const char* bar, R& rows) const {
        const auto tab_before = [bar](const char* from) {
            return static_cast<const char*>(
                std::memchr(from, '\t', static_cast<std::size_t>(bar - from)));
        };
        const char* const line = p;
        if (const char* const tab = tab_before(p)) p = skip(vw_blank, tab + 1);
        if (p < bar && tab_before(p) != nullptr) return {vw_messages::tabs, line};
        const char* const words_end = tag_begin(p, bar);
        double importance = 1.0, initial = 0.0;
        if (p == words_end) {
            if (looks_like_label(p, bar)) return {vw_messages::touching, p};
            if (need_labels_) return {vw_messages::unlabelled, line};
            if (!rows.labels.several) rows.labels.add_missing();
        } else {
            if (const Fault fault = parse_labels(p, rows.labels, ends_word)) return fault;
            const char* word = p = skip(vw_blank, p);
            if (!head_number(p, words_end, importance) || importance < 0)
                return {vw_messages::importance, word};
            word = p;
            if (!head_number(p, words_end, initial)) return {vw_messages::initial, word};
            if (p < words_end) return {vw_messages::extra, p};
        }
        rows.weights.push(importance);
        rows.initials += initial != 0.0;
        return {};
    }

    // Parse the number at p, if there is a word before the tag, and advance p to the next word.
    static bool head_number(const char*& p, const char* words_end, double& number) {
        if (p >= words_end) return true;
        const char* const end = parse_number(p, number);
        if (end == nullptr || !in(ends_word, *end) || !fits<double>(number)) return false;
        p = skip(vw_blank, end);
        return true;
    }

    // Return the start of the tag: the last word before the bar, if it touches the bar or starts
    // with a quote.
    static const char* tag_begin(const char* p, const char* bar) {
        const char* end = bar;
        while (end > p && in(vw_blank, end[-1])) --end;
        const char* word = end;
        while (word > p && !in(vw_blank, word[-1])) --word;
        return word < end && (end == bar || *word == '\'') ? word : end;
    }

    // Return whether the tag may be a label: "1|a" is more likely a forgotten space.
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
        if (!rows.add_features(count, count <= 1)) return {vw_messages::sum, features};
        rows.end_row();
        return {};
    }

    static Fault parse_namespace(const char*& p, Namespace& space) {
        const char* const name = p;
        p = find_end(ends_vw_name, p);
        if (p > name) space.hash = hash_name({name, p}, 0);
        if (*p != ':') return {};
        p = p == name || in(ends_vw_feature, p[1]) ? nullptr : parse_value(p + 1, space.weight);
        if (p == nullptr || !fits<double>(space.weight)) return {vw_messages::weight, name};
        return {};
    }

    template <class R>
    Fault parse_feature(const char*& p, Namespace& space, R& rows, std::size_t& count) const {
        const char* const word = p;
        p = find_end(ends_vw_name, p);
        const std::string_view name(word, p);
        double value = space.weight;
        const bool has_colon = *p == ':';
        p += has_colon;
        if (has_colon && in(ends_vw_feature, *p)) {
            const char* const rest = p + (*p == '\r');
            if (*rest != '\n') return {vw_messages::no_value, word};
            value = 1.0;  // at the end of a line, "x:" is "x" without the namespace weight
        } else if (has_colon) {
            const char* const text = p;
            p = parse_value(text, value);
            if (p == nullptr) {
                p = find_end(ends_vw_string, text);
                const std::string_view string(text, p);
                if (!is_string_value(string)) return {vw_messages::value, word};
                // Vowpal Wabbit leaves the namespace weight out of name:word features.
                return add(hash_name(string, hash_name(name, space.hash)), 1.0, word, rows, count);
            }
            value *= space.weight;
        }
        const std::uint64_t hash =
            name.empty() ? space.hash + space.anonymous++ : hash_name(name, space.hash);
        return add(hash, value, word, rows, count);
    }

    // Parse a number as Vowpal Wabbit does: digits may be missing anywhere, so "." and "e5" are 0
    // and "1e" is 1. Return null for other words.
    static const char* parse_value(const char* p, double& value) {
        const char* const end = parse_number(p, value);
        if (end != nullptr && in(ends_vw_feature, *end)) return end;
        std::uint64_t ignored = 0;
        const char* q = read_digits(p + (*p == '-'), ignored);
        if (*q == '.') q = read_digits(q + 1, ignored);
        const char* const mantissa = q;
        if ((*q | 0x20) == 'e') {
            ++q;
            q = read_digits(q + (*q == '-'), ignored);
        }
        if (!in(ends_vw_feature, *q)) return nullptr;
        std::string padded(p, mantissa);
        padded.append(9, '\n');
        if (parse_number(padded.data(), value) == nullptr) value = 0.0;
        return q;
    }

    // Return whether a value is a string: "red" is; "", "12x" and "nan" are malformed numbers.
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
        if (!fits<Value>(value)) return {vw_messages::overflow, word};
        if (value == 0.0) return {};
        rows.indices.tail()[count] = static_cast<Index>(hash & mask_);
        rows.values.tail()[count++] = static_cast<Value>(value);
        return {};
    }

    std::uint64_t mask_;
    bool need_labels_;
};

}  // namespace aggro::text
