// The step of independent outputs, with loops over outputs.
#pragma once
#include <cmath>
#include <limits>

#include "linear/independent_outputs.hpp"
#include "linear/statistics.hpp"
#include "linear/weight_update.hpp"

namespace aggro {

template <class T, class Row, bool Single, bool Diagonal>
class LearnOutputs {
  public:
    LearnOutputs(Model<T>& model, Scratch<T>& scratch)
        : m(model),
          s(scratch),
          part{scratch.share},
          rules(Single ? IndependentOutputs() : IndependentOutputs(model, scratch.share)) {}

    bool usable() const { return rules.usable; }
    bool models() const { return rules.models; }

    /// Add the loss to the precision of each output that will move; return true if some output
    /// moves.
    bool gain(const MeasuredRow<Row>& row, const Target& y, double weight,
              WeightUpdate<T, Row, Single, Diagonal>& update) {
        evaluate_outputs(row, y, weight);
        bool gains = false;
        for (std::size_t k = part.first(); k < part.end(); ++k) {
            const bool moves = s.tau[k] != 0;
            update.gain(k, moves ? rules.gain_of(k, weight) : 0, row.stretch);
            gains |= moves;
        }
        return gains;
    }

    /// Compute the step of each output and count its loss; return true if some output moves.
    bool evaluate(const MeasuredRow<Row>& row, const Target& y, double weight,
                  Statistics<T, Single>& statistics) {
        evaluate_outputs(row, y, weight);
        const bool moving = count(statistics.examples() + 1);
        if (!statistics.records_examples()) return moving;
        if (!statistics.alone())
            write_journal(statistics.entry());
        else if (rules.models)
            write_records(m.record, rules.wrong.data(), rules.loss.data(), weight);
        else
            add_losses(m, weight, rules.loss.data());
        return moving;
    }

    /// Convert the steps into coefficients, to be applied later.
    bool move(const MeasuredRow<Row>& row, double weight,
              WeightUpdate<T, Row, Single, Diagonal>& update) const {
        update.move_outputs(row.stretch, [&](std::size_t k) { return rules.kappa_of(k, weight); });
        return true;
    }

  private:
    /// Compute the loss and the step of each output.
    void evaluate_outputs(const MeasuredRow<Row>& row, const Target& y, double weight) {
        measure(row);
        const auto rounding =
            rounding_of<T>(row.x.size, [&](std::size_t k) { return reach(m, row, k); });
        rules.evaluate(y, s.scores.data(), weight, row.stretch, s.tau.data(), m.targets, rounding);
    }

    /// Compute x' Sigma x with the constant feature for each output.
    void measure(const MeasuredRow<Row>& row) {
        const std::size_t n = part.end();
        const double constant = m.shape.intercept ? 1 / row.stretch : 0;
        AGGRO_VECTORISE
        for (std::size_t k = part.first(); k < n; ++k) {
            const double v = Diagonal ? static_cast<double>(s.length[k]) : row.squared;
            rules.length[k] = row.stretch * v + m.bias_variance[k] * constant;
        }
    }

    bool count(std::int64_t now) {
        const std::size_t n = part.end();
        std::int64_t moving = 0, overflows = 0;
        AGGRO_VECTORISE
        for (std::size_t k = part.first(); k < n; ++k) {
            const double tau = s.tau[k];
            const std::int64_t moves = tau != 0;
            moving += moves;
            overflows += !(std::abs(tau) + rules.loss[k] <= std::numeric_limits<T>::max());
            m.group_counts.loss[k] += rules.loss[k];
            m.group_counts.mistakes[k] += static_cast<std::int64_t>(rules.wrong[k]);
            m.group_counts.updates[k] += moves;
            m.group_counts.last_update[k] = moves ? now : m.group_counts.last_update[k];
        }
        if (overflows > 0)
            throw BadExample("its score or step overflows; scale the features or the target");
        return moving > 0;
    }

    void write_journal(std::size_t entry) {
        const std::size_t n = part.end() - part.first();
        std::copy_n(rules.loss.data() + part.first(), n, s.journal->losses(entry) + part.first());
        if (rules.models)
            std::copy_n(rules.wrong.data() + part.first(), n,
                        s.journal->votes(entry) + part.first());
    }

    Model<T>& m;
    Scratch<T>& s;
    Part<Single> part;
    IndependentOutputs rules;
};

}  // namespace aggro
