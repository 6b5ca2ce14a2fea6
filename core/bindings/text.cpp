// Python bindings of the text parsers and of hashing. Arrays are passed without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "parsers/checksum.hpp"
#include "parsers/csv.hpp"
#include "parsers/svmlight.hpp"
#include "parsers/vw.hpp"
#include "parsers/words.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro::text;

namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class Offset>
using Offsets = nb::ndarray<const Offset, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
Array<T> give(Buffer<T>& buffer) {
    const std::size_t size = buffer.size();
    T* data = buffer.release();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return Array<T>(data, {size}, owner);
}

template <class Index, class Value>
nb::dict give_rows(Rows<Index, Value>& rows) {
    nb::dict result;
    Labels& labels = rows.labels;
    result["labels"] =
        labels.as_names ? nb::cast(give(labels.codes)) : nb::cast(give(labels.numbers));
    nb::list names;  // bytes: text files need not be UTF-8
    for (const std::string& name : labels.names.release())
        names.append(nb::bytes(name.data(), name.size()));
    result["names"] = names;
    result["label_begin"] = labels.several ? nb::cast(give(labels.begin)) : nb::none();
    result["indptr"] = give(rows.indptr);
    result["indices"] = give(rows.indices);
    result["values"] = give(rows.values);
    result["weights"] = give(rows.weights);
    result["queries"] = give(rows.queries);
    result["smallest"] = rows.smallest_index;
    result["largest"] = rows.largest_index;
    result["sorted"] = rows.sorted;
    result["initials"] = rows.initials;
    rows = Rows<Index, Value>(labels.as_names, labels.several);
    return result;
}

template <class Value>
Rows<std::int64_t, Value> widened(Rows<std::int32_t, Value>&& narrow) {
    Rows<std::int64_t, Value> wide;
    wide.indices.reserve_more(narrow.indices.size());
    for (std::size_t i = 0; i < narrow.indices.size(); ++i) wide.indices.push(narrow.indices[i]);
    wide.labels = std::move(narrow.labels);
    wide.indptr = std::move(narrow.indptr);
    wide.values = std::move(narrow.values);
    wide.weights = std::move(narrow.weights);
    wide.queries = std::move(narrow.queries);
    wide.smallest_index = narrow.smallest_index;
    wide.largest_index = narrow.largest_index;
    wide.sorted = narrow.sorted;
    wide.initials = narrow.initials;
    return wide;
}

// Parses a stream of blocks; rows accumulate until `take`.
class TextParser {
  public:
    using Format = std::variant<Svmlight, VowpalWabbit>;

    TextParser(Format format, bool single, bool names, bool several, bool skip_bad)
        : format_(format) {
        if (single) {
            rows_ = Rows<std::int32_t, float>(names, several);
        } else {
            rows_ = Rows<std::int32_t, double>(names, several);
        }
        progress_.skip_bad = skip_bad;
    }

    std::size_t feed(const Bytes& data, bool final, std::size_t most_rows) {
        const nb::gil_scoped_release unlocked;
        std::string_view block(reinterpret_cast<const char*>(data.data()), data.size());
        std::size_t used = 0;
        for (;;) {
            bool wide = false;
            used += std::visit(
                [&](auto& rows, const auto& format) {
                    return parse_block(block.substr(used), final, most_rows, format, rows,
                                       progress_, wide);
                },
                rows_, format_);
            if (!wide) return used;
            widen();
        }
    }

    nb::dict take() {
        return std::visit([](auto& rows) { return give_rows(rows); }, rows_);
    }

    void set_first_index(std::int64_t first_index, std::int64_t n_features, std::int64_t widest) {
        format_ = Svmlight(first_index, n_features, widest);
    }

    std::size_t rows() const {
        return std::visit([](const auto& rows) { return rows.count(); }, rows_);
    }

    Progress& progress() { return progress_; }

