// What is wrong: the constraints of one example, and the steps that repair them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/block.hpp"
#include "step/slack.hpp"

namespace aggro {

enum class Task {
    margin,     ///< one output: y f >= 1
    tube,       ///< one output: |y - f| <= epsilon
    top,        ///< the true class above the best wrong one
    predicted,  ///< the same, but only when the prediction was wrong
    support     ///< the true class above every wrong one (support classes)
};

/// Several outputs that answer one question, and the rule they learn by.
struct Group {
    std::size_t first = 0;  ///< its outputs are lanes first .. first + count
    std::size_t count = 1;
    Task task = Task::margin;
    std::size_t positive = 0;  ///< the class that is +1, or the column of the target
    Rule rule;
    double gamma = 0;     ///< pull to the class means
    bool always = false;  ///< pull even when no loss was suffered
};

/// What each group has lived through, judged before each example was learned.
struct Tally {
    Aligned<std::int64_t> mistakes, updates;
    Aligned<std::int64_t> last_update;  ///< how many examples had been seen then
    Aligned<double> loss;

    explicit Tally(std::size_t groups = 0)
        : mistakes(groups), updates(groups), last_update(groups), loss(groups) {}
};

/// What each whole prediction has lived through: of one group, or of several that vote together.
/// The recent record forgets, so that it follows a stream that changes.
struct Record {
    std::size_t rivals;  ///< predictors of each model: the mean of its weights, the last weights
    Aligned<double> mistakes;         ///< of each model, by what predicted at that time
    Aligned<double> recent_mistakes;  ///< of each rival of each model
    Aligned<double> recent_loss;      ///< hinge, or distance to the target
    double recent_examples = 0;
    double chosen_mistakes = 0;  ///< of whichever model had the best record at that time
    double chosen_error = 0;     ///< the same for the distance to the target

    explicit Record(std::size_t models = 0, std::size_t rivals_ = 1)
        : rivals(rivals_),
          mistakes(models),
          recent_mistakes(models * rivals_),
          recent_loss(models * rivals_) {}

    void begin(double memory) {
        recent_examples = recent_examples * memory + 1;
        if (memory == 1) return;
        for (double& v : recent_mistakes) v *= memory;
        for (double& v : recent_loss) v *= memory;
    }
};

/// The answer to one example: a class, or a value for each column.
struct Target {
    std::int64_t label = -1;
    const double* values = nullptr;

    double sign(std::size_t positive) const {
        if (values) return values[positive] > 0 ? 1.0 : -1.0;
        return label == static_cast<std::int64_t>(positive) ? 1.0 : -1.0;
    }
};

/// What an example did to a group.
struct Verdict {
    double loss = 0;       ///< unsquared hinge or tube, before learning
    double kappa = 0;      ///< growth of the precision; 0 when passive
    bool wrong = false;    ///< the prediction was wrong
    bool suffers = false;  ///< the example asks for a step
    bool moves = false;    ///< some tau is not zero
};

/// A loss below this share of its scores may be rounding: their terms may have been some hundred
/// times larger than they are (in double precision, some million times).
template <class T>
inline constexpr double doubtful = sizeof(T) == 8 ? 0x1p-23 : 0x1p-8;

/// A loss no larger than the rounding of the scores it is computed from is none. A step that meets
/// its margin leaves one of that size, and the same row again must not count as another update.
///
/// A score is a sum of `terms` products; rounding moves it by the size of those products, which is
/// more than its own where they cancel. `reach(k)`, their size for score k, takes a walk of its own
/// and is asked for only when the loss is small beside the scores.
template <class Reach>
struct Rounding {
    double epsilon;   ///< of the precision of the scores
    double doubtful;  ///< share of the scores below which a loss is looked at twice
    double terms;
    Reach reach;
    double least;  ///< a variance below is none: its inverse squared would overflow

    /// How far a score moves, relative to the size of its terms. Errors add up like a random walk;
    /// the weights carry those of the step that made them, from scores that may have been larger.
    double unit() const { return epsilon * (64 + std::sqrt(terms)); }

