// Constraints: one small struct each, used for single examples and mini-batches.
//
// A constraint computes the loss of an example, the direction of its step, and the inner product of
// the directions of two examples. Only `with_constraint` maps tasks to structs.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "constraints/support_classes.hpp"
#include "constraints/task.hpp"
#include "losses/rounding.hpp"

namespace aggro {

/// How far an example violates its constraint.
struct Violation {
    double loss = 0;      ///< negative if the constraint is satisfied
    double size = 0;      ///< magnitude of the terms of the loss, for its rounding error
    double sign = 0;      ///< direction of the step, for a single output
    double reported = 0;  ///< added to the loss in statistics, which use margin 1
    bool wrong = false;   ///< whether the prediction was wrong
};

/// The term of an example in the dual of a mini-batch: maximise raw t - width |t| - ... with lower
/// <= t <= cap.
struct BatchTerm {
    double raw = 0;    ///< the unclipped loss; for a tube, the error
    double width = 0;  ///< half the width of the tube
    double lower = 0;
    double loss = 0;
    bool part = true;  ///< whether the example can have a step
};

/// One output: y f >= margin.
struct MarginConstraint {
    static constexpr bool classes = false, values = false, own_dual = false;

    [[gnu::always_inline]] static Violation violation(const Group& g, const Rule& rule,
                                                      const Target& y, double score) {
        const double sign = y.sign(g.positive);
        return {rule.margin - sign * score, rule.margin + std::abs(score), sign, 1 - rule.margin,
                (score > 0) != (sign > 0)};
    }
    template <class Reach>
    static BatchTerm term(const Group& g, const Rule& rule, const Target& y, const double* s,
                          const Rounding<Reach>& rounding, std::size_t&) {
        const Violation seen = violation(g, rule, y, s[0]);
        const double loss = rounding.significant(seen.loss, seen.size, std::size_t{0});
        return {loss, 0, rule.lo, rule.lo < 0 ? std::abs(loss) : loss};
    }
    /// Return <delta_j, delta_k>, where example j moves the weights in direction delta_j.
    static double agreement(const Group& g, const Target& y, const Target& z, std::size_t,
                            std::size_t) {
        return y.sign(g.positive) * z.sign(g.positive);
    }
    static void write(const Group& g, const Target& y, std::size_t, double t, double* tau) {
        tau[0] = t * y.sign(g.positive);
    }
    static double size(const Group&, const Rule& rule, const Target&) { return rule.margin; }
};

/// One output: |y - f| <= epsilon.
struct TubeConstraint {
    static constexpr bool classes = false, values = true, own_dual = false;

    [[gnu::always_inline]] static Violation violation(const Group& g, const Rule& rule,
                                                      const Target& y, double score) {
        const double value = y.values[g.positive], error = value - score;
        return {std::abs(error) - rule.epsilon, std::abs(value) + std::abs(score),
                error > 0   ? 1.0
                : error < 0 ? -1.0
                            : 0.0};
    }
    template <class Reach>
    static BatchTerm term(const Group& g, const Rule& rule, const Target& y, const double* s,
                          const Rounding<Reach>& rounding, std::size_t&) {
        const double width = rule.lo < 0 ? 0 : rule.epsilon, value = y.values[g.positive],
                     error = value - s[0];
        const double loss = rounding.significant(std::abs(error) - width,
                                                 std::abs(value) + std::abs(s[0]), std::size_t{0});
        const double raw = std::copysign(loss + width, error);
        return {raw, width, -rule.cap, std::abs(raw) - width};
    }
    static double agreement(const Group&, const Target&, const Target&, std::size_t, std::size_t) {
        return 1;
    }
    static void write(const Group&, const Target&, std::size_t, double t, double* tau) {
        tau[0] = t;
    }
    static double size(const Group& g, const Rule&, const Target& y) {
        return std::abs(y.values[g.positive]);
    }
};

/// Return the class with the best score other than `label`.
inline std::size_t best_wrong(const double* scores, std::size_t count, std::size_t label) {
    std::size_t best = label == 0 ? 1 : 0;
    double most = scores[best];
    for (std::size_t v = 0; v < count; ++v)
        if (v != label && scores[v] > most) most = scores[best = v];
    return best;
}

/// Several outputs: the true class must beat the best wrong class.
struct TopConstraint {
    static constexpr bool classes = true, values = false, own_dual = false;