  private:
    void widen() {
        if (auto* narrow = std::get_if<Rows<std::int32_t, float>>(&rows_)) {
            rows_ = widened(std::move(*narrow));
        } else {
            rows_ = widened(std::move(std::get<Rows<std::int32_t, double>>(rows_)));
        }
    }

    Format format_;
    Progress progress_;
    std::variant<Rows<std::int32_t, double>, Rows<std::int32_t, float>, Rows<std::int64_t, double>,
                 Rows<std::int64_t, float>>
        rows_;
};

// Parses a stream of blocks into columns of strings; records accumulate until `take`.
class CsvParser {
  public:
    CsvParser(char delimiter, std::vector<int> places, bool skip_bad, std::size_t longest)
        : csv_(delimiter, std::move(places), longest) {
        progress_.skip_bad = skip_bad;
    }

    std::size_t feed(const Bytes& data, bool final, std::size_t most_rows) {
        const nb::gil_scoped_release unlocked;
        const std::string_view block(reinterpret_cast<const char*>(data.data()), data.size());
        return csv_.parse(block, final, most_rows, progress_);
    }

    nb::tuple take() {
        nb::list columns;
        for (Strings& column : csv_.take_columns())
            columns.append(nb::make_tuple(give(column.bytes), give(column.offsets)));
        return nb::make_tuple(columns, give(csv_.lines));
    }

    std::size_t rows() const { return csv_.count(); }
    Progress& progress() { return progress_; }

  private:
    Csv csv_;
    Progress progress_;
};

// The common interface of line parsers.
template <class Parser>
void bind_parser(nb::class_<Parser>& parser) {
    parser
        .def("feed", &Parser::feed, "data"_a, "final"_a, "most_rows"_a,
             "Parse complete lines until the end of the data, of the rows or of the tolerated "
             "errors; return the number of bytes used.")
        .def("take", &Parser::take, "Return the rows parsed so far and start again.")
        .def(
            "problems",
            [](Parser& parser) {
                nb::list list;
                for (const Problem& problem : parser.progress().problems)
                    list.append(nb::make_tuple(problem.line, problem.column,
                                               nb::bytes(problem.word.data(), problem.word.size()),
                                               problem.reason));
                return list;
            },
            "The first invalid lines: (line, column or 0, word, reason).")
        .def_prop_ro("rows", &Parser::rows)
        .def_prop_rw(
            "line", [](Parser& parser) { return parser.progress().line; },
            [](Parser& parser, std::int64_t line) { parser.progress().line = line; })
        .def_prop_ro("bad", [](Parser& parser) { return parser.progress().bad; })
        .def_prop_ro("stopped", [](Parser& parser) { return parser.progress().stopped; });
}

template <class Offset>
StringColumn<Offset> column(const Bytes& bytes, const Offsets<Offset>& offsets) {
    const std::size_t count = offsets.size() == 0 ? 0 : offsets.size() - 1;
    for (std::size_t i = 0; i < count; ++i)
        if (offsets(i) < 0 || offsets(i) > offsets(i + 1))
            throw nb::value_error("offsets must not decrease");
    if (count > 0 && static_cast<std::size_t>(offsets(count)) > bytes.size())
        throw nb::value_error("offsets reach beyond the bytes");
    return {reinterpret_cast<const char*>(bytes.data()), offsets.data(), count};
}

