// A vectoriser with its lock, and its state as arrays.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <shared_mutex>
#include <string>

#include "documents.hpp"
#include "named_array.hpp"

namespace aggro::words {

/// A vectoriser with its lock: one thread learns, or several read.
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

    /// Lock; release the GIL while waiting.
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

    /// Reserve memory for all documents, estimated from the first ones.
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

inline nb::dict state_of(Words& self) {
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
    return array_of<Input<T>>(state, name.c_str());
}

inline void load_range(Range& range, const std::string& number, const nb::dict& state,
                       std::uint32_t columns) {
    std::size_t features = columns;
    if (range.places) {
        const auto met = part<std::int32_t>(state, "columns_" + number);
        Places places(columns);
        for (std::size_t i = 0; i < met.size(); ++i) {
            const auto column = static_cast<std::uint32_t>(met(i));
            if (met(i) < 0 || column >= columns || places.find(column) != Places::nowhere)
                throw nb::value_error("the columns of the vectoriser must be distinct columns");
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
    if (!fits) throw nb::value_error("the document counts of the vectoriser are out of range");
    range.documents->total = totals(0);
    range.documents->emphasis = totals(1);
    range.documents->with.assign(with.data(), with.data() + with.size());
}

inline void load_names(Names& names, const nb::dict& state) {
    const auto text = part<std::uint8_t>(state, "names");
    const auto ends = part<std::int64_t>(state, "name_ends"),
               counts = part<std::int64_t>(state, "name_counts");
    if (ends.size() != counts.size())
        throw nb::value_error("the names of the vectoriser are inconsistent");
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const bool fits = ends(i) >= begin && static_cast<std::size_t>(ends(i)) <= text.size() &&
                          counts(i) > 0 && counts(i) < (std::int64_t{1} << 32);
        if (!fits) throw nb::value_error("the names of the vectoriser are inconsistent");
        const std::string_view name(reinterpret_cast<const char*>(text.data()) + begin,
                                    static_cast<std::size_t>(ends(i) - begin));
        names.note(aggro::murmur3(name, 0), name, static_cast<std::uint32_t>(counts(i)));
        begin = ends(i);
    }
}

inline void load_state(Words& self, const nb::dict& state, std::size_t most_names) {
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

inline Vectoriser make(const nb::dict& how) {
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
    const auto ranges = nb::cast<std::vector<std::pair<std::size_t, std::size_t>>>(how["ranges"]);
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

}  // namespace aggro::words
