// The solver of mini-batches, compiled once for all kinds of models.
#include "qp/batch.hpp"

namespace aggro {

namespace {

/// Return the dual term of example k, and set `rival` to its best wrong class if it has classes.
template <class Constraint>
BatchTerm batch_term(const Group& g, const BatchProblem& p, std::size_t k, std::size_t& rival) {
    const double* s = p.scores + k * g.count;
    if constexpr (Constraint::classes)
        return class_term<Constraint>(g, p.rules[k], p.targets[k], s, p.rounding(k), rival);
    else
        return Constraint::term(g, p.rules[k], p.targets[k], s, p.rounding(k), rival);
}

/// Return the magnitude of the terms of the scores of example k. It is needed for hard constraints
/// only, because only they can contradict each other.
double terms_of_hard(const Group& g, const BatchProblem& p, std::size_t k) {
    double size = 0;
    if (p.rules[k].cap < infinity || p.rules[k].ridge > 0) return size;
    for (std::size_t u = 0; u < g.count; ++u)
        size += std::abs(p.scores[k * g.count + u]) + p.reach(k, u);
    return size;
}

/// Write the dual into `work.box`; return false if no example requires a step.
template <class Constraint>
bool pose_batch(const Group& g, const BatchProblem& p, BatchWork& work) {
    BoxDual& box = work.box;
    bool asks = false;
    box.resize(p.size);
    work.rivals.resize(p.size);
    for (std::size_t k = 0; k < p.size; ++k) {
        const BatchTerm term = batch_term<Constraint>(g, p, k, work.rivals[k]);
        box.linear[k] = term.raw;
        box.epsilon[k] = term.width;
        box.terms[k] = terms_of_hard(g, p, k);
        box.upper[k] = term.part ? p.rules[k].cap : 0;
        box.lower[k] = term.part ? term.lower : 0;
        asks = asks || (term.part && term.loss > 0);
    }
    if (!asks) return false;
    for (std::size_t j = 0; j < p.size; ++j) {
        for (std::size_t k = 0; k < p.size; ++k)
            box.Q[j * p.size + k] =
                p.gram[j * p.size + k] * Constraint::agreement(g, p.targets[j], p.targets[k],
                                                               work.rivals[j], work.rivals[k]);
        // a row of length zero has no direction for a step, whatever C is
        if (p.gram[j * p.size + j] >= std::numeric_limits<double>::min())
            box.Q[j * p.size + j] += p.rules[j].ridge;
    }
    return true;
}

/// Remove steps of examples whose remaining loss was only rounding error after the steps of the
/// others: a step below its cap corrects a loss of (q + ridge) times the step.
template <class Constraint>
void clear_rounding(const Group& g, const BatchProblem& p, double* tau,
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

/// Fill `tau` (size x group.count); return false if hard constraints contradict each other.
template <class Constraint>
bool solve_constraints(const Group& g, const BatchProblem& p, double* tau, BatchWork& work) {
    work.support.precision = p.epsilon;
    work.box.accuracy = std::max(BoxDual::exact, 4 * p.epsilon);
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
    clear_rounding<Constraint>(g, p, tau, work.steps);
    return true;
}

/// Compute the step of example k alone.
void evaluate_alone(const Group& g, const BatchProblem& p, std::size_t k, const double* scores,
                    double* tau, Ranking& ranking) {
    evaluate(
        g, p.rules[k], p.targets[k], scores, [&] { return p.gram[k * p.size + k]; }, p.rounding(k),
        tau, ranking);
}

}  // namespace

bool solve_batch(const Group& g, const BatchProblem& p, double* tau, BatchWork& work) {
    if (p.size == 1) return evaluate_alone(g, p, 0, p.scores, tau, work.ranking), true;
    return with_constraint(g.task, [&]<class Constraint>(Constraint) {
        return solve_constraints<Constraint>(g, p, tau, work);
    });
}

void step_batch(const Group& g, const BatchProblem& p, double* tau, BatchWork& work) {
    if (solve_batch(g, p, tau, work)) return;
    work.scores.assign(p.scores, p.scores + p.size * g.count);
    for (std::size_t j = 0; j < p.size; ++j) {
        double* at = work.scores.data() + j * g.count;
        for (std::size_t i = 0; i < j; ++i)
            for (std::size_t k = 0; k < g.count; ++k)
                at[k] += p.gram[j * p.size + i] * tau[i * g.count + k];
        evaluate_alone(g, p, j, at, tau + j * g.count, work.ranking);
    }
}

}  // namespace aggro
