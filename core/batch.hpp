// Several examples in one step: the exact solution of a mini-batch (ALGORITHMS §8).
//
//   minimise  1/2 ||w - c||^2 + sum_k penalty_k(xi_k)   subject to  every margin of every example
//
// Mathematics on small dense arrays; how rows and weights are stored is the caller's business.
#pragma once
#include <functional>

#include "batch_box.hpp"
#include "batch_support.hpp"

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

/// What an example suffers at the centre, and whether it takes part.
struct BatchLoss {
    double raw = 0;    ///< margin - y f, not clipped; for a tube y - f
    double width = 0;  ///< half the width of the tube
    bool part = true;
};

inline BatchLoss batch_loss(const Group& g, const BatchProblem& p, std::size_t k, BatchWork& work) {
    const double* s = p.scores + k * g.count;
    const Target& target = p.targets[k];
    const Rule& rule = p.rules[k];
    const auto rounding = p.rounding(k);
    if (g.task == Task::margin)
        return {rounding.settle(rule.margin - target.sign(g.positive) * s[0],
                                rule.margin + std::abs(s[0]), std::size_t{0})};
    if (g.task == Task::tube) {
        const double width = rule.lo < 0 ? 0 : rule.epsilon,
                     error = target.values[g.positive] - s[0],
                     size = std::abs(target.values[g.positive]) + std::abs(s[0]);
        const double loss = rounding.settle(std::abs(error) - width, size, std::size_t{0});
        return {std::copysign(loss + width, error), width};
    }
    const auto y = static_cast<std::size_t>(target.label);
    const std::size_t rival = work.rivals[k] = best_wrong(s, g.count, y);
    const bool wrong = s[rival] > s[y] || (s[rival] == s[y] && rival < y);
    const double size = rule.margin + std::abs(s[y]) + std::abs(s[rival]);
    return {rounding.settle(rule.margin - s[y] + s[rival], size, y, rival), 0,
            g.task != Task::predicted || wrong};
}

/// <delta_j, delta_k>: the signs y_j y_k, or how much two pairs of classes have in common.
inline double batch_agreement(const Group& g, const BatchProblem& p, const BatchWork& work,
                              std::size_t j, std::size_t k) {
    if (g.task == Task::tube) return 1;
    if (g.task == Task::margin)
        return p.targets[j].sign(g.positive) * p.targets[k].sign(g.positive);
    const auto y = static_cast<std::size_t>(p.targets[j].label);
    const auto z = static_cast<std::size_t>(p.targets[k].label);
    const std::size_t r = work.rivals[j], s = work.rivals[k];
    return (y == z) + (r == s) - (y == s) - (r == z);
}

/// Writes the dual into `work.box`; false if no example asks for a step.
inline bool pose_batch(const Group& g, const BatchProblem& p, BatchWork& work) {
    BoxDual& box = work.box;
    bool asks = false;
    box.resize(p.size);
    work.rivals.resize(p.size);
    for (std::size_t k = 0; k < p.size; ++k) {
        const BatchLoss loss = batch_loss(g, p, k, work);
        const Rule& rule = p.rules[k];
        const bool tube = g.task == Task::tube;
        box.linear[k] = loss.raw;
        box.epsilon[k] = loss.width;
        box.upper[k] = loss.part ? rule.cap : 0;
        box.lower[k] = !loss.part ? 0 : tube ? -rule.cap : rule.lo;
        const double suffered = tube || rule.lo < 0 ? std::abs(loss.raw) - loss.width : loss.raw;
        asks = asks || (loss.part && suffered > 0);
    }
    if (!asks) return false;
    for (std::size_t j = 0; j < p.size; ++j) {
        for (std::size_t k = 0; k < p.size; ++k)
            box.Q[j * p.size + k] = p.gram[j * p.size + k] * batch_agreement(g, p, work, j, k);
        // a row without length has nothing to move along, whatever the price
        if (p.gram[j * p.size + j] >= std::numeric_limits<double>::min())
            box.Q[j * p.size + j] += p.rules[j].ridge;
    }
    return true;
}

/// Turns the answer into the coefficient of x_k in each w_u.
inline void write_batch(const Group& g, const BatchProblem& p, const BatchWork& work, double* tau) {
    for (std::size_t k = 0; k < p.size; ++k) {
        const double t = work.box.t[k];
        double* own = tau + k * g.count;
        if (t == 0) continue;
        if (g.task == Task::tube)
            own[0] = t;
        else if (g.task == Task::margin)
            own[0] = t * p.targets[k].sign(g.positive);
        else
            own[static_cast<std::size_t>(p.targets[k].label)] = t, own[work.rivals[k]] = -t;
    }
}

/// Takes back the steps of examples whose loss was met by the others, but for rounding: a step that
/// ends below its cap answers a loss of (q + ridge) times its length.
inline void settle_batch(const Group& g, const BatchProblem& p, double* tau,
                         std::vector<double>& steps) {
    steps.assign(p.size, 0.0);
    for (std::size_t i = 0; i < p.size * g.count; ++i)
        steps[i / g.count] = std::max(steps[i / g.count], std::abs(tau[i]));
    for (std::size_t k = 0; k < p.size; ++k) {
        const double step = steps[k], loss = step * (p.gram[k * p.size + k] + p.rules[k].ridge);
        if (step == 0 || step >= p.rules[k].cap) continue;
        double size =
            g.task == Task::tube ? std::abs(p.targets[k].values[g.positive]) : p.rules[k].margin;
        for (std::size_t u = 0; u < g.count; ++u) size += std::abs(p.scores[k * g.count + u]);
        for (std::size_t j = 0; j < p.size; ++j)
            size += std::abs(p.gram[k * p.size + j]) * steps[j];
        if (!(loss < p.doubtful * size)) continue;
        for (std::size_t u = 0; u < g.count; ++u) size += p.reach(k, u);
        if (loss <= p.rounding(k).unit() * size) std::fill_n(tau + k * g.count, g.count, 0.0);
    }
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
    const bool classes = g.task != Task::margin && g.task != Task::tube;
    if (g.task == Task::support) {
        if (!work.support.solve(p.size, g.count, p.gram, p.scores, p.targets, p.rules, tau))
            return false;
    } else {
        std::fill_n(tau, p.size * g.count, 0.0);
        if ((classes && g.count < 2) || !pose_batch(g, p, work)) return true;
        if (!work.box.solve()) return false;
        write_batch(g, p, work, tau);
    }
    settle_batch(g, p, tau, work.steps);
    return true;
}

}  // namespace aggro
