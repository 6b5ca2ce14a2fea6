// Several examples in one step: the exact solution of a mini-batch (docs/algorithms.md,
// "Mini-batches").
//
//   minimise  1/2 ||w - c||^2 + sum_k penalty_k(xi_k)   subject to  every margin of every example
//
// Mathematics on small dense arrays; how rows and weights are stored is the caller's business.
#pragma once
#include <functional>

#include "constraints/evaluate.hpp"
#include "qp/batch_box.hpp"
#include "qp/batch_support.hpp"

namespace aggro {

/// The examples of one batch as one group sees them, at the centre c.
struct BatchProblem {
    std::size_t size = 0;
    const double* gram = nullptr;    ///< size x size: x_j' Sigma x_k, with the constant feature
    const double* scores = nullptr;  ///< size x group.count, at the centre
    const Target* targets = nullptr;
    const Rule* rules = nullptr;  ///< one per example, scaled_C by its weight (> 0)
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
    std::vector<double> scores;       ///< as they move, where examples are taken one by one
    std::vector<double> steps;        ///< how far each example moves its outputs at most
};

/// Solves a batch for one group. `tau` (size x group.count) is the coefficient of x_k in w_u.
/// False if a hard batch contradicts itself. Perceptrons and rules with doubt have no batch
/// problem.
bool solve_batch(const Group& g, const BatchProblem& p, double* tau, BatchWork& work);

/// The same where contradictory hard examples, which cannot all be met, are taken one after
/// another, each from where the ones before have moved the scores.
void step_batch(const Group& g, const BatchProblem& p, double* tau, BatchWork& work);

}  // namespace aggro
