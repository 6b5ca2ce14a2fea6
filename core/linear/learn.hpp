// The learning step: predict, evaluate the loss, update. One example at a time, the same for every
// variant.
#pragma once
#include "linear/class_means.hpp"
#include "linear/learn_outputs.hpp"
#include "linear/reservoir.hpp"
#include "linear/statistics.hpp"
#include "linear/weight_update.hpp"
#include "rows/examples.hpp"

namespace aggro {

/// Return the rule of a group for an example of this weight, with epsilon in units of the targets'
/// spread if requested. `own` stores the rule if it differs from the group's.
template <class T>
[[gnu::noinline]] inline const Rule& rule_for(const Model<T>& m, const Group& g, double weight,
                                              double stretch, Rule& own) {
    own = g.rule.scaled_C(weight).rescaled(stretch);
    if (m.shape.spreads > 0) own.epsilon *= m.targets.deviation(g.positive);
    return own;
}

/// Return whether a hard constraint is infeasible: the row is zero.
template <class Length>
inline bool infeasible(const Rule& rule, Length&& length) {
    return rule.cap == infinity && rule.ridge == 0 && length() == 0;
}

template <class T, class Row, bool Single, bool Diagonal>
class Learn {
  public:
    Learn(Model<T>& model, Scratch<T>& scratch)
        : m(model),
          s(scratch),
          part{scratch.share},
          space(model, scratch),
          scores(model, scratch),
          means(model, scratch),
          update(model, scratch),
          statistics(model, scratch),
          outputs(model, scratch) {}

    /// Learn one example of this weight.
    [[gnu::noinline]] void operator()(const Row& x, const Target& y, double weight) {
        learn(space.measure_row(x, statistics.records_examples()), y, weight);
    }

    /// Learn an example whose products are in the scratch memory. The functions it calls per row
    /// are inlined: on short rows, calls would take a considerable part of the time.
    [[gnu::always_inline]] void learn(const MeasuredRow<Row>& row, const Target& y, double weight) {
        if (m.awaits_first_row(part.first())) statistics.measure_intercept(row);
        scores.of_last(row);
        statistics.measure(row, y);
        if ((Single || !outputs.models()) && statistics.records_examples())
            statistics.record(
                y, weight,
                m.shape.predictor != Predictor::last && scores.of_mean(row, statistics.averaged()));
        bool moves = means.open() && means.join(row, y, weight);
        if (Diagonal && m.sharpens_ahead()) sharpen_ahead(row, y, weight);
        if (!Single && outputs.usable()) {
            if (outputs.evaluate(row, y, weight, statistics))
                moves = outputs.move(row, weight, update);
        } else {
            for (std::size_t g = part.first_group(); g < part.end_group(); ++g)
                moves |= learn_group(g, row, y, weight);
        }
        if (moves) update.apply(row.x);
        if (!Single) emphasise(m);
        statistics.finish(1);
    }

    /// Compute the scores of the model's predictor in `scores`.
    void score(const Row& x) {
        s.predicting.update(m);
        score(x, s.predicting);
    }

    /// Compute the scores of the model's predictor with its weights.
    void score(const Row& x, const PredictingWeights<T>& weights) {
        if (!weights.usable(m)) {
            const MeasuredRow<Row> row = space.measure_row(x, true);
            scores.of_last(row);
            return scores.of_predictor(row, statistics.averaged());
        }
        weights.template dot<Single>(m, x, s.dot.data());
        if (!weights.scores_of(s.dot.data(), 1, s.scores)) score_shortened(x, weights);
    }

    /// Return the ensemble score of all models.
    double ensemble(const Row& x) {
        const MeasuredRow<Row> row = space.measure_row(x, true);
        scores.of_last(row);
        const bool mean = scores.of_mean(row, statistics.averaged());
        return ensemble_score(m, {mean ? s.means.data() : s.scores.data(), s.scores.data()});
    }

  private:
    /// Score a row whose products overflow, divided by its largest value; throw if that is
    /// infinite.
    [[gnu::noinline]] void score_shortened(const Row& x, const PredictingWeights<T>& weights) {
        const auto largest = static_cast<double>(shorten(x, s.values));
        Row shortened = x;
        shortened.values = s.values.data();
        weights.template dot<Single>(m, shortened, s.dot.data());
        weights.scores_of(s.dot.data(), largest, s.scores);
    }