template <class Offset>
void bind_hashing(nb::module_& m) {
    m.def(
        "hash_strings",
        [](const Bytes& bytes, const Offsets<Offset>& offsets, std::string_view prefix, int bits) {
            auto strings = column(bytes, offsets);
            Buffer<std::int32_t> indices;
            {
                const nb::gil_scoped_release unlocked;
                indices = hash_column(strings, prefix, bits);
            }
            return give(indices);
        },
        "bytes"_a, "offsets"_a, "prefix"_a, "bits"_a,
        "Hash prefix + string for every string of an Arrow column.");
    m.def(
        "read_values",
        [](const Bytes& bytes, const Offsets<Offset>& offsets) {
            auto strings = column(bytes, offsets);
            std::pair<Buffer<double>, Buffer<std::uint8_t>> read;
            {
                const nb::gil_scoped_release unlocked;
                read = read_values(strings);
            }
            return nb::make_tuple(give(read.first), give(read.second));
        },
        "bytes"_a, "offsets"_a,
        "Return the number in every string of an Arrow column, NaN if there is none; and its kind: "
        "0 text, 1 number, 2 integer, 3 true or false, 4 missing.");
    m.def(
        "hash_words",
        [](const Bytes& bytes, const Offsets<Offset>& offsets, std::string_view prefix, int bits) {
            auto strings = column(bytes, offsets);
            Rows<std::int32_t, double> rows;
            {
                const nb::gil_scoped_release unlocked;
                count_words(strings, prefix, bits, rows);
            }
            return nb::make_tuple(give(rows.indptr), give(rows.indices), give(rows.values));
        },
        "bytes"_a, "offsets"_a, "prefix"_a, "bits"_a,
        "Count hashed prefix + word for every string of an Arrow column.");
}

}  // namespace

void bind_text(nb::module_& m) {
    nb::class_<TextParser> text(m, "TextParser", "Reads blocks of text lines into sparse rows.");
    text.def_static(
            "svmlight",
            [](bool float32, bool names, bool several, bool skip_bad, std::int64_t first_index,
               std::int64_t n_features, std::int64_t widest) {
                return TextParser(Svmlight(first_index, n_features, widest), float32, names,
                                  several, skip_bad);
            },
            "float32"_a, "names"_a, "several"_a, "skip_bad"_a, "first_index"_a, "n_features"_a,
            "widest"_a)
        .def_static(
            "vw",
            [](bool float32, bool names, bool several, bool skip_bad, int bits, bool need_labels) {
                return TextParser(VowpalWabbit(bits, need_labels), float32, names, several,
                                  skip_bad);
            },
            "float32"_a, "names"_a, "several"_a, "skip_bad"_a, "bits"_a, "need_labels"_a = false)
        .def("set_first_index", &TextParser::set_first_index, "first_index"_a, "n_features"_a,
             "widest"_a);
    bind_parser(text);
    nb::class_<CsvParser> csv(m, "CsvParser", "Reads blocks of a table in text into columns.");
    csv.def(
        "__init__",
        [](CsvParser* self, std::string_view delimiter, std::vector<int> places, bool skip_bad,
           std::size_t longest) {
            if (delimiter.size() != 1) throw nb::value_error("a delimiter is one byte");
            new (self) CsvParser(delimiter[0], std::move(places), skip_bad, longest);
        },
        "delimiter"_a, "places"_a, "skip_bad"_a, "longest"_a,
        "Fields of a record are stored in the column that `places` gives them, or skipped if it is "
        "negative.");
    bind_parser(csv);
    m.def(
        "parse_float",
        [](nb::bytes text) -> nb::object {
            const std::string padded = std::string(text.c_str(), text.size()) + "\n       ";
            double value = 0.0;
            const char* end = parse_number(padded.data(), value);
            if (end != padded.data() + text.size()) return nb::none();
            return nb::float_(value);
        },
        "text"_a, "Parse one decimal number; return None if it is invalid.");
    m.def(
        "checksum", [](const Bytes& bytes) { return aggro::checksum(bytes.data(), bytes.size()); },
        "bytes"_a, "Return a checksum of bytes, against damage.");
    m.def(
        "hash_name",
        [](std::string_view name, std::uint64_t seed) { return aggro::hash_name(name, seed); },
        "name"_a, "seed"_a = 0, "Return Vowpal Wabbit's hash of a name: a number is its own hash.");
    bind_hashing<std::int32_t>(m);
    bind_hashing<std::int64_t>(m);
}
