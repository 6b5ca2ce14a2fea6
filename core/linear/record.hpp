// Progressive validation of models that learn together.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "linear/model.hpp"

namespace aggro {

/// Return whether the model whose `each` groups begin with `first` predicts the wrong class, or any
/// wrong label, with these scores.
template <bool Single, class T>
inline bool wrong_vote(const Model<T>& m, const double* scores, std::size_t first, std::size_t each,
                       const Target& y) {
    const Group& g = m.groups[first];
    if (Single && g.task == Task::margin) return (scores[0] > 0) != (y.sign(g.positive) > 0);
    const double* mine = scores + g.first;
    if (picks_class(g.task)) return std::max_element(mine, mine + g.count) - mine != y.label;
    if (m.shape.vote == Vote::argmax) return std::max_element(mine, mine + each) - mine != y.label;
    bool wrong = false;  // no early exit, which would be mispredicted
    for (std::size_t k = 0; k < each; ++k)
        wrong |= (mine[k] > 0) != (y.sign(m.groups[first + k].positive) > 0);
    return wrong;
}

/// Return the square of an error; that of a finite error is finite.
inline double squared_error(double error) {
    constexpr double most = 1e290;
    const double square = error * error;
    return square <= most ? square : std::max(error, most);
}

/// Return the absolute or squared error of that model in regression, summed over its outputs.
template <class T>
inline double regression_error(const Model<T>& m, const double* scores, std::size_t first,
                               std::size_t each, const Target& y) {
    double sum = 0;
    for (std::size_t k = first; k < first + each; ++k) {
        const double error = std::abs(y.values[m.groups[k].positive] - scores[m.groups[k].first]);
        sum += m.shape.squared_errors ? squared_error(error) : error;
    }
    return sum;
}

/// Return which predictor a model uses: 0 for the mean, or 1 for the last weights if they have made
/// significantly fewer mistakes than the mean, or as many with less loss. Mistakes are counted in
/// examples of equal weight. The mean of the first few examples is not used yet.
inline std::size_t best_predictor(const Record& r, std::size_t model) {
    constexpr int few = 10;
    if (r.predictors == 1) return 0;
    if (!r.holds(few)) return 1;
    const double *mistakes = &r.recent_mistakes[2 * model], *loss = &r.recent_loss[2 * model];
    const double ahead = mistakes[0] - mistakes[1];
    return ahead == 0 ? loss[1] < loss[0]
                      : ahead > std::sqrt(r.unit_of_weight() * (mistakes[0] + mistakes[1]));
}

/// Return the model with the best recent record: fewest mistakes, then least loss.
inline std::size_t best_record(const Record& r) {
    std::size_t best = 0, of_best = best_predictor(r, 0);
    for (std::size_t i = 1; i < r.mistakes.size(); ++i) {
        const std::size_t mine = i * r.predictors + best_predictor(r, i);
        if (r.recent_mistakes[mine] > r.recent_mistakes[of_best]) continue;
        if (r.recent_mistakes[mine] == r.recent_mistakes[of_best] &&
            !(r.recent_loss[mine] < r.recent_loss[of_best]))
            continue;
        best = i;
        of_best = mine;
    }
    return best;
}

/// The scores of a row for each predictor of a model.
using Votes = std::array<const double*, 2>;

/// Count the mistakes of all predictors in an example of this weight; `wrong(model, predictor)`
/// tells whether one is wrong. The predictor in use is the one with the best record in `before`,
/// which may be the same record; it is determined only if the predictors differ. Mistakes of an
/// ensemble prediction are counted in `EnsembleScores`.
template <bool Single, class Wrong>
[[gnu::always_inline]] inline void write_mistakes(Record& r, const Record& before, bool in_ensemble,
                                                  double weight, Wrong&& wrong) {
    const std::size_t models = Single ? 1 : r.mistakes.size();
    const std::size_t chosen = models > 1 ? best_record(before) : 0;
    const bool two = r.predictors == 2;
    const double cost = Record::clamped(weight);
    for (std::size_t i = 0; i < models; ++i) {
        const bool mistaken[] = {wrong(i, 0), two && wrong(i, 1)};
        const bool counts =
            (mistaken[0] || mistaken[1]) && mistaken[two ? best_predictor(before, i) : 0];
        r.mistakes[i] += counts;
        if (i == chosen) {
            if (!in_ensemble) r.chosen_mistakes += counts;
            r.drift.add(weight, counts);
        }
        double* recent = &r.recent_mistakes[i * r.predictors];
        recent[0] = recent[0] * r.memory + (mistaken[0] ? cost : 0);
        if (two) recent[1] = recent[1] * r.memory + (mistaken[1] ? cost : 0);
    }
    r.count_example(weight);
}

/// Record the errors of all predictors in regression.
template <bool Single, class Error>
inline void write_errors(Record& r, const Record& before, double weight, Error&& error_of) {
    const std::size_t models = Single ? 1 : r.mistakes.size();
    const std::size_t chosen = models > 1 ? best_record(before) : 0;
    const double kept = r.discount();
    for (std::size_t i = 0; i < models; ++i) {
        const std::size_t predicts = best_predictor(before, i);
        for (std::size_t predictor = 0; predictor < r.predictors; ++predictor) {
            const double error = error_of(i, predictor);
            double& recent = r.recent_loss[i * r.predictors + predictor];
            recent = recent * kept + Record::weighted(weight, error);
            if (predictor != predicts) continue;
            r.distances[i] += error;
            if (i != chosen) continue;
            r.chosen_error += error;
            r.drift.add_error(weight, error);
        }
    }
    r.count_example(weight);
}

/// Return the record if the known class becomes the first. Its examples and losses are copied from
/// the other record; only the differing arrays are saved.
template <class T>
inline Record& swapped_record(Model<T>& m) {
    m.swapped.recent_examples = m.record.recent_examples;
    m.swapped.recent_weight = m.record.recent_weight;
    m.swapped.recent_squares = m.record.recent_squares;
    m.swapped.recent_loss = m.record.recent_loss;
    m.swapped.memory = m.record.memory;
    return m.swapped;
}

/// Count the mistakes of a model that knows one of two classes. A score of zero predicts the first
/// class, which is not known before the second class appears; the two records differ in these ties,
/// and so may the models that they choose.
template <class T>
[[gnu::noinline]] inline void write_swapped(Model<T>& m, const Votes& votes, const Target& y,
                                            double weight, const Record* start) {
    Record& r = swapped_record(m);
    const auto wrong = [&](std::size_t i, std::size_t predictor) {
        const double* scores = votes[predictor];
        return scores[m.groups[i].first] != 0 && wrong_vote<false>(m, scores, i, 1, y);
    };
    write_mistakes<false>(r, start ? *start : r, m.ensemble_out != nullptr, weight, wrong);
}

/// Return the ensemble prediction of all predictors of all models from their scores of a row.
template <class T>
inline double ensemble_score(const Model<T>& m, const Votes& votes) {
    const Record& r = m.record;
    double answer = 0;
    for (std::size_t v = 0; v < r.part.size(); ++v) {
        constexpr double most = 1e300;  // so that the sum of all is finite
        if (r.part[v] == 0) continue;   // its score may be infinite
        const double score = r.part[v] * votes[v % r.predictors][m.groups[v / r.predictors].first];
        answer += std::max(-most, std::min(most, score));
    }
    return answer;
}

/// Return the unit of a margin: its mean magnitude, weighted by the examples.
inline double margin_unit(const Record& r, std::size_t predictor) {
    const double size = r.recent_weight > 0 ? r.margin_size[predictor] / r.recent_weight : 0;
    return size > 0 ? size : 1;
}

/// Return the loss of a margin z: the squared probability of the other class, (1 - z / sqrt(1 +
/// z^2)) / 2.
inline double margin_error(double z) {
    constexpr double sure = 1e6;
    z = std::max(-sure, std::min(sure, z));
    const double chance = (1 - z / std::sqrt(1 + z * z)) / 2;
    return chance * chance;
}

/// Record the ensemble prediction of an example and the loss of each predictor's margin.
template <class T>
[[gnu::noinline]] inline void write_margins(Model<T>& m, const Votes& votes, const Target& y,
                                            double weight) {
    constexpr double most = 1e290;  // so that their sum is finite
    constexpr std::size_t ways = Record::stretches.size();
    Record& r = m.record;
    *m.ensemble_out++ = ensemble_score(m, votes);
    for (std::size_t v = 0; v < r.part.size(); ++v) {
        const Group& g = m.groups[v / r.predictors];
        const double margin = votes[v % r.predictors][g.first];
        const double z = y.sign(g.positive) * margin / margin_unit(r, v);
        for (std::size_t k = 0; k < ways; ++k) {
            double& loss = r.margin_loss[v * ways + k];
            loss = loss * r.memory + Record::weighted(weight, margin_error(z * r.stretches[k]));
        }
        const double size = std::min(most, std::abs(margin));
        r.margin_size[v] = r.margin_size[v] * r.memory + Record::weighted(weight, size);
    }
}

/// The records before a mini-batch, whose examples are predicted before any of them is learned.
struct BatchStart {
    Record record, swapped;
};

/// Record one example of this weight with the scores of the predictor before it is learned.
template <bool Single, class T>
inline void write_record(Model<T>& m, const Votes& votes, const Target& y, double weight,
                         const BatchStart* start = nullptr) {
    Record& r = m.record;
    const Record& before = start ? start->record : r;
    if (m.ensemble_out) write_margins(m, votes, y, weight);
    if (m.shape.one_class) write_swapped(m, votes, y, weight, start ? &start->swapped : nullptr);
    const std::size_t each = Single ? 1 : m.groups_per_model();
    if (gives_value(m.groups[0].task))
        return write_errors<Single>(r, before, weight, [&](std::size_t i, std::size_t predictor) {
            return regression_error(m, votes[predictor], i * each, each, y);
        });
    const auto wrong = [&](std::size_t i, std::size_t predictor) {
        return wrong_vote<Single>(m, votes[predictor], i * each, each, y);
    };
    write_mistakes<Single>(r, before, m.ensemble_out != nullptr, weight, wrong);
    const std::size_t losses = (Single ? 1 : m.shape.models) * r.predictors;
    double* loss = r.recent_loss.data();  // the loss of this example is added later
    for (std::size_t i = 0; i < losses; ++i) loss[i] *= r.memory;
}

/// Add a loss of the last weights in an example of this weight to the record of a model.
inline void add_loss(Record& r, std::size_t model, double weight, double loss) {
    for (std::size_t predictor = 0; predictor < r.predictors; ++predictor)
        r.recent_loss[model * r.predictors + predictor] += Record::weighted(weight, loss);
}

/// Add the losses of the groups, by their last weights, to the records of their models.
template <class T>
inline void add_losses(Model<T>& m, double weight, const double* losses) {
    if (gives_value(m.groups[0].task)) return;  // the error is already recorded
    const std::size_t models = m.shape.models, each = m.groups_per_model();
    for (std::size_t i = 0, g = 0; i < models; ++i)
        for (std::size_t end = g + each; g < end; ++g) add_loss(m.record, i, weight, losses[g]);
}

/// Record an example of this weight for models of one margin each; `wrong` is 0 or 1.
inline void write_records(Record& r, const double* wrong, const double* loss, double weight) {
    r.begin(weight);
    const double mistaken = wrong[best_record(r)];
    r.chosen_mistakes += mistaken;
    r.drift.add(weight, mistaken);
    const std::size_t n = r.mistakes.size();
    weight = Record::clamped(weight);
    AGGRO_VECTORISE
    for (std::size_t i = 0; i < n; ++i) {
        r.mistakes[i] += wrong[i];
        r.recent_mistakes[i] += weight * wrong[i];
        r.recent_loss[i] += Record::weighted(weight, loss[i]);
    }
}

}  // namespace aggro
