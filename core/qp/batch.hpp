// Exact solution of a mini-batch (docs/algorithms.md, "Mini-batches").
//
//   minimise  1/2 ||w - c||^2 + sum_k penalty_k(xi_k)   subject to  every margin of every example
//
// This code uses small dense arrays only and does not depend on how rows and weights are stored.
#pragma once
#include <functional>

#include "constraints/evaluate.hpp"
#include "qp/batch_box.hpp"
#include "qp/batch_support.hpp"

namespace aggro {

/// The examples of a batch for one group, at the centre c.
struct BatchProblem {
    std::size_t size = 0;
    const double* gram = nullptr;    ///< size x size: x_j' Sigma x_k, with the constant feature
    const double* scores = nullptr;  ///< size x group.count, at the centre
    const Target* targets = nullptr;
    const Rule* rules = nullptr;  ///< one per example, scaled by its weight (> 0)
    /// Magnitude of the terms of score k of example j, and the precision of the scores.
    std::function<double(std::size_t j, std::size_t k)> reach = [](auto, auto) { return 0.0; };
    double epsilon = std::numeric_limits<double>::epsilon(), doubtful = aggro::doubtful<double>;
    double terms = 0;

    auto rounding(std::size_t j) const {
        const auto own = [this, j](std::size_t k) { return reach(j, k); };
        return Rounding<decltype(own)>{epsilon, doubtful, terms, own, 0};
    }
};

/// Memory that is reused for all batches.
struct BatchWork {
    BoxDual box;
    SupportDual support;
    Ranking ranking;
    std::vector<std::size_t> rivals;  ///< the best wrong class of each example
    std::vector<double> scores;       ///< current scores, if examples are learned one by one
    std::vector<double> steps;        ///< largest step of each example
};

/// Solve a batch for one group: `tau` (size x group.count) is the coefficient of x_k in w_u. Return
/// false if hard constraints contradict each other. Perceptrons and confidence-weighted rules have
/// no batch problem.
bool solve_batch(const Group& g, const BatchProblem& p, double* tau, BatchWork& work);

/// Solve a batch. If hard constraints contradict each other, learn the examples one after another,
/// each with the scores after the previous steps.
void step_batch(const Group& g, const BatchProblem& p, double* tau, BatchWork& work);

}  // namespace aggro
