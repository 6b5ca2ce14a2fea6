// Several examples in one step: the exact solution of a mini-batch (ALGORITHMS §8).
//
//   minimise  1/2 ||w - c||^2 + sum_k penalty_k(xi_k)   subject to  every margin of every example
//
// Mathematics on small dense arrays; how rows and weights are stored is the caller's business.
#pragma once
#include <functional>

#include "step/batch_box.hpp"
#include "step/batch_support.hpp"
#include "step/judge.hpp"

namespace aggro {

/// The examples of one batch as one group sees them, at the centre c.
struct BatchProblem {
    std::size_t size = 0;
    const double* gram = nullptr;    ///< size x size: x_j' Sigma x_k, with the constant feature
    const double* scores = nullptr;  ///< size x group.count, at the centre
    const Target* targets = nullptr;
    const Rule* rules = nullptr;  ///< one per example, priced by its weight (> 0)
    /// The size of the terms of score k of example j, and the precision of those scores.
    std::function<double(std::size_t j, std::size_t k)> reach = [](auto, auto) { return 0.0; };
    double epsilon = std::numeric_limits<double>::epsilon(), doubtful = aggro::doubtful<double>;
    double terms = 0;

    auto rounding(std::size_t j) const {
        const auto own = [this, j](std::size_t k) { return reach(j, k); };
        return Rounding<decltype(own)>{epsilon, doubtful, terms, own, 0};
    }
};

/// Memory that is used again from batch to batch.
struct BatchWork {
    BoxDual box;
    SupportDual support;
    Ranking ranking;
    std::vector<std::size_t> rivals;  ///< the best wrong class of each example
    std::vector<double> steps;        ///< how far each example moves its outputs at most
};

/// What example k adds to the dual; `rival` becomes its best wrong class, if it has classes.
template <class Constraint>
inline BatchTerm batch_term(const Group& g, const BatchProblem& p, std::size_t k,
                            std::size_t& rival) {
    const double* s = p.scores + k * g.count;
    if constexpr (Constraint::classes)
        return class_term<Constraint>(g, p.rules[k], p.targets[k], s, p.rounding(k), rival);
    else
        return Constraint::term(g, p.rules[k], p.targets[k], s, p.rounding(k), rival);
}

/// Writes the dual into `work.box`; false if no example asks for a step.
template <class Constraint>
inline bool pose_batch(const Group& g, const BatchProblem& p, BatchWork& work) {
    BoxDual& box = work.box;
    bool asks = false;
    box.resize(p.size);
    work.rivals.resize(p.size);
    for (std::size_t k = 0; k < p.size; ++k) {
        const BatchTerm term = batch_term<Constraint>(g, p, k, work.rivals[k]);
        box.linear[k] = term.raw;
        box.epsilon[k] = term.width;
        box.upper[k] = term.part ? p.rules[k].cap : 0;
        box.lower[k] = term.part ? term.lower : 0;
        asks = asks || (term.part && term.suffered > 0);
    }
    if (!asks) return false;
    for (std::size_t j = 0; j < p.size; ++j) {
        for (std::size_t k = 0; k < p.size; ++k)
            box.Q[j * p.size + k] =
                p.gram[j * p.size + k] * Constraint::agreement(g, p.targets[j], p.targets[k],
                                                               work.rivals[j], work.rivals[k]);
        // a row without length has nothing to move along, whatever the price
        if (p.gram[j * p.size + j] >= std::numeric_limits<double>::min())
            box.Q[j * p.size + j] += p.rules[j].ridge;
    }
    return true;
}

/// Takes back the steps of examples whose loss was met by the others, but for rounding: a step that
/// ends below its cap answers a loss of (q + ridge) times its length.
template <class Constraint>
inline void settle_batch(const Group& g, const BatchProblem& p, double* tau,
                         std::vector<double>& steps) {
    steps.assign(p.size, 0.0);
    for (std::size_t i = 0; i < p.size * g.count; ++i)
        steps[i / g.count] = std::max(steps[i / g.count], std::abs(tau[i]));
    for (std::size_t k = 0; k < p.size; ++k) {
        const double step = steps[k], loss = step * (p.gram[k * p.size + k] + p.rules[k].ridge);
        if (step == 0 || step >= p.rules[k].cap) continue;
        double size = Constraint::size(g, p.rules[k], p.targets[k]);
        for (std::size_t u = 0; u < g.count; ++u) size += std::abs(p.scores[k * g.count + u]);
        for (std::size_t j = 0; j < p.size; ++j)
            size += std::abs(p.gram[k * p.size + j]) * steps[j];
        if (!(loss < p.doubtful * size)) continue;
        for (std::size_t u = 0; u < g.count; ++u) size += p.reach(k, u);
        if (loss <= p.rounding(k).unit() * size) std::fill_n(tau + k * g.count, g.count, 0.0);
    }
}

/// Fills `tau` (size x group.count). False if a hard batch contradicts itself.
template <class Constraint>
inline bool solve_constraints(const Group& g, const BatchProblem& p, double* tau, BatchWork& work) {
    if constexpr (Constraint::own_dual) {
        if (!work.support.solve(p.size, g.count, p.gram, p.scores, p.targets, p.rules, tau))
            return false;
    } else {
        std::fill_n(tau, p.size * g.count, 0.0);
        if ((Constraint::classes && g.count < 2) || !pose_batch<Constraint>(g, p, work))
            return true;
        if (!work.box.solve()) return false;
        for (std::size_t k = 0; k < p.size; ++k)
            if (const double t = work.box.t[k]; t != 0)
                Constraint::write(g, p.targets[k], work.rivals[k], t, tau + k * g.count);
    }
    settle_batch<Constraint>(g, p, tau, work.steps);
    return true;
}

/// Solves a batch for one group. `tau` (size x group.count) is the coefficient of x_k in w_u.
/// False if a hard batch contradicts itself: take its examples one after another.
/// Perceptrons and rules with doubt have no batch problem.
inline bool solve_batch(const Group& g, const BatchProblem& p, double* tau, BatchWork& work) {
    if (p.size == 1) {
        judge(
            g, p.rules[0], p.targets[0], p.scores, [&] { return p.gram[0]; }, p.rounding(0), tau,
            work.ranking);
        return true;
    }
    return with_constraint(g.task, [&]<class Constraint>(Constraint) {
        return solve_constraints<Constraint>(g, p, tau, work);
    });
}

}  // namespace aggro
