// Documents to sparse rows for Python. Strings are taken in blocks of about a mebibyte; the rest
// runs without the interpreter's lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <shared_mutex>
#include <string>

#include "text/utf8.hpp"
#include "words/vectoriser.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro::words;

namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::size_t longest = std::size_t{1} << 31;  // of one document, in bytes

template <class T>
nb::object give(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

[[noreturn]] void refuse(std::size_t row, const std::string& why) {
    throw nb::value_error(("document " + std::to_string(row) + " " + why).c_str());
}

/// Tells the core about all characters, the first time that a document needs it.
void need_letters(std::string_view text) {
    if (!letters().known() && !is_ascii(text))
        nb::module_::import_("aggro.text.alphabet").attr("tell")();
}

nb::object encoded(nb::handle text) {
    PyObject* bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass");
    if (!bytes) throw nb::python_error();
    return nb::steal(bytes);
}

std::string_view view_of(nb::handle bytes) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) < 0) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
}

void check_text(std::string_view text, std::size_t row) {
    if (!aggro::text::is_utf8(text.data(), text.data() + text.size()))
        refuse(row, "is not valid UTF-8; decode it, or give encoding= and decode_error=");
    if (text.size() >= longest) refuse(row, "has more than 2 GiB; cut it");
}

/// Python's strings, of which every one is looked at before any is read.
class Listed {
  public:
    Listed(nb::list documents, nb::object prepare)
        : documents_(std::move(documents)), prepare_(std::move(prepare)) {
        for (std::size_t i = 0; i < count(); ++i) {
            const nb::handle each = documents_[i];
            if (PyBytes_Check(each.ptr()))
                check_text(view_of(each), i);
            else if (!PyUnicode_Check(each.ptr()))
                refuse(i, "is " + shown(each) + "; expected a string");
        }
    }

    std::size_t count() const { return documents_.size(); }

    /// The documents from `next` on, at least one, until there is enough for a block.
    std::vector<Document> block(std::size_t& next) {
        held_.clear();
        std::vector<Document> found;
        for (std::size_t size = 0; next < count() && size < block_bytes; ++next) {
            const nb::object each = nb::borrow(documents_[next]);
            const bool bytes = PyBytes_Check(each.ptr());
            if (!bytes && !PyUnicode_Check(each.ptr())) refuse(next, "has changed meanwhile");
            std::string_view text = hold(each, bytes);
            bool as_is = false;
            if (!prepare_.is_none() && !is_ascii(text)) {
                const nb::object prepared = prepare_(bytes ? each.attr("decode")() : each);
                text = hold(prepared, false);
                as_is = true;
            }
            if (text.size() >= longest) refuse(next, "has more than 2 GiB; cut it");
            need_letters(text);
            found.push_back({text, as_is});
            size += text.size();
        }
        return found;
    }

  private:
    /// The bytes of a document, which live as long as the block. Python keeps the UTF-8 of a string
    /// with it, and that of ASCII is the string itself: nothing is copied.
    std::string_view hold(const nb::object& document, bool bytes) {
        held_.push_back(document);
        if (bytes) return view_of(document);
        Py_ssize_t size = 0;
        if (const char* data = PyUnicode_AsUTF8AndSize(document.ptr(), &size))
            return {data, static_cast<std::size_t>(size)};
        PyErr_Clear();  // lone surrogates
        held_.push_back(encoded(document));
        return view_of(held_.back());
    }

    static std::string shown(nb::handle value) {
        const std::string text = nb::cast<std::string>(nb::repr(value));
        return text.size() <= 60 ? text : text.substr(0, 60) + "...";
    }

    nb::list documents_;
    nb::object prepare_;
    std::vector<nb::object> held_;
};

/// Strings as Arrow lays them out.
template <class Offset>
class Laid {
  public:
    /// `any`: bytes that need not be UTF-8.
    Laid(Bytes bytes, Input<Offset> offsets, bool any = false)
        : bytes_(std::move(bytes)), offsets_(std::move(offsets)) {
        for (std::size_t i = 0; i < count(); ++i) {
            const auto begin = offsets_(i), end = offsets_(i + 1);
            if (begin < 0 || begin > end || static_cast<std::size_t>(end) > bytes_.size())
                throw nb::value_error("offsets must not decrease, nor reach beyond the bytes");
            if (!any) check_text(at(i), i);
        }
    }

    std::size_t count() const { return offsets_.size() == 0 ? 0 : offsets_.size() - 1; }