    /// The loss, or 0; `size` is that of the margin and of the scores it is made of.
    template <class... Score>
    double settle(double loss, double size, Score... k) const {
        if (!(std::abs(loss) < doubtful * size)) return loss;
        return std::abs(loss) <= unit() * (size + (reach(k) + ...)) ? 0.0 : loss;
    }
};

/// The rounding of sums of so many products in precision T.
template <class T, class Reach>
inline Rounding<Reach> rounding_of(std::size_t terms, Reach reach) {
    constexpr double epsilon = std::numeric_limits<T>::epsilon();
    constexpr double least = sizeof(T) == 8 ? 0x1p-510 : 0x1p-62;
    return {epsilon, doubtful<T>, static_cast<double>(terms), reach, least};
}

using Ranking = std::vector<std::pair<double, std::size_t>>;

/// A class that suffers less than this, where `worst` is suffered most, is no support class.
inline double support_floor(double worst, double n, const Rule& rule) {
    return std::max(worst / (1 + n / (n + rule.ridge)), worst - rule.cap * n);
}

/// SPA: the steps tau_v of all violated wrong classes, one shared slack (ALGORITHMS: SPA).
///
///   min 1/2 sum ||w_u - w_u'||^2 + penalty(xi)   s.t.   s_y - s_v >= 1 - xi  for all v != y
///
/// `losses` holds (l_v, v). The support classes are those above a level theta, where
/// sum (l_v - theta)+ = min(rho theta, cap): Newton's steps from below reach it soon, unsorted.
/// Writes -tau_v to `tau[v]` and returns T = sum tau_v.
inline double support_classes(Ranking& losses, double n, const Rule& rule, double* tau) {
    double worst = 0;
    for (const auto& [l, v] : losses) worst = std::max(worst, l);
    if (worst <= 0 || !(n > 0)) return 0;
    const double rho = n / (n + rule.ridge), cap = rule.cap * n;
    const double below =
        worst * (1 - std::numeric_limits<double>::epsilon());  // someone is above it
    double theta = 0, total = 0, size = 0;
    for (double before = -1; size != before;) {
        before = size;
        total = size = 0;
        for (const auto& [l, v] : losses) {
            total += l > theta ? l : 0.0;
            size += l > theta ? 1.0 : 0.0;
        }
        theta = std::min(below, std::max({theta, total / (size + rho), (total - cap) / size}));
    }
    const double sum = std::min(rule.cap, total / ((size + 1) * n + size * rule.ridge));
    for (const auto& [l, v] : losses)
        if (l > theta) tau[v] = -(sum / size + (l - total / size) / n);
    return sum;
}

/// The best score among classes other than `label`.
inline std::size_t best_wrong(const double* scores, std::size_t count, std::size_t label) {
    std::size_t best = label == 0 ? 1 : 0;
    double most = scores[best];
    for (std::size_t v = 0; v < count; ++v)
        if (v != label && scores[v] > most) most = scores[best = v];
    return best;
}

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

/// One output: the margin or the tube. `length()` is asked for only when it is needed.
template <class Length, class Reach>
[[gnu::always_inline]] inline Verdict judge_one(const Group& g, const Rule& rule,
                                                const Target& target, double score, Length&& length,
                                                const Rounding<Reach>& rounding, double* tau) {
    Verdict verdict;
    double sign, loss;
    if (g.task == Task::margin) {
        if (rule.doubt != Doubt::none)
            return judge_doubt(g, rule, target, score, length, rounding, tau);
        sign = target.sign(g.positive);
        verdict.wrong = (score > 0) != (sign > 0);
        loss = rounding.settle(rule.margin - sign * score, rule.margin + std::abs(score),
                               std::size_t{0});
        verdict.loss = reported(loss + (1 - rule.margin), rule);
    } else {
        const double y = target.values[g.positive], error = y - score;
        sign = error > 0 ? 1.0 : error < 0 ? -1.0 : 0.0;
        loss = rounding.settle(std::abs(error) - rule.epsilon, std::abs(y) + std::abs(score),
                               std::size_t{0});
        verdict.loss = reported(loss, rule);
    }
    tau[0] = 0;
    verdict.suffers = rule.acts_on(loss);
    if (!verdict.suffers) return verdict;
    tau[0] = sign * step_size(loss, length(), rule);
    verdict.kappa = rule.kappa;
    verdict.moves = tau[0] != 0;
    return verdict;
}

/// Several classes: the true one against the best wrong one, or against all.
template <class Length, class Reach>
inline Verdict judge_classes(const Group& g, const Rule& rule, const Target& target,
                             const double* scores, Length&& length, const Rounding<Reach>& rounding,
                             double* tau, Ranking& ranking) {
    Verdict verdict;
    std::fill_n(tau, g.count, 0.0);
    if (g.count < 2) return verdict;
    const auto y = static_cast<std::size_t>(target.label);
    const std::size_t rival = best_wrong(scores, g.count, y);
    verdict.wrong = scores[rival] > scores[y] || (scores[rival] == scores[y] && rival < y);
    const double size = rule.margin + std::abs(scores[y]) + std::abs(scores[rival]);
    const double loss = rounding.settle(rule.margin - scores[y] + scores[rival], size, y, rival);
    verdict.loss = reported(loss + (1 - rule.margin), rule);
    verdict.suffers = rule.acts_on(loss) && (g.task != Task::predicted || verdict.wrong);
    if (!verdict.suffers) return verdict;
    const double q = length();
    if (g.task == Task::support) {
        ranking.clear();
        const double floor = q > 0 ? support_floor(loss, q, rule) : 0;
        for (std::size_t v = 0; v < g.count; ++v)
            if (const double l = rule.margin - scores[y] + scores[v]; v != y && l >= floor)
                ranking.emplace_back(l, v);
        tau[y] = support_classes(ranking, q, rule, tau);
    } else {
        tau[y] = step_size(loss, 2 * q, rule);
        tau[rival] = -tau[y];
    }
    verdict.kappa = rule.kappa;
    verdict.moves = tau[y] != 0;
    return verdict;
}

template <class Length, class Reach>
[[gnu::always_inline]] inline Verdict judge(const Group& g, const Rule& rule, const Target& target,
                                            const double* scores, Length&& length,
                                            const Rounding<Reach>& rounding, double* tau,
                                            Ranking& ranking) {
    if (g.task == Task::margin || g.task == Task::tube)
        return judge_one(g, rule, target, scores[0], length, rounding, tau);
    return judge_classes(g, rule, target, scores, length, rounding, tau, ranking);
}

}  // namespace aggro
