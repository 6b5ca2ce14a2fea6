// Documents to sparse rows. One pass over a document makes rows of several ranges of n-grams, by
// term frequency and by inverse document frequency.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/threads.hpp"
#include "text/columns.hpp"
#include "text/documents.hpp"
#include "text/names.hpp"
#include "text/tokens.hpp"

namespace aggro::words {

enum class Norm : std::uint8_t { none, l1, l2 };

/// Weighting of the counts of a document.
struct Weighing {
    bool binary = false, sublinear = false;
    Norm norm = Norm::l2;
};

/// A document as bytes; `as_is` if it is lower case already.
struct Document {
    std::string_view text;
    bool as_is = false;
};

/// Rows of one range of n-grams; both kinds of values share the features.
template <class T>
struct Rows {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> features;
    std::vector<T> tf, idf;
};

/// One range of n-grams and the state of its features.
struct Range {
    std::size_t lowest, highest;
    std::optional<Places> places = {};        ///< empty if features are columns
    std::optional<Documents> documents = {};  ///< empty if documents are not counted
};

class Vectoriser {
  public:
    Vectoriser(Analysis analysis, Columns columns, Weighing weighing, bool tf, bool idf)
        : reader_(std::move(analysis)),
          columns_(columns),
          weighing_(weighing),
          tf_(tf),
          idf_(idf) {}

    std::vector<Range> ranges;
    std::optional<Names> names;

    const Columns& columns() const { return columns_; }

    /// Return the rows of some documents, one `Rows` per range. With `learn`, the state is updated
    /// with each document before the document is encoded. The result does not depend on the number
    /// of threads.
    template <class T>
    void rows(const std::vector<Document>& documents, bool learn, std::size_t threads,
              std::vector<Rows<T>>& out) {
        const std::size_t parts = std::clamp<std::size_t>(documents.size() / 64, 1, threads);
        const bool stateless = !learn || (!names && !knows());
        std::vector<std::vector<Rows<T>>> found(parts, std::vector<Rows<T>>(ranges.size()));
        std::vector<Features> read(parts);
        const auto part = [&](std::size_t i, std::size_t&) {
            Workspace space{reader_, {}, {}, {}, {}};
            std::vector<Rows<T>>& to = parts == 1 ? out : found[i];
            for (std::size_t d = documents.size() * i / parts;
                 d < documents.size() * (i + 1) / parts; ++d) {
                space.reader.read(documents[d].text, documents[d].as_is, read[i]);
                if (!stateless && parts > 1) continue;  // the state must be updated in order
                add_all(read[i], 0, learn, space, to);
                if (!stateless) note(read[i]);
                read[i].clear();
            }
        };
        together(parts, parts, part);
        if (parts == 1) return;
        if (stateless) return join(found, out);
        Workspace space{reader_, {}, {}, {}, {}};
        for (const Features& some : read) {
            const std::size_t count = some.ends.size() / lengths();
            for (std::size_t d = 0; d < count; ++d) add_all(some, d, learn, space, out);
            note(some);
        }
    }

    /// Return the distinct features of one document as text, with their columns and signs.
    std::vector<std::pair<std::string, std::int64_t>> explain(const Document& document) const {
        Reader reader = reader_;
        Features found;
        reader.read(document.text, document.as_is, found);
        std::vector<std::pair<std::string, std::int64_t>> out;
        for (const Feature& f : found.all) {
            const std::int64_t column = columns_.of(f.hash);
            out.emplace_back(found.name(f), columns_.negative(f.hash) ? ~column : column);
        }
        return out;
    }

    /// Begin a transaction: changes can be undone until `keep`.
    void begin() {
        sizes_.clear();
        for (Range& range : ranges) {
            sizes_.push_back(range.places ? range.places->size() : 0);
            if (range.documents) range.documents->begin();
        }
        if (names) names->begin();
    }
    void keep() {
        for (Range& range : ranges)
            if (range.documents) range.documents->keep();
        if (names) names->keep();
    }
    void restore() {
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            if (ranges[i].documents) ranges[i].documents->restore();
            if (ranges[i].places) ranges[i].places->shrink(sizes_[i]);
        }
        if (names) names->restore();
    }

  private:
    struct Workspace {
        Reader reader;
        std::vector<std::uint64_t> keys, spare;
        Counted row;
        std::vector<double> seen;  ///< documents with each feature of the row
    };

    void note(const Features& some) {
        if (!names) return;
        for (const Feature& f : some.all) names->note(f.hash, some.name(f));
    }

    std::size_t lengths() const {
        return reader_.analysis().highest - reader_.analysis().lowest + 1;
    }
    bool knows() const {
        for (const Range& range : ranges)
            if (range.places || range.documents) return true;
        return false;
    }

    template <class T>
    static void join(const std::vector<std::vector<Rows<T>>>& parts, std::vector<Rows<T>>& out) {
        const auto append = [](auto& a, const auto& b) { a.insert(a.end(), b.begin(), b.end()); };
        for (const std::vector<Rows<T>>& part : parts)
            for (std::size_t r = 0; r < out.size(); ++r) {
                const std::int64_t base = out[r].starts.back();
                for (std::size_t i = 1; i < part[r].starts.size(); ++i)
                    out[r].starts.push_back(base + part[r].starts[i]);
                append(out[r].features, part[r].features);
                append(out[r].tf, part[r].tf);
                append(out[r].idf, part[r].idf);
            }
    }

