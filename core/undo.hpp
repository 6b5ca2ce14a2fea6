// What a model was before a lesson, to go back to when a row is refused.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "passes.hpp"

namespace aggro {

/// True if a step changes weights of features that its row does not have.
template <class T>
inline bool spreads_out(const Model<T>& m) {
    return m.shape.metric == Metric::full || m.shape.queue > 1 || m.shape.reservoir > 0 ||
           m.shape.sums > 0 || m.shape.scale == Scale::standard;
}

/// The features of the rows of a lesson, each once.
inline std::vector<std::size_t> features_of(const Lesson& lesson) {
    std::vector<std::size_t> features;
    const Matrix& x = lesson.x;
    for (std::size_t i = 0; i < lesson.count; ++i) {
        const std::size_t r = lesson.row(i);
        for (auto k = x.start(r); k < x.start(r + 1); ++k) {
            const std::int64_t j = x.wide_indices ? static_cast<const std::int64_t*>(x.indices)[k]
                                                  : static_cast<const std::int32_t*>(x.indices)[k];
            if (j >= 0 && static_cast<std::size_t>(j) < x.features)
                features.push_back(static_cast<std::size_t>(j));
        }
    }
    std::sort(features.begin(), features.end());
    features.erase(std::unique(features.begin(), features.end()), features.end());
    return features;
}

/// A copy of one model: all of it, or of its long arrays only the lines of some features.
template <class T>
class Copy {
  public:
    Copy(Model<T>& m, const std::vector<std::size_t>* some)
        : groups(m.groups), width(m.shape.features) {
        if (some) features = *some, by_line = true;
        move(m, [&](std::byte* data, std::size_t size) {
            kept.insert(kept.end(), data, data + size);
        });
    }

    void restore(Model<T>& m) const {
        if (m.shape.features != width) throw std::invalid_argument("the model has grown since");
        const std::byte* from = kept.data();
        move(m, [&](std::byte* data, std::size_t size) {
            if (size > 0) std::memcpy(data, from, size);
            from += size;
        });
        m.groups = groups;
    }

  private:
    template <class Piece>
    void move(Model<T>& m, Piece&& piece) const {
        const auto long_arrays = m.by_feature();
        m.visit([&](const char*, auto* data, std::size_t size) {
            auto* bytes = reinterpret_cast<std::byte*>(data);
            const auto found = std::find(long_arrays.begin(), long_arrays.end(), data);
            if (!by_line || size == 0 || found == long_arrays.end())
                return piece(bytes, size * sizeof(*data));
            const std::size_t line = size / m.shape.features * sizeof(*data);
            for (const std::size_t j : features) piece(bytes + j * line, line);
        });
    }

    std::vector<Group> groups;
    std::size_t width;
    std::vector<std::size_t> features;
    bool by_line = false;
    std::vector<std::byte> kept;
};

/// What several models were before a lesson. It costs what the rows of the lesson cost, never what
/// the models weigh: nothing is kept when a look at the rows shows that none can be refused, and
/// of a wide model only what sparse rows can change.
template <class T>
class Before {
  public:
    using Models = std::vector<Model<T>*>;

    Before(const Models& models, const Lesson& lesson) {
        std::size_t weights = 0;
        for (const Model<T>* m : models) weights += m->weights.size();
        if (!lesson.undo) return;
        const bool few = lesson.x.stored() < weights;
        if (few && harmless<T>(lesson)) return;
        std::vector<std::size_t> features;
        if (few && lesson.x.sparse()) features = features_of(lesson);
        for (Model<T>* m : models)
            copies.emplace_back(*m,
                                few && lesson.x.sparse() && !spreads_out(*m) ? &features : nullptr);
    }

    void restore(const Models& models) const {
        for (std::size_t i = 0; i < copies.size(); ++i) copies[i].restore(*models[i]);
    }

  private:
    std::vector<Copy<T>> copies;
};

}  // namespace aggro
