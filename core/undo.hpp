// What a lesson may change, kept as it was: a refused row takes the whole lesson back.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "passes.hpp"

namespace aggro {

/// The features of the rows of a lesson, each once. `few` says that they are few beside the
/// features of the matrix: only then it pays to look at them one by one.
class Touched {
  public:
    explicit Touched(const Lesson& lesson) {
        std::size_t entries = 0;
        for (std::size_t i = 0; lesson.x.sparse() && i < lesson.count; ++i)
            entries += entries_of(lesson, i).second;
        few = lesson.x.sparse() && entries < lesson.x.features;
        if (!few) return;
        features.reserve(entries);
        if (lesson.x.wide_indices)
            collect(static_cast<const std::int64_t*>(lesson.x.indices), lesson);
        else
            collect(static_cast<const std::int32_t*>(lesson.x.indices), lesson);
    }

    bool few = false;
    std::vector<std::size_t> features;

  private:
    /// Where the entries of a row begin, and how many there are.
    static std::pair<std::size_t, std::size_t> entries_of(const Lesson& lesson, std::size_t i) {
        const std::size_t r = lesson.row(i);
        const auto begin = static_cast<std::size_t>(lesson.x.start(r));
        return {begin, static_cast<std::size_t>(lesson.x.start(r + 1)) - begin};
    }

    template <class Index>
    void collect(const Index* indices, const Lesson& lesson) {
        for (std::size_t i = 0; i < lesson.count; ++i) {
            const auto [begin, size] = entries_of(lesson, i);
            for (std::size_t k = begin; k < begin + size; ++k)  // a wrong index is refused later
                if (const auto j = static_cast<std::size_t>(indices[k]); j < lesson.x.features)
                    features.push_back(j);
        }
        if (features.size() * 64 < lesson.x.features) {
            std::sort(features.begin(), features.end());
            features.erase(std::unique(features.begin(), features.end()), features.end());
            return;
        }
        std::vector<bool> known(lesson.x.features);
        std::size_t distinct = 0;
        for (const std::size_t j : features) {
            if (!known[j]) features[distinct++] = j;
            known[j] = true;
        }
        features.resize(distinct);
    }
};

/// Walks over the arrays of a model that a lesson may change, piece by piece. A sparse row steps
/// along its own features alone, so that of a long table only their lines are visited; where a
/// step reaches further, all arrays are visited whole.
template <class T, class Piece>
inline void visit_touched(Model<T>& m, const Touched& touched, Piece&& piece) {
    const bool lines = touched.few && m.steps_stay_local();
    const auto tables = m.by_feature();
    m.visit([&](const char*, auto* data, std::size_t size) {
        const bool table = std::find(tables.begin(), tables.end(), data) != tables.end();
        if (!lines || size == 0 || !table) return piece(data, size);
        const std::size_t width = size / m.shape.features;
        for (const std::size_t j : touched.features) piece(data + j * width, width);
    });
}

/// True if the intercepts fit into T and what the lesson may have changed are finite numbers.
template <class T>
inline bool is_finite(Model<T>& m, const Touched& touched) {
    bool fine = true;
    for (const double b : m.bias) fine &= std::abs(b) <= std::numeric_limits<T>::max();
    visit_touched(m, touched, [&](const auto* data, std::size_t size) {
        if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(*data)>>)
            for (std::size_t i = 0; i < size; ++i) fine &= std::isfinite(data[i]);
    });
    return fine;
}

/// What one model was before a lesson. What changes all lines of a table at once announces it
/// (`Model::before_sweep`), and the tables are kept whole just then.
template <class T>
class Undo {
  public:
    Undo(Model<T>& model, const Touched& known)
        : m(model), touched(known), groups(model.groups), width(model.shape.features) {
        visit_touched(m, touched, [&](const auto* data, std::size_t size) { keep(data, size); });
        m.before_sweep = [this] { keep_all(); };
    }
    Undo(const Undo&) = delete;
    ~Undo() { m.before_sweep = nullptr; }

    void restore() {
        if (m.shape.features != width) throw std::invalid_argument("the model has grown since");
        const std::byte* from = kept.data() + kept.size();
        if (swept > 0) {
            from -= swept;
            const std::byte* whole = from;
            m.visit([&](const char*, auto* data, std::size_t size) { put(data, size, whole); });
        }
        from = kept.data();
        visit_touched(m, touched, [&](auto* data, std::size_t size) { put(data, size, from); });
        m.groups = groups;
    }

  private:
    template <class V>
    void keep(const V* data, std::size_t size) {
        const auto* bytes = reinterpret_cast<const std::byte*>(data);
        kept.insert(kept.end(), bytes, bytes + size * sizeof(V));
    }

    void keep_all() {
        if (swept > 0) return;
        const std::size_t before = kept.size();
        m.visit([&](const char*, const auto* data, std::size_t size) { keep(data, size); });
        swept = kept.size() - before;
    }

    template <class V>
    static void put(V* data, std::size_t size, const std::byte*& from) {
        if (size > 0) std::memcpy(data, from, size * sizeof(V));
        from += size * sizeof(V);
    }

    Model<T>& m;
    const Touched& touched;
    std::vector<Group> groups;
    std::size_t width;
    std::vector<std::byte> kept;
    std::size_t swept = 0;  ///< bytes of all arrays as they were before the first sweep
};

/// What several models were before a lesson. It costs what the rows of the lesson cost, never what
/// the models weigh.
template <class T>
class Before {
  public:
    using Models = std::vector<Model<T>*>;

    Before(Models all, const Lesson& lesson)
        : models(std::move(all)), touched(std::make_unique<Touched>(lesson)) {
        for (Model<T>* m : models)
            if (lesson.undo) undo.push_back(std::make_unique<Undo<T>>(*m, *touched));
    }

    void restore() const {
        for (const auto& one : undo) one->restore();
    }

    /// Throws if the lesson has made a model overflow.
    void check() const {
        for (Model<T>* m : models)
            if (!is_finite(*m, *touched))
                throw BadExample(
                    "learning these rows makes the model overflow; scale the features or the "
                    "target");
    }

  private:
    Models models;
    std::unique_ptr<Touched> touched;  // where it is: the undo of each model points to it
    std::vector<std::unique_ptr<Undo<T>>> undo;
};

}  // namespace aggro