    /// Update Newton's metric before the step: its precision grows by the squared loss.
    [[gnu::noinline]] void sharpen_ahead(const MeasuredRow<Row>& row, const Target& y,
                                         double weight) {
        bool gains = false;
        if (!Single && outputs.usable())
            gains = outputs.gain(row, y, weight, update);
        else
            for (std::size_t g = part.first_group(); g < part.end_group(); ++g)
                gains |= gain_of_group(g, row, y, weight);
        if (!gains) return;
        update.sharpen(row.x);
        space.measure(row.x);
    }

    bool gain_of_group(std::size_t index, const MeasuredRow<Row>& row, const Target& y,
                       double weight) {
        const Group& g = m.groups[index];
        if (!(space.length(g.first, row) > 0)) return false;
        const double weighted = weight / (1 + g.gamma);
        const Outcome outcome = evaluate_group(g, row, y, weighted, [] { return 0.0; });
        if (!outcome.violated) return false;
        const double gain = g.rule.scaled_C(weighted).gain(outcome.loss);
        for (std::size_t k = g.first; k < g.first + g.count; ++k) update.gain(k, gain, row.stretch);
        return true;
    }

    template <class Length>
    [[gnu::always_inline]] Outcome evaluate_group(const Group& g, const MeasuredRow<Row>& row,
                                                  const Target& y, double weight, Length&& length) {
        const auto rounding =
            rounding_of<T>(row.x.size, [&](std::size_t k) { return reach(m, row, g.first + k); });
        return evaluate(g, rule_at(g, weight, row.stretch), y, s.scores.data() + g.first, length,
                        rounding, s.tau.data() + g.first, s.ranking);
    }

    /// Predict, evaluate the loss and update one group; return true if coefficients are left to
    /// apply.
    [[gnu::always_inline]] bool learn_group(std::size_t index, const MeasuredRow<Row>& row,
                                            const Target& y, double weight) {
        const Group& g = m.groups[index];
        double squared = -1;  // computed once, because it takes a pass over the full metric
        const auto length = [&] {
            if (m.shape.metric != Metric::full) return space.length(g.first, row);
            if (squared < 0)
                squared = row.stretch * m.full[index].squared_length(row.x, row.stretch);
            return squared;
        };
        Outcome outcome = evaluate_group(g, row, y, weight, length);
        statistics.count(index, weight, outcome);
        const bool pulled = (g.gamma > 0 || m.shape.queue > 1) && (outcome.violated || g.always) &&
                            !infeasible(g.rule, length);
        if (!outcome.moves && !pulled) return false;
        if (m.shape.reservoir > 0) offer(m, index);
        if (pulled) {
            means.centre(index, row);
            outcome = evaluate_group(g, row, y, weight / (1 + g.gamma), length);
        }
        statistics.count_update(index);
        return outcome.moves && update.move(index, row.stretch, outcome.kappa, length);
    }

    [[gnu::always_inline]] const Rule& rule_at(const Group& g, double weight, double stretch) {
        if (weight == 1 && stretch == 1 && m.shape.spreads == 0) return g.rule;
        return rule_for(m, g, weight, stretch, s.scaled_C);
    }

    Model<T>& m;
    Scratch<T>& s;
    Part<Single> part;
    RowOps<T, Row, Single, Diagonal> space;
    Scores<T, Row, Single> scores;
    ClassMeans<T, Row, Single, Diagonal> means;
    WeightUpdate<T, Row, Single, Diagonal> update;
    Statistics<T, Single> statistics;
    LearnOutputs<T, Row, Single, Diagonal> outputs;
};

/// Call `use` with the loops for this model: one output or several, Euclidean or diagonal. Each
/// should be a function of its own: inlined into one large function they would compete for
/// registers.
template <template <class, class, bool, bool> class How, class T, class Row, class Use>
inline void with_loops(Model<T>& m, Scratch<T>& scratch, Use&& use) {
    const bool single = m.columns == 1;
    if (single && !m.diagonal())
        use(How<T, Row, true, false>(m, scratch));
    else if (single)
        use(How<T, Row, true, true>(m, scratch));
    else if (!m.diagonal())
        use(How<T, Row, false, false>(m, scratch));
    else
        use(How<T, Row, false, true>(m, scratch));
}

}  // namespace aggro
