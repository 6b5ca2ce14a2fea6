// The labels of a line: one number, one name, or several of them separated by commas.
#pragma once

#include <array>
#include <cstring>

#include "parsers/text.hpp"

namespace aggro::text {

namespace label_messages {
inline constexpr auto number =
    "is not a number; expected a label such as 1, -1 or 2.5 (class names need {labels=text})";
inline constexpr auto overflow = "is too large for a double; expected a finite label";
}  // namespace label_messages

inline Fault parse_numeric_labels(const char*& p, Labels& labels,
                                  const std::array<bool, 256>& ends) {
    for (const char* const word = p;; ++p) {
        double number = 0.0;
        const char* const end = parse_number(p, number);
        const bool more = labels.several && end != nullptr && *end == ',';
        if (end == nullptr || !(more || in(ends, *end))) return {label_messages::number, word};
        if (!fits<double>(number)) return {label_messages::overflow, word};
        labels.numbers.push(number);
        p = end;
        if (!more) return {};
    }
}

inline Fault parse_named_labels(const char*& p, Labels& labels, const std::array<bool, 256>& ends) {
    const char* const end = find_end(ends, p);
    while (labels.several) {
        const void* comma = std::memchr(p, ',', static_cast<std::size_t>(end - p));
        if (comma == nullptr) break;
        labels.codes.push(labels.names.code({p, static_cast<const char*>(comma)}));
        p = static_cast<const char*>(comma) + 1;
    }
    labels.codes.push(labels.names.code({p, end}));
    p = end;
    return {};
}

// Parse the labels at p and advance p.
inline Fault parse_labels(const char*& p, Labels& labels, const std::array<bool, 256>& ends) {
    return labels.as_names ? parse_named_labels(p, labels, ends)
                           : parse_numeric_labels(p, labels, ends);
}

}  // namespace aggro::text