    /// Compute the violation and set `rival` to the best wrong class.
    static Violation violation(const Group& g, const Rule& rule, const Target& target,
                               const double* s, std::size_t& rival) {
        const auto y = static_cast<std::size_t>(target.label);
        rival = best_wrong(s, g.count, y);
        return {rule.margin - s[y] + s[rival], rule.margin + std::abs(s[y]) + std::abs(s[rival]), 1,
                1 - rule.margin, s[rival] > s[y] || (s[rival] == s[y] && rival < y)};
    }
    /// Return whether an example that violates its margin is learned.
    static bool takes_part(const Violation&) { return true; }

    /// Compute the step of each class for an example with this loss and squared length q; return
    /// the step of the true class.
    static double steps(const Group&, const Rule& rule, std::size_t y, std::size_t rival,
                        double loss, double q, const double*, double* tau, Ranking&) {
        tau[y] = step_size(loss, 2 * q, rule);
        tau[rival] = -tau[y];
        return tau[y];
    }
    static double agreement(const Group&, const Target& a, const Target& b, std::size_t r,
                            std::size_t s) {
        const auto y = static_cast<std::size_t>(a.label), z = static_cast<std::size_t>(b.label);
        return (y == z) + (r == s) - (y == s) - (r == z);
    }
    static void write(const Group&, const Target& y, std::size_t rival, double t, double* tau) {
        tau[static_cast<std::size_t>(y.label)] = t, tau[rival] = -t;
    }
    static double size(const Group&, const Rule& rule, const Target&) { return rule.margin; }
};

/// Like TopConstraint, but an example is learned only if its prediction was wrong.
struct PredictedConstraint : TopConstraint {
    static bool takes_part(const Violation& seen) { return seen.wrong; }
};

/// Several outputs: the true class must beat every wrong class. Mini-batches use a separate solver
/// (qp/batch_support.hpp).
struct SupportConstraint : TopConstraint {
    static constexpr bool own_dual = true;

    static double steps(const Group& g, const Rule& rule, std::size_t y, std::size_t, double loss,
                        double q, const double* s, double* tau, Ranking& ranking) {
        ranking.clear();
        const double floor = q > 0 ? support_floor(loss, q, rule) : 0;
        for (std::size_t v = 0; v < g.count; ++v)
            if (const double l = rule.margin - s[y] + s[v]; v != y && l >= floor)
                ranking.emplace_back(l, v);
        return tau[y] = support_classes(ranking, q, rule, tau);
    }
};

/// Return the mini-batch term of a constraint on classes.
template <class Constraint, class Reach>
inline BatchTerm class_term(const Group& g, const Rule& rule, const Target& y, const double* s,
                            const Rounding<Reach>& rounding, std::size_t& rival) {
    const Violation seen = Constraint::violation(g, rule, y, s, rival);
    const double loss =
        rounding.significant(seen.loss, seen.size, static_cast<std::size_t>(y.label), rival);
    return {loss, 0, rule.lo, rule.lo < 0 ? std::abs(loss) : loss, Constraint::takes_part(seen)};
}

/// Names of the constraints in Python.
inline constexpr std::pair<const char*, Task> task_names[] = {{"margin", Task::margin},
                                                              {"tube", Task::tube},
                                                              {"top", Task::top},
                                                              {"predicted", Task::predicted},
                                                              {"support", Task::support}};

/// Call `use` with the constraint of a task.
template <class Use>
[[gnu::always_inline]] inline decltype(auto) with_constraint(Task task, Use&& use) {
    if (task == Task::margin) [[likely]]  // a jump table would cost short rows a few percent
        return use(MarginConstraint{});
    switch (task) {
        case Task::tube:
            return use(TubeConstraint{});
        case Task::top:
            return use(TopConstraint{});
        case Task::predicted:
            return use(PredictedConstraint{});
        default:
            return use(SupportConstraint{});
    }
}

/// Return whether the class of a group is the output with the largest score.
inline bool picks_class(Task task) {
    return with_constraint(task, [](auto c) { return c.classes; });
}

/// Return whether the outputs are values (regression) instead of sides.
inline bool gives_value(Task task) {
    return with_constraint(task, [](auto c) { return c.values; });
}

}  // namespace aggro
