// Statistics of each example: mistakes and losses before it is learned, the sizes of the first
// rows, the rounds of the average.
#pragma once
#include <cmath>

#include "linear/effective_weights.hpp"
#include "linear/scores.hpp"

namespace aggro {

template <class T, bool Single>
class Statistics {
  public:
    Statistics(Model<T>& model, Scratch<T>& scratch)
        : m(model),
          s(scratch),
          counters(alone() ? model.counters : scratch.counters),
          part{scratch.share} {}

    std::int64_t examples() const { return counters.examples; }
    /// Return the total weight of the rounds in the average, as counted by this thread.
    double averaged() const { return averaged_weight(m.shape, counters); }
    bool records_examples() const { return !counters.frozen; }  ///< known rows are not a fair test
    bool alone() const { return Single || s.journal == nullptr; }
    std::size_t entry() const { return entries; }  ///< entry of the journal for the current example

    /// Update what depends on the sizes of rows and targets: the constant feature, the spread of
    /// the targets, the unit of C.
    template <class Row>
    void measure(const MeasuredRow<Row>& row, const Target& y) {
        if (m.shape.spreads > 0) measure_targets(y);
        if (!Single && part.first() == 0 && m.unit.open()) measure_unit(row, y);
    }

    /// Set the constant feature to a fifth of the length of the first nonzero row, and at most 1. A
    /// longer one would dominate the steps of short rows.
    template <class Row>
    [[gnu::noinline]] void measure_intercept(const MeasuredRow<Row>& row) {
        if (row.squared == 0) return;
        const double scale = std::min(1.0, 0.2 * row.stretch * std::sqrt(row.squared)),
                     prior = scale * scale;
        for (std::size_t k = part.first(); k < part.end(); ++k) {
            m.bias_variance[k] = m.begun(m.bias_variance[k], prior);
            m.bias_prior[k] = prior;
        }
        for (std::size_t g = part.first_group(); g < part.end_group() && !m.full.empty(); ++g)
            m.full[g].set_intercept(m.begun(m.full[g].intercept(), prior));
    }

    /// Record whether the prediction before learning was correct; `mean` tells whether `means`
    /// contains scores. The loss is computed from the last weights, which are updated by it.
    [[gnu::always_inline]] void record(const Target& y, double weight, bool mean,
                                       const BatchStart* start = nullptr) {
        const double* last = s.scores.data();
        const Votes votes{mean ? s.means.data() : last, last};
        if (alone()) return write_record<Single>(m, votes, y, weight, start);
        for (std::size_t predictor = 0; predictor < m.shape.predictors(); ++predictor)
            std::copy_n(votes[predictor] + part.first(), part.end() - part.first(),
                        s.journal->votes(entries, predictor) + part.first());
    }

    /// Count the loss of a group before learning an example of this weight.
    [[gnu::always_inline]] void count(std::size_t index, double weight, const Outcome& outcome) {
        if (!std::isfinite(outcome.loss))
            throw BadExample("its score overflows; scale the features or the target");
        m.group_counts.loss[index] += outcome.loss;
        m.group_counts.mistakes[index] += outcome.wrong;
        if (!alone())
            s.journal->losses(entries)[index] = outcome.loss;
        else if (!gives_value(m.groups[index].task) && records_examples())
            add_loss(m.record, m.model_of[index], weight, outcome.loss);
    }

    void count_update(std::size_t index) {
        ++m.group_counts.updates[index];
        m.group_counts.last_update[index] = counters.examples + 1;
    }

    /// Finish a step that learned `rounds` examples: count them and add the weights to the average.
    [[gnu::always_inline]] void finish(std::int64_t rounds) {
        if (!Single && m.lazy_means())
            for (const Group& g : m.groups) fold_if_imprecise(m, g);
        counters.examples += rounds;
        ++entries;
        if (!m.shape.averages() || counters.examples <= m.average_from) return;
        const double n = count_rounds(m.shape, counters, rounds);
        for (std::size_t k = part.first(); k < part.end(); ++k) {
            Mixture& mix = m.mix[k];
            mix.scale_sum += n * mix.scale;
            mix.own_sum += n * mix.own;
            mix.rest_sum += n * mix.rest;
            m.bias_sum[k] += n * m.bias[k];
        }
    }

  private:
    [[gnu::noinline]] void measure_targets(const Target& y) {
        ++m.targets.rows[0];
        for (std::size_t c = 0; c < m.shape.spreads; ++c) m.targets.add(c, y.values[c]);
    }

    /// Add the row and its targets to the scale of C.
    template <class Row>
    [[gnu::noinline]] void measure_unit(const MeasuredRow<Row>& row, const Target& y) {
        m.unit.add_row(row.squared, row.stretch, m.shape.intercept ? m.prior(part.first()) : 0);
        if (!gives_value(m.groups[0].task)) return;
        for (std::size_t g = 0; g < m.groups_per_model(); ++g)
            m.unit.add_answer(y.values[m.groups[g].positive]);
    }

    Model<T>& m;
    Scratch<T>& s;
    Counters& counters;
    Part<Single> part;
    std::size_t entries = 0;  ///< examples learned; each has an entry in the journal
};

}  // namespace aggro
