// What an example suffers, and the steps that repair it.
#pragma once
#include <algorithm>
#include <cmath>

#include "constraints/constraints.hpp"

namespace aggro {

/// The loss that is counted: the hinge whatever the rule, so that rules can be compared. What is
/// not a number stays so, and is refused.
inline double reported(double loss, const Rule& rule) {
    if (rule.lo < 0) return std::abs(loss);
    return loss <= 0 ? 0.0 : loss;
}

/// One margin that grows with the doubt of the model.
template <class Length, class Reach>
inline Verdict judge_doubt(const Group& g, const Rule& rule, const Target& target, double score,
                           Length&& length, const Rounding<Reach>& rounding, double* tau) {
    Verdict verdict;
    const double sign = target.sign(g.positive), m = sign * score, v = length();
    const double needed = confident_margin(v, rule);
    const double loss = rounding.settle(needed - m, needed + std::abs(m), std::size_t{0});
    const Move move = loss <= 0 || v < rounding.least ? Move{} : confident_step(m, v, rule);
    verdict.wrong = (score > 0) != (sign > 0);
    verdict.loss = reported(1 - m, rule);
    tau[0] = sign * move.tau;
    verdict.kappa = move.kappa;
    verdict.suffers = verdict.moves = move.tau != 0;
    return verdict;
}

/// One output. `length()` is asked for only when it is needed.
template <class Constraint, class Length, class Reach>
[[gnu::always_inline]] inline Verdict judge_one(const Group& g, const Rule& rule,
                                                const Target& target, double score, Length&& length,
                                                const Rounding<Reach>& rounding, double* tau) {
    if (!Constraint::values && rule.doubt != Doubt::none)
        return judge_doubt(g, rule, target, score, length, rounding, tau);
    const Broken seen = Constraint::look(g, rule, target, score);
    const double loss = rounding.settle(seen.loss, seen.size, std::size_t{0});
    Verdict verdict;
    verdict.wrong = seen.wrong;
    verdict.loss = reported(loss + seen.reported, rule);
    tau[0] = 0;
    verdict.suffers = rule.acts_on(loss);
    if (!verdict.suffers) return verdict;
    tau[0] = seen.sign * step_size(loss, length(), rule);
    verdict.kappa = rule.kappa;
    verdict.moves = tau[0] != 0;
    return verdict;
}

/// Several classes.
template <class Constraint, class Length, class Reach>
inline Verdict judge_classes(const Group& g, const Rule& rule, const Target& target,
                             const double* scores, Length&& length, const Rounding<Reach>& rounding,
                             double* tau, Ranking& ranking) {
    Verdict verdict;
    std::fill_n(tau, g.count, 0.0);
    if (g.count < 2) return verdict;
    std::size_t rival = 0;
    const auto y = static_cast<std::size_t>(target.label);
    const Broken seen = Constraint::look(g, rule, target, scores, rival);
    const double loss = rounding.settle(seen.loss, seen.size, y, rival);
    verdict.wrong = seen.wrong;
    verdict.loss = reported(loss + seen.reported, rule);
    verdict.suffers = rule.acts_on(loss) && Constraint::takes_part(seen);
    if (!verdict.suffers) return verdict;
    verdict.moves = Constraint::steps(g, rule, y, rival, loss, length(), scores, tau, ranking) != 0;
    verdict.kappa = rule.kappa;
    return verdict;
}

/// What the example asks of the group: fills `tau`, one step for each of its outputs.
template <class Length, class Reach>
[[gnu::always_inline]] inline Verdict judge(const Group& g, const Rule& rule, const Target& target,
                                            const double* scores, Length&& length,
                                            const Rounding<Reach>& rounding, double* tau,
                                            Ranking& ranking) {
    return with_constraint(
        g.task, [&]<class Constraint>(Constraint) __attribute__((always_inline)) {
            if constexpr (Constraint::classes)
                return judge_classes<Constraint>(g, rule, target, scores, length, rounding, tau,
                                                 ranking);
            else
                return judge_one<Constraint>(g, rule, target, scores[0], length, rounding, tau);
        });
}

}  // namespace aggro
