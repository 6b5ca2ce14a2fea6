// The loss of an example and the steps that correct it.
#pragma once
#include <algorithm>
#include <cmath>

#include "constraints/constraints.hpp"

namespace aggro {

/// Return the loss for statistics: the hinge loss for every rule, so that rules can be compared.
/// NaN stays NaN and is rejected later.
inline double reported(double loss, const Rule& rule) {
    if (rule.lo < 0) return std::abs(loss);
    return loss <= 0 ? 0.0 : loss;
}

/// Evaluate a single output whose required margin grows with the variance of its score.
template <class Length, class Reach>
inline Outcome evaluate_doubt(const Group& g, const Rule& rule, const Target& target, double score,
                              Length&& length, const Rounding<Reach>& rounding, double* tau) {
    Outcome outcome;
    const double sign = target.sign(g.positive), m = sign * score, v = length();
    const double needed = confident_margin(v, rule);
    const double loss = rounding.significant(needed - m, needed + std::abs(m), std::size_t{0});
    const Move move = loss <= 0 || v < rounding.least ? Move{} : confident_step(m, v, rule);
    outcome.wrong = (score > 0) != (sign > 0);
    outcome.loss = reported(1 - m, rule);
    tau[0] = sign * move.tau;
    outcome.kappa = move.kappa;
    outcome.violated = outcome.moves = move.tau != 0;
    return outcome;
}

/// Evaluate a single output. `length()`, the squared length of the row, is computed only if needed.
template <class Constraint, class Length, class Reach>
[[gnu::always_inline]] inline Outcome evaluate_one(const Group& g, const Rule& rule,
                                                   const Target& target, double score,
                                                   Length&& length, const Rounding<Reach>& rounding,
                                                   double* tau) {
    if (!Constraint::values && rule.uncertainty != Uncertainty::none)
        return evaluate_doubt(g, rule, target, score, length, rounding, tau);
    const Violation seen = Constraint::violation(g, rule, target, score);
    const double loss = rounding.significant(seen.loss, seen.size, std::size_t{0});
    Outcome outcome;
    outcome.wrong = seen.wrong;
    outcome.loss = reported(loss + seen.reported, rule);
    tau[0] = 0;
    outcome.violated = rule.acts_on(loss);
    if (!outcome.violated) return outcome;
    tau[0] = seen.sign * step_size(loss, length(), rule);
    outcome.kappa = rule.kappa;
    outcome.moves = tau[0] != 0;
    return outcome;
}

/// Evaluate a group of classes.
template <class Constraint, class Length, class Reach>
inline Outcome evaluate_classes(const Group& g, const Rule& rule, const Target& target,
                                const double* scores, Length&& length,
                                const Rounding<Reach>& rounding, double* tau, Ranking& ranking) {
    Outcome outcome;
    std::fill_n(tau, g.count, 0.0);
    if (g.count < 2) return outcome;
    std::size_t rival = 0;
    const auto y = static_cast<std::size_t>(target.label);
    const Violation seen = Constraint::violation(g, rule, target, scores, rival);
    const double loss = rounding.significant(seen.loss, seen.size, y, rival);
    outcome.wrong = seen.wrong;
    outcome.loss = reported(loss + seen.reported, rule);
    outcome.violated = rule.acts_on(loss) && Constraint::takes_part(seen);
    if (!outcome.violated) return outcome;
    outcome.moves = Constraint::steps(g, rule, y, rival, loss, length(), scores, tau, ranking) != 0;
    outcome.kappa = rule.kappa;
    return outcome;
}

/// Evaluate an example in a group: return its loss and write the step of each output to `tau`.
template <class Length, class Reach>
[[gnu::always_inline]] inline Outcome evaluate(const Group& g, const Rule& rule,
                                               const Target& target, const double* scores,
                                               Length&& length, const Rounding<Reach>& rounding,
                                               double* tau, Ranking& ranking) {
    return with_constraint(
        g.task, [&]<class Constraint>(Constraint) __attribute__((always_inline)) {
            if constexpr (Constraint::classes)
                return evaluate_classes<Constraint>(g, rule, target, scores, length, rounding, tau,
                                                    ranking);
            else
                return evaluate_one<Constraint>(g, rule, target, scores[0], length, rounding, tau);
        });
}

}  // namespace aggro
