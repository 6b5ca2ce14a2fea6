// Python bindings of the vectoriser; most work runs without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "words_core.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro::words;

void bind_vectorise(nb::module_& m) {
    m.def(
        "set_characters",
        [](const Bytes& kinds, const Input<std::uint32_t>& lower) {
            if (letters().known()) return;  // set by another thread, and possibly in use
            if (kinds.size() != end_of_unicode)
                throw nb::value_error("every character has its kind");
            for (std::size_t c = 0; c < kinds.size(); ++c)
                if (kinds(c) & capital && c >= lower.size())
                    throw nb::value_error("every capital has its lower case");
            letters().set({kinds.data(), kinds.data() + kinds.size()},
                          {lower.data(), lower.data() + lower.size()});
        },
        "kinds"_a, "lower"_a, "Set the properties of all characters (see aggro.text.alphabet).");
    m.def(
        "check_texts", [](nb::list documents) { StringList(std::move(documents), nb::none()); },
        "documents"_a,
        "Raise unless all documents are strings, or bytes of UTF-8; the message names the first "
        "that is not.");
    m.def(
        "check_texts",
        [](Bytes bytes, Input<std::int64_t> offsets) {
            ArrowStrings<std::int64_t>(std::move(bytes), std::move(offsets));
        },
        "bytes"_a, "offsets"_a);
    m.def(
        "murmur3",
        [](const Bytes& bytes, const Input<std::int64_t>& offsets) {
            const ArrowStrings<std::int64_t> names(bytes, offsets, true);
            std::vector<std::int32_t> hashes;
            for (std::size_t i = 0; i < names.count(); ++i)
                hashes.push_back(static_cast<std::int32_t>(aggro::murmur3(names.at(i), 0)));
            return give(std::move(hashes));
        },
        "bytes"_a, "offsets"_a, "Return the signed hash of every string of an Arrow column.");
    nb::class_<Words>(m, "Words", "Documents to sparse rows of hashed words.")
        .def(
            "__init__", [](Words* self, const nb::dict& how) { new (self) Words(make(how)); },
            "how"_a, "All options by name; aggro.text.options checks them.")
        .def(
            "rows",
            [](Words& self, nb::list documents, bool learn, std::size_t threads, bool single,
               nb::object prepare) {
                return self.rows(StringList(std::move(documents), std::move(prepare)), learn,
                                 threads, single);
            },
            "documents"_a, "learn"_a = false, "threads"_a = 1, "single"_a = false,
            "prepare"_a = nb::none(),
            "indptr, indices, values by term frequency and by idf, for each range of n-grams.")
        .def(
            "rows",
            [](Words& self, Bytes bytes, Input<std::int32_t> offsets, bool learn,
               std::size_t threads, bool single) {
                return self.rows(ArrowStrings<std::int32_t>(bytes, offsets), learn, threads,
                                 single);
            },
            "bytes"_a, "offsets"_a, "learn"_a = false, "threads"_a = 1, "single"_a = false)
        .def(
            "rows",
            [](Words& self, Bytes bytes, Input<std::int64_t> offsets, bool learn,
               std::size_t threads, bool single) {
                return self.rows(ArrowStrings<std::int64_t>(bytes, offsets), learn, threads,
                                 single);
            },
            "bytes"_a, "offsets"_a, "learn"_a = false, "threads"_a = 1, "single"_a = false)
        .def(
            "features",
            [](const Words& self, nb::object document, nb::object prepare) {
                nb::list one;
                one.append(document);
                StringList source(one, prepare);
                std::size_t next = 0;
                const std::vector<Document> block = source.block(next);
                nb::list out;
                for (const auto& [name, column] : self.v.explain(block[0])) {
                    nb::object text = nb::steal(PyUnicode_DecodeUTF8(
                        name.data(), static_cast<Py_ssize_t>(name.size()), "surrogatepass"));
                    out.append(nb::make_tuple(text, column));
                }
                return out;
            },
            "document"_a, "prepare"_a = nb::none(),
            "Return the words and n-grams of a document in order; columns of negative sign as "
            "~column.")
        .def(
            "find",
            [](Words& self, std::size_t which, const Input<std::int64_t>& columns) {
                return self.alone([&] {
                    const Range& range = self.v.ranges.at(which);
                    std::vector<std::int64_t> found;
                    for (std::size_t i = 0; i < columns.size(); ++i) {
                        if (columns(i) < 0 || columns(i) >= std::int64_t{self.v.columns().count})
                            throw std::out_of_range("a column is not one of the vectoriser's");
                        const auto column = static_cast<std::uint32_t>(columns(i));
                        found.push_back(range.places ? range.places->find(column) : columns(i));
                    }
                    return give(std::move(found));
                });
            },
            "which"_a, "columns"_a,
            "Return the feature of each column in a range; -1 if it has none.")
        .def(
            "begin", [](Words& self) { self.alone([&] { self.v.begin(); }); },
            "Begin a transaction, which restore() undoes.")
        .def("keep", [](Words& self) { self.alone([&] { self.v.keep(); }); })
        .def("restore", [](Words& self) { self.alone([&] { self.v.restore(); }); })
        .def(
            "prune",
            [](Words& self) {
                self.alone([&] {
                    if (self.v.names) self.v.names->prune();
                });
            },
            "Remove the least frequent names if there are too many.")
        .def_prop_ro("sizes",
                     [](Words& self) {
                         return self.alone([&] {
                             std::vector<std::size_t> sizes;
                             for (const Range& range : self.v.ranges)
                                 sizes.push_back(range.places ? range.places->size()
                                                              : self.v.columns().count);
                             return sizes;
                         });
                     })
        .def("state", &state_of, "Return the state as arrays by name.")
        .def("load_state", &load_state, "state"_a, "most_names"_a = 0,
             "Restore what state() returned; if something does not fit, nothing changes.");
}