    std::vector<Document> block(std::size_t& next) {
        std::vector<Document> found;
        for (std::size_t size = 0; next < count() && size < block_bytes; ++next) {
            need_letters(at(next));
            found.push_back({at(next)});
            size += found.back().text.size();
        }
        return found;
    }

    std::string_view at(std::size_t i) const {
        return {reinterpret_cast<const char*>(bytes_.data()) + offsets_(i),
                static_cast<std::size_t>(offsets_(i + 1) - offsets_(i))};
    }

  private:
    Bytes bytes_;
    Input<Offset> offsets_;
};

/// A vectoriser behind its lock: one thread learns, or several look.
class Words {
  public:
    explicit Words(Vectoriser vectoriser) : v(std::move(vectoriser)) {}

    template <class T, class Source>
    nb::list rows(Source&& source, bool learn, std::size_t threads) {
        std::vector<Rows<T>> all(v.ranges.size());
        bool reserved = false;
        for (std::size_t next = 0; next < source.count();) {
            const std::vector<Document> block = source.block(next);
            const nb::gil_scoped_release unlocked;
            locked(learn, [&] { v.rows<T>(block, learn, threads, all); });
            if (!reserved) reserve(all, next, source.count());
            reserved = true;
        }
        nb::list out;
        for (Rows<T>& each : all)
            out.append(nb::make_tuple(give(std::move(each.starts)), give(std::move(each.features)),
                                      give(std::move(each.tf)), give(std::move(each.idf))));
        return out;
    }

    template <class Source>
    nb::list rows(Source&& source, bool learn, std::size_t threads, bool single) {
        return single ? rows<float>(source, learn, threads) : rows<double>(source, learn, threads);
    }

    /// Waits for the lock without holding the interpreter's.
    template <class Work>
    auto alone(Work&& work) {
        std::unique_lock lock(mutex_, std::defer_lock);
        if (!lock.try_lock()) {
            const nb::gil_scoped_release unlocked;
            lock.lock();
        }
        return work();
    }

    Vectoriser v;

  private:
    template <class Work>
    void locked(bool learn, Work&& work) {
        if (learn) {
            const std::unique_lock lock(mutex_);
            work();
        } else {
            const std::shared_lock lock(mutex_);
            work();
        }
    }

    /// Makes room for all documents, by what the first have needed.
    template <class T>
    static void reserve(std::vector<Rows<T>>& all, std::size_t done, std::size_t count) {
        for (Rows<T>& rows : all) {
            const std::size_t size = (rows.features.size() / done + 1) * (count + count / 16);
            rows.features.reserve(size);
            rows.starts.reserve(count + 1);
            if (!rows.tf.empty()) rows.tf.reserve(size);
            if (!rows.idf.empty()) rows.idf.reserve(size);
        }
    }

    std::shared_mutex mutex_;
};

// -- what is known, as arrays
// ----------------------------------------------------------------------

nb::dict state_of(Words& self) {
    return self.alone([&] {
        nb::dict state;
        for (std::size_t r = 0; r < self.v.ranges.size(); ++r) {
            const Range& range = self.v.ranges[r];
            const auto key = [&](const char* name) { return name + std::to_string(r); };
            if (range.places) state[key("columns_").c_str()] = give(range.places->columns());
            if (range.documents) {
                const Documents& d = *range.documents;
                state[key("documents_").c_str()] = give(std::vector{d.total, d.emphasis});
                state[key("with_").c_str()] = give(d.with);
            }
        }
        if (self.v.names) {
            std::vector<std::uint8_t> text;
            std::vector<std::int64_t> ends, counts;
            for (const Names::Entry& entry : self.v.names->entries()) {
                const std::string_view name = self.v.names->name(entry);
                text.insert(text.end(), name.begin(), name.end());
                ends.push_back(static_cast<std::int64_t>(text.size()));
                counts.push_back(entry.count);
            }
            state["names"] = give(std::move(text));
            state["name_ends"] = give(std::move(ends));
            state["name_counts"] = give(std::move(counts));
        }
        return state;
    });
}

template <class T>
Input<T> part(const nb::dict& state, const std::string& name) {
    if (!state.contains(name.c_str())) throw nb::key_error(name.c_str());
    return nb::cast<Input<T>>(state[name.c_str()]);
}

