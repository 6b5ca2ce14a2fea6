// Losses and steps of independent outputs, with the rules as arrays so that the compiler vectorises
// the loops. Used for one-vs-rest, multilabel, several targets and several values of C.
#pragma once
#include <cmath>
#include <vector>

#include "linear/work_partition.hpp"

namespace aggro {

class IndependentOutputs {
  public:
    IndependentOutputs() = default;

    template <class T>
    IndependentOutputs(const Model<T>& m, const Share& share) : first(share.first), end(share.end) {
        const Task task = m.groups[0].task;
        usable = m.shape.sums == 0 && m.shape.queue <= 1 && m.shape.reservoir == 0 &&
                 m.shape.metric != Metric::full && m.groups.size() == m.shape.outputs &&
                 !picks_class(task);
        for (const Group& g : m.groups) {
            usable = usable && g.rule.uncertainty == Uncertainty::none && g.task == task;
            positive.push_back(static_cast<std::int64_t>(g.positive));
            lo.push_back(g.rule.lo);
            cap.push_back(g.rule.cap);
            ridge.push_back(g.rule.ridge);
            margin.push_back(g.rule.margin);
            epsilon.push_back(g.rule.epsilon);
            kappa.push_back(g.rule.kappa);
            ahead.push_back(g.rule.ahead);
            weigh_kappa = g.rule.weigh_kappa;
        }
        width = epsilon;
        tube = gives_value(task);
        models = usable && !tube && m.shape.vote == Vote::each &&
                 m.shape.models == m.shape.outputs && !m.shape.averages() && !m.shape.one_class &&
                 m.ensemble_out == nullptr;
        for (auto* column : {&target, &length, &loss, &wrong}) column->resize(positive.size());
    }

    /// Compute `loss`, `wrong` and the signed steps of all outputs, given their `length`.
    template <class Reach>
    void evaluate(const Target& y, const double* scores, double weight, double size, double* tau,
                  const Moments& targets, const Rounding<Reach>& rounding) {
        if (y.values) {
            for (std::size_t k = first; k < end; ++k) target[k] = y.values[positive[k]];
        } else {
            AGGRO_VECTORISE
            for (std::size_t k = first; k < end; ++k)
                target[k] = positive[k] == y.label ? 1.0 : -1.0;
        }
        grow = weight * size;
        shrink = 1 / grow;
        const std::int64_t doubts = tube ? evaluate_tubes(scores, tau, targets, rounding.doubtful)
                                         : evaluate_margins(scores, tau, rounding.doubtful);
        if (doubts > 0) clear_rounding(scores, tau, rounding);
    }

    double kappa_of(std::size_t k, double weight) const {
        return weigh_kappa ? kappa[k] * weight : kappa[k];
    }

    /// Return the growth of the precision of a moving output, before the step.
    double gain_of(std::size_t k, double weight) const { return gain(ahead[k] * weight, loss[k]); }

    bool usable = false, tube = false;
    bool models = false;  ///< each output is a model that predicts with its last weights
    std::vector<double> length, loss, wrong;

  private:
    // Both return the number of outputs whose loss may be rounding error.

    std::int64_t evaluate_margins(const double* scores, double* tau, double doubtful) {
        std::int64_t doubts = 0;
        AGGRO_VECTORISE
        for (std::size_t k = first; k < end; ++k) {
            const double sign = target[k] > 0 ? 1.0 : -1.0, m = sign * scores[k], l = margin[k] - m;
            loss[k] = lo[k] < 0 ? std::abs(1 - m) : 1 - m <= 0 ? 0.0 : 1 - m;
            wrong[k] = (scores[k] > 0) != (sign > 0) ? 1.0 : 0.0;
            tau[k] = sign * step(k, l);
            doubts += (tau[k] != 0) & (std::abs(l) < 3 * doubtful * margin[k]);  // m is about that
        }
        return doubts;
    }

    std::int64_t evaluate_tubes(const double* scores, double* tau, const Moments& targets,
                                double doubtful) {
        for (std::size_t k = first; k < end && !targets.rows.empty(); ++k)
            width[k] = epsilon[k] * targets.deviation(static_cast<std::size_t>(positive[k]));
        std::int64_t doubts = 0;
        AGGRO_VECTORISE
        for (std::size_t k = first; k < end; ++k) {
            const double error = target[k] - scores[k], l = std::abs(error) - width[k];
            loss[k] = lo[k] < 0 ? std::abs(l) : l <= 0 ? 0.0 : l;
            tau[k] = (error < 0 ? -1.0 : 1.0) * step(k, l);
            doubts += std::abs(l) < doubtful * (std::abs(target[k]) + std::abs(scores[k]));
        }
        return doubts;
    }

    /// Set losses below rounding error to zero.
    template <class Reach>
    [[gnu::noinline]] void clear_rounding(const double* scores, double* tau,
                                          const Rounding<Reach>& rounding) {
        for (std::size_t k = first; k < end; ++k) {
            const double sign = target[k] > 0 ? 1.0 : -1.0, error = target[k] - scores[k];
            const double l = tube ? std::abs(error) - width[k] : margin[k] - sign * scores[k];
            const double size = (tube ? std::abs(target[k]) : margin[k]) + std::abs(scores[k]);
            if (l == 0 || tau[k] == 0 || rounding.significant(l, size, k) != 0) continue;
            tau[k] = loss[k] = 0;
        }
    }

    double step(std::size_t k, double l) const {
        return step_size(l, length[k], lo[k] * grow, cap[k] * grow, ridge[k] * shrink);
    }

    std::size_t first = 0, end = 0;  ///< the outputs to evaluate
    std::vector<std::int64_t> positive;
    std::vector<double> lo, cap, ridge, margin, epsilon, width, kappa, ahead, target;
    double grow = 1, shrink = 1;  ///< weight of the example times size of its row, and the inverse
    bool weigh_kappa = false;
};

}  // namespace aggro
