// What a lesson may change, kept as it was: a refused row takes the whole lesson back.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "passes.hpp"

namespace aggro {

/// True if all numbers of an array are.
template <class V>
inline bool all_finite(const V* values, std::size_t size) {
    bool fine = true;
    if constexpr (std::is_floating_point_v<V>)
        for (std::size_t i = 0; i < size; ++i) fine &= std::isfinite(values[i]);
    return fine;
}

template <class T>
inline bool intercepts_fit(const Model<T>& m) {
    return std::all_of(m.bias.begin(), m.bias.end(), [](double b) {
        return std::abs(b) <= static_cast<double>(std::numeric_limits<T>::max());
    });
}

inline constexpr const char* model_overflows =
    "learning these rows makes the model overflow; scale the features or the target";

/// Throws if some number of the model is not finite, or an intercept too large for T.
template <class T>
inline void check_finite(Model<T>& m) {
    bool fine = intercepts_fit(m);
    m.visit([&](const char*, auto* data, std::size_t size) { fine &= all_finite(data, size); });
    if (!fine) throw std::overflow_error(model_overflows);
}

/// The numbers that a lesson may change. A sparse row steps along its own features alone, so that
/// of a large table only their lines are kept; what changes all lines at once announces it
/// (`Model::before_sweep`), and the tables are kept whole just then.
template <class T>
class Undo {
  public:
    Undo(Model<T>& model, const Lesson& lesson) : m(model), lines(lines_of(lesson)) {
        m.visit([&](const char*, auto* data, std::size_t size) {
            const std::size_t width = width_of(data);
            if (width == 0) return keep(rest, data, size);
            for (const std::size_t j : lines) keep(rest, data + j * width, width);
        });
        m.before_sweep = [this] { keep_tables(); };
    }
    Undo(const Undo&) = delete;
    ~Undo() { m.before_sweep = nullptr; }

    /// Puts everything back.
    void restore() {
        const std::byte *from = rest.data(), *table = tables.data();
        m.visit([&](const char*, auto* data, std::size_t size) {
            const std::size_t width = width_of(data);
            if (width == 0) return put(data, size, from);
            if (swept) put(data, size, table);
            for (const std::size_t j : lines) put(data + j * width, width, from);
        });
    }

    /// True if what may have changed are finite numbers, and the intercepts fit into T.
    bool fine() {
        bool fine = intercepts_fit(m);
        m.visit([&](const char*, auto* data, std::size_t size) {
            const std::size_t width = width_of(data);
            if (width == 0 || swept) fine &= all_finite(data, size);
            for (const std::size_t j : lines) fine &= all_finite(data + j * width, width);
        });
        return fine;
    }

  private:
    /// Values for each feature of a table that is kept line by line; 0 for arrays kept whole.
    std::size_t width_of(const void* data) const {
        if (!by_lines || data == nullptr) return 0;
        if (data == m.weights.data()) return m.weights.stride();
        if (data == m.trail.data()) return m.trail.stride();
        if (data == m.sum_rest.data()) return m.sum_rest.stride();
        return data == m.sizes.seen.data() || data == m.sizes.square.data() ? 1 : 0;
    }

    /// True if a step along a sparse row leaves all other features alone.
    bool local() const {
        return m.shape.metric != Metric::full && m.shape.queue <= 1 && m.shape.reservoir == 0 &&
               m.shape.scale != Scale::standard;
    }

    /// The features of the rows, each once; none, and `by_lines` false, if all are to be kept.
    std::vector<std::size_t> lines_of(const Lesson& lesson) {
        std::size_t entries = 0;
        for (std::size_t i = 0; lesson.x.sparse() && i < lesson.count; ++i)
            entries += entries_of(lesson, i).second;
        by_lines = local() && lesson.x.sparse() && entries < m.shape.features;
        if (!by_lines) return {};
        std::vector<std::size_t> found;
        if (lesson.x.wide_indices)
            collect(static_cast<const std::int64_t*>(lesson.x.indices), lesson, found);
        else
            collect(static_cast<const std::int32_t*>(lesson.x.indices), lesson, found);
        return found;
    }

    /// Where the entries of a row begin, and how many there are.
    static std::pair<std::size_t, std::size_t> entries_of(const Lesson& lesson, std::size_t i) {
        const std::size_t r = lesson.row(i);
        const auto begin = static_cast<std::size_t>(lesson.x.start(r));
        return {begin, static_cast<std::size_t>(lesson.x.start(r + 1)) - begin};
    }

    template <class Index>
    void collect(const Index* indices, const Lesson& lesson,
                 std::vector<std::size_t>& found) const {
        for (std::size_t i = 0; i < lesson.count; ++i) {
            const auto [begin, size] = entries_of(lesson, i);
            for (std::size_t k = begin; k < begin + size; ++k)  // a wrong index is refused later
                if (const auto j = static_cast<std::size_t>(indices[k]); j < m.shape.features)
                    found.push_back(j);
        }
        if (found.size() * 64 < m.shape.features) {
            std::sort(found.begin(), found.end());
            found.erase(std::unique(found.begin(), found.end()), found.end());
            return;
        }
        std::vector<bool> known(m.shape.features);
        std::size_t distinct = 0;
        for (const std::size_t j : found) {
            if (!known[j]) found[distinct++] = j;
            known[j] = true;
        }
        found.resize(distinct);
    }

    void keep_tables() {
        if (swept || !by_lines) return;
        swept = true;
        m.visit([&](const char*, auto* data, std::size_t size) {
            if (width_of(data) > 0) keep(tables, data, size);
        });
    }

    template <class V>
    static void keep(std::vector<std::byte>& kept, const V* data, std::size_t size) {
        const auto* bytes = reinterpret_cast<const std::byte*>(data);
        kept.insert(kept.end(), bytes, bytes + size * sizeof(V));
    }

    template <class V>
    static void put(V* data, std::size_t size, const std::byte*& from) {
        if (size > 0) std::memcpy(data, from, size * sizeof(V));
        from += size * sizeof(V);
    }

    Model<T>& m;
    bool by_lines = false, swept = false;
    std::vector<std::size_t> lines;
    std::vector<std::byte> rest, tables;
};

/// Learns a lesson, or throws and leaves the model as it was: of a refused row, of a model that
/// overflows, of memory that runs out. After an interrupt it has learned what came before.
template <class T>
inline void learn_or_undo(Model<T>& m, const Lesson& lesson) {
    Undo<T> undo(m, lesson);
    try {
        learn_all(m, lesson);
        if (!undo.fine()) throw std::overflow_error(model_overflows);
    } catch (const Interrupted&) {
        throw;
    } catch (...) {
        undo.restore();
        throw;
    }
}

}  // namespace aggro