    /// Add the rows of document `number` to those of each range.
    template <class T>
    void add_all(const Features& from, std::size_t number, bool learn, Workspace& space,
                 std::vector<Rows<T>>& out) {
        const std::size_t* const ends = from.ends.data() + number * lengths();
        const std::size_t lowest = reader_.analysis().lowest;
        const auto end_of = [&](std::size_t n) { return ends[n - lowest]; };
        const std::size_t begin = number == 0 ? 0 : ends[-1];
        for (std::size_t r = 0; r < ranges.size(); ++r) {
            Range& range = ranges[r];
            const std::size_t first = range.lowest == lowest ? begin : end_of(range.lowest - 1);
            count(from.all.data() + first, from.all.data() + end_of(range.highest), range, learn,
                  space);
            weigh(range, learn, space, out[r]);
        }
    }

    /// Count the features of a range in ascending order: columns, or positions followed by unknown
    /// features.
    void count(const Feature* begin, const Feature* end, Range& range, bool learn,
               Workspace& space) {
        auto& keys = space.keys;
        keys.resize(static_cast<std::size_t>(end - begin));
        std::uint64_t limit = columns_.count;
        std::uint64_t* key = keys.data();
        if (!range.places) {
            for (const Feature* f = begin; f != end; ++f)
                *key++ = std::uint64_t{columns_.of(f->hash)} << 1 | columns_.negative(f->hash);
        } else {
            for (const Feature* f = begin; f != end; ++f)
                *key++ = placed(columns_.of(f->hash), *range.places, learn) << 1 |
                         columns_.negative(f->hash);
            limit = learn ? range.places->size() : 2 * limit;
        }
        sort_keys(keys, space.spare, static_cast<int>(std::bit_width(limit)) + 1);
        Counted& row = space.row;
        row.features.resize(keys.size());
        row.counts.resize(keys.size());
        row.known = 0;
        std::size_t found = 0;
        for (std::size_t i = 0; i < keys.size(); ++found) {
            const std::uint64_t feature = keys[i] >> 1;
            double sum = 0.0;
            for (; i < keys.size() && keys[i] >> 1 == feature; ++i) sum += keys[i] & 1 ? -1.0 : 1.0;
            const bool known = feature < columns_.count;
            row.features[found] = known ? static_cast<std::int32_t>(feature) : Places::nowhere;
            row.counts[found] = sum;
            row.known += known;
        }
        row.features.resize(found);
        row.counts.resize(found);
    }

    /// Return the position of a column; beyond all positions if it has none.
    std::uint64_t placed(std::uint32_t column, Places& places, bool learn) const {
        const std::int32_t place = learn ? places.place(column) : places.find(column);
        return place != Places::nowhere ? static_cast<std::uint64_t>(place)
                                        : std::uint64_t{columns_.count} + column;
    }

    template <class T>
    void weigh(Range& range, bool learn, Workspace& space, Rows<T>& out) {
        Counted& row = space.row;
        if (range.documents) {
            Documents& documents = *range.documents;
            if (learn) {
                documents.grow(range.places ? range.places->size() : columns_.count);
                documents.count(row.features);
            }
            space.seen.resize(row.features.size());
            for (std::size_t i = 0; i < row.features.size(); ++i)
                space.seen[i] = documents.of(row.features[i]);
            if (documents.bounded()) drop_rare_and_frequent(documents, space);
        }
        if (weighing_.binary) std::fill(row.counts.begin(), row.counts.end(), 1.0);
        if (weighing_.sublinear)
            for (double& count : row.counts)
                if (count != 0.0) count = std::copysign(1.0 + std::log(std::abs(count)), count);
        out.features.insert(out.features.end(), row.features.begin(),
                            row.features.begin() + static_cast<std::ptrdiff_t>(row.known));
        out.starts.push_back(static_cast<std::int64_t>(out.features.size()));
        if (tf_) add_values(row.counts, row.known, out.tf);
        if (!idf_) return;
        for (std::size_t i = 0; i < row.counts.size(); ++i)
            row.counts[i] *= range.documents->idf(space.seen[i]);
        add_values(row.counts, row.known, out.idf);
    }

    static void drop_rare_and_frequent(const Documents& documents, Workspace& space) {
        Counted& row = space.row;
        std::size_t kept = 0, known = 0;
        for (std::size_t i = 0; i < row.features.size(); ++i) {
            if (!documents.keeps(space.seen[i])) continue;
            known += i < row.known;
            row.features[kept] = row.features[i];
            row.counts[kept] = row.counts[i];
            space.seen[kept++] = space.seen[i];
        }
        row.features.resize(kept);
        row.counts.resize(kept);
        row.known = known;
    }

    /// Scale a row to unit length. Features without a position count in the length.
    template <class T>
    void add_values(const std::vector<double>& counts, std::size_t known,
                    std::vector<T>& out) const {
        double size = 0.0;
        if (weighing_.norm == Norm::l2) {
            for (const double count : counts) size += count * count;
            size = std::sqrt(size);
        } else if (weighing_.norm == Norm::l1) {
            for (const double count : counts) size += std::abs(count);
        }
        if (size == 0.0) size = 1.0;
        const std::size_t old = out.size();
        out.resize(old + known);
        for (std::size_t i = 0; i < known; ++i) out[old + i] = static_cast<T>(counts[i] / size);
    }

    Reader reader_;
    Columns columns_;
    Weighing weighing_;
    bool tf_, idf_;
    std::vector<std::size_t> sizes_;
};

extern template void Vectoriser::rows(const std::vector<Document>&, bool, std::size_t,
                                      std::vector<Rows<float>>&);
extern template void Vectoriser::rows(const std::vector<Document>&, bool, std::size_t,
                                      std::vector<Rows<double>>&);

}  // namespace aggro::words