void load_range(Range& range, const std::string& number, const nb::dict& state,
                std::uint32_t columns) {
    std::size_t features = columns;
    if (range.places) {
        const auto met = part<std::int32_t>(state, "columns_" + number);
        Places places(columns);
        for (std::size_t i = 0; i < met.size(); ++i) {
            const auto column = static_cast<std::uint32_t>(met(i));
            if (met(i) < 0 || column >= columns || places.find(column) != Places::nowhere)
                throw nb::value_error("the columns of the vectoriser are not columns, once each");
            places.place(column);
        }
        features = places.size();
        range.places = std::move(places);
    }
    if (!range.documents) return;
    const auto totals = part<double>(state, "documents_" + number);
    const auto with = part<double>(state, "with_" + number);
    bool fits = totals.size() == 2 && with.size() <= features && totals(0) >= 0 && totals(1) >= 1 &&
                std::isfinite(totals(0)) && std::isfinite(totals(1));
    for (std::size_t i = 0; fits && i < with.size(); ++i)
        fits = with(i) >= 0 && with(i) <= totals(0);
    if (!fits) throw nb::value_error("the documents of the vectoriser are not counts");
    range.documents->total = totals(0);
    range.documents->emphasis = totals(1);
    range.documents->with.assign(with.data(), with.data() + with.size());
}

void load_names(Names& names, const nb::dict& state) {
    const auto text = part<std::uint8_t>(state, "names");
    const auto ends = part<std::int64_t>(state, "name_ends"),
               counts = part<std::int64_t>(state, "name_counts");
    if (ends.size() != counts.size())
        throw nb::value_error("the names of the vectoriser do not fit together");
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const bool fits = ends(i) >= begin && static_cast<std::size_t>(ends(i)) <= text.size() &&
                          counts(i) > 0 && counts(i) < (std::int64_t{1} << 32);
        if (!fits) throw nb::value_error("the names of the vectoriser do not fit together");
        const std::string_view name(reinterpret_cast<const char*>(text.data()) + begin,
                                    static_cast<std::size_t>(ends(i) - begin));
        names.note(aggro::murmur3(name, 0), name, static_cast<std::uint32_t>(counts(i)));
        begin = ends(i);
    }
}

void load_state(Words& self, const nb::dict& state, std::size_t most_names) {
    self.alone([&] {
        std::vector<Range> ranges = self.v.ranges;
        for (std::size_t r = 0; r < ranges.size(); ++r)
            load_range(ranges[r], std::to_string(r), state, self.v.columns().count);
        if (self.v.names) {
            Names names(most_names);
            load_names(names, state);
            self.v.names = std::move(names);
        }
        self.v.ranges = std::move(ranges);
    });
}

Vectoriser make(const nb::dict& how) {
    const auto flag = [&](const char* name) { return nb::cast<bool>(how[name]); };
    const auto number = [&](const char* name) { return nb::cast<std::size_t>(how[name]); };
    const auto text = [&](const char* name) { return nb::cast<std::string>(how[name]); };
    const auto bound = [&](const char* name) {
        const auto [value, share] = nb::cast<std::pair<double, bool>>(how[name]);
        return Bound{value, share};
    };
    Analysis a;
    const std::string analyzer = text("analyzer"), norm = text("norm");
    a.analyzer = analyzer == "word"   ? Analyzer::word
                 : analyzer == "char" ? Analyzer::character
                                      : Analyzer::character_in_words;
    a.lowercase = flag("lowercase");
    a.split_at_spaces = flag("split_at_spaces");
    a.shortest = number("shortest");
    std::vector<std::string> stops;
    for (const nb::handle stop : nb::cast<nb::list>(how["stop_words"]))
        stops.emplace_back(view_of(encoded(stop)));
    a.stop_words = StopWords(std::move(stops));
    const auto ranges = nb::cast<Ranges>(how["ranges"]);
    a.lowest = ranges.front().first, a.highest = ranges.front().second;
    for (const auto& [lowest, highest] : ranges) {
        a.lowest = std::min(a.lowest, lowest);
        a.highest = std::max(a.highest, highest);
    }
    const Columns columns{static_cast<std::uint32_t>(number("n_features")), flag("alternate_sign")};
    const Weighing weighing{flag("binary"), flag("sublinear_tf"),
                            norm == "l2"   ? Norm::l2
                            : norm == "l1" ? Norm::l1
                                           : Norm::none};
    Vectoriser made(std::move(a), columns, weighing, flag("tf"), flag("idf"));
    for (const auto& [lowest, highest] : ranges) {
        Range range{lowest, highest};
        if (flag("compact")) range.places.emplace(columns.count);
        if (flag("counted"))
            range.documents.emplace(nb::cast<double>(how["forgetting"]), bound("min_df"),
                                    bound("max_df"));
        made.ranges.push_back(std::move(range));
    }
    if (number("most_names") > 0) made.names.emplace(number("most_names"));
    return made;
}

}  // namespace

