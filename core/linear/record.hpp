// Who would have been right: the progressive record of models that learn side by side.
#pragma once
#include <algorithm>
#include <cmath>

#include "linear/model.hpp"

namespace aggro {

/// True if the model whose `each` groups begin with `first` predicts the wrong class, or some wrong
/// label, with these scores.
template <class T>
inline bool wrong_vote(const Model<T>& m, const double* scores, std::size_t first, std::size_t each,
                       const Target& y) {
    const Group& g = m.groups[first];
    const double* mine = scores + g.first;
    if (gives_value(g.task)) return false;
    if (picks_class(g.task)) return std::max_element(mine, mine + g.count) - mine != y.label;
    if (m.shape.vote == Vote::argmax) return std::max_element(mine, mine + each) - mine != y.label;
    bool wrong = false;  // and no early end: a branch could not be foretold
    for (std::size_t k = 0; k < each; ++k)
        wrong |= (mine[k] > 0) != (y.sign(m.groups[first + k].positive) > 0);
    return wrong;
}

/// How far that model is from the targets, for regression.
template <class T>
inline double distance(const Model<T>& m, const double* scores, std::size_t first, std::size_t each,
                       const Target& y) {
    double sum = 0;
    for (std::size_t k = first; k < first + each; ++k)
        sum += std::abs(y.values[m.groups[k].positive] - scores[m.groups[k].first]);
    return sum;
}

/// The model with the best recent record: fewest mistakes, then least loss.
inline std::size_t best_record(const Record& r) {
    std::size_t best = 0;
    double mistakes = r.recent_mistakes[0], loss = r.recent_loss[0];
    for (std::size_t i = 1; i < r.mistakes.size(); ++i) {
        if (r.recent_mistakes[i] > mistakes) continue;
        if (r.recent_mistakes[i] == mistakes && !(r.recent_loss[i] < loss)) continue;
        best = i;
        mistakes = r.recent_mistakes[i];
        loss = r.recent_loss[i];
    }
    return best;
}

/// The same for a model that knows one of two classes. A score of zero speaks for the first class,
/// and which one that is will be known when the second class comes; the two records differ by these
/// ties, and so may the models that they choose.
template <class T>
inline void write_turned(Model<T>& m, const double* scores, const Target& y) {
    Record& r = m.turned;
    r.begin(m.memory);
    r.recent_loss = m.record.recent_loss;
    const std::size_t chosen = m.shape.models > 1 ? best_record(r) : 0;
    for (std::size_t i = 0; i < m.shape.models; ++i) {
        const bool wrong = scores[m.groups[i].first] != 0 && wrong_vote(m, scores, i, 1, y);
        r.mistakes[i] += wrong;
        r.recent_mistakes[i] += wrong;
        if (i == chosen) r.chosen_mistakes += wrong;
    }
}

/// Writes one example into the record, judged by the scores of the predictor before it is learned.
template <class T>
inline void write_record(Model<T>& m, const double* scores, const Target& y) {
    Record& r = m.record;
    r.begin(m.memory);
    if (m.shape.one_class) write_turned(m, scores, y);
    const bool regression = gives_value(m.groups[0].task);
    const std::size_t chosen = m.shape.models > 1 ? best_record(r) : 0;
    const std::size_t each = m.groups_per_model();
    for (std::size_t i = 0; i < m.shape.models; ++i) {
        const bool wrong = wrong_vote(m, scores, i * each, each, y);
        r.mistakes[i] += wrong;
        r.recent_mistakes[i] += wrong;
        if (i == chosen) r.chosen_mistakes += wrong;
        if (!regression) continue;
        const double error = distance(m, scores, i * each, each, y);
        r.recent_loss[i] += error;
        if (i == chosen) r.chosen_error += error;
    }
}

/// Adds the losses of the groups, judged by their last weights, to the records of their models.
template <class T>
inline void add_losses(Model<T>& m, const double* losses) {
    if (gives_value(m.groups[0].task)) return;  // told by the distance already
    const std::size_t models = m.shape.models, each = m.groups_per_model();
    for (std::size_t i = 0, g = 0; i < models; ++i)
        for (std::size_t end = g + each; g < end; ++g) m.record.recent_loss[i] += losses[g];
}

/// The same for models of one margin each that were judged together: `wrong` is 0 or 1.
inline void write_records(Record& r, double memory, const double* wrong, const double* loss) {
    r.begin(memory);
    r.chosen_mistakes += wrong[best_record(r)];
    const std::size_t n = r.mistakes.size();
    AGGRO_LANES
    for (std::size_t i = 0; i < n; ++i) {
        r.mistakes[i] += wrong[i];
        r.recent_mistakes[i] += wrong[i];
        r.recent_loss[i] += loss[i];
    }
}

}  // namespace aggro