void bind_vectorise(nb::module_& m) {
    m.def(
        "tell_letters",
        [](const Bytes& kinds, const Input<std::uint32_t>& lower) {
            if (letters().known()) return;  // another thread was first, and may be reading
            if (kinds.size() != end_of_unicode)
                throw nb::value_error("every character has its kind");
            for (std::size_t c = 0; c < kinds.size(); ++c)
                if (kinds(c) & capital && c >= lower.size())
                    throw nb::value_error("every capital has its lower case");
            letters().tell({kinds.data(), kinds.data() + kinds.size()},
                           {lower.data(), lower.data() + lower.size()});
        },
        "kinds"_a, "lower"_a, "Tell what all characters are (see aggro.text.alphabet).");
    m.def(
        "check_texts", [](nb::list documents) { Listed(std::move(documents), nb::none()); },
        "documents"_a, "Raise unless all are strings, or bytes of UTF-8; the message names one.");
    m.def(
        "check_texts",
        [](Bytes bytes, Input<std::int64_t> offsets) {
            Laid<std::int64_t>(std::move(bytes), std::move(offsets));
        },
        "bytes"_a, "offsets"_a);
    m.def(
        "murmur3",
        [](const Bytes& bytes, const Input<std::int64_t>& offsets) {
            const Laid<std::int64_t> names(bytes, offsets, true);
            std::vector<std::int32_t> hashes;
            for (std::size_t i = 0; i < names.count(); ++i)
                hashes.push_back(static_cast<std::int32_t>(aggro::murmur3(names.at(i), 0)));
            return give(std::move(hashes));
        },
        "bytes"_a, "offsets"_a, "The hash of every string of an Arrow column, with a sign.");
    nb::class_<Words>(m, "Words", "Documents to sparse rows of hashed words.")
        .def(
            "__init__", [](Words* self, const nb::dict& how) { new (self) Words(make(how)); },
            "how"_a, "Every option by name; aggro.text.options checks them.")
        .def(
            "rows",
            [](Words& self, nb::list documents, bool learn, std::size_t threads, bool single,
               nb::object prepare) {
                return self.rows(Listed(std::move(documents), std::move(prepare)), learn, threads,
                                 single);
            },
            "documents"_a, "learn"_a = false, "threads"_a = 1, "single"_a = false,
            "prepare"_a = nb::none(),
            "indptr, indices, values by term frequency and by idf, for each range of n-grams.")
        .def(
            "rows",
            [](Words& self, Bytes bytes, Input<std::int32_t> offsets, bool learn,
               std::size_t threads, bool single) {
                return self.rows(Laid<std::int32_t>(bytes, offsets), learn, threads, single);
            },
            "bytes"_a, "offsets"_a, "learn"_a = false, "threads"_a = 1, "single"_a = false)
        .def(
            "rows",
            [](Words& self, Bytes bytes, Input<std::int64_t> offsets, bool learn,
               std::size_t threads, bool single) {
                return self.rows(Laid<std::int64_t>(bytes, offsets), learn, threads, single);
            },
            "bytes"_a, "offsets"_a, "learn"_a = false, "threads"_a = 1, "single"_a = false)
        .def(
            "features",
            [](const Words& self, nb::object document, nb::object prepare) {
                nb::list one;
                one.append(document);
                Listed source(one, prepare);
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
            "Words and n-grams of a document as they come; columns of negative sign as ~column.")
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
            "which"_a, "columns"_a, "The feature of each column in a range; -1 if it has none.")
        .def(
            "begin", [](Words& self) { self.alone([&] { self.v.begin(); }); },
            "From here on, what is learned can be taken back by restore().")
        .def("keep", [](Words& self) { self.alone([&] { self.v.keep(); }); })
        .def("restore", [](Words& self) { self.alone([&] { self.v.restore(); }); })
        .def(
            "prune",
            [](Words& self) {
                self.alone([&] {
                    if (self.v.names) self.v.names->prune();
                });
            },
            "Forget the names used least, where there are too many.")
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
        .def("state", &state_of, "All that is known, as arrays by name.")
        .def("load_state", &load_state, "state"_a, "most_names"_a = 0,
             "Put back what state() gave; if something does not fit, nothing is changed.");
}
