// The tasks of a model and the error counts of its predictions.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/block.hpp"
#include "losses/slack.hpp"

namespace aggro {

enum class Task {
    margin,     ///< one output: y f >= 1
    tube,       ///< one output: |y - f| <= epsilon
    top,        ///< the true class above the best wrong one
    predicted,  ///< like `top`, but only if the prediction was wrong
    support     ///< the true class above every wrong one (support classes)
};

/// The outputs of one problem and their update rule.
struct Group {
    std::size_t first = 0;  ///< the group owns outputs first .. first + count
    std::size_t count = 1;
    Task task = Task::margin;
    std::size_t positive = 0;  ///< the class with target +1, or the column of the target
    Rule rule;
    double gamma = 0;     ///< strength of the pull towards the class means
    bool always = false;  ///< whether to pull if there is no loss, too
};

/// Error counts of each group. Predictions are evaluated before the example is learned.
struct GroupCounts {
    Aligned<std::int64_t> mistakes, updates;
    Aligned<std::int64_t> last_update;  ///< number of examples seen at the last update
    Aligned<double> loss;

    explicit GroupCounts(std::size_t groups = 0)
        : mistakes(groups), updates(groups), last_update(groups), loss(groups) {}
};

/// Bounded losses of one model's predictions, for drift detection. In classification, a loss is 0
/// or 1. In regression, an error e has the loss e / (e + s) with a robust scale s of the errors, so
/// that a usual loss is 1/2 and an outlier at most 1.
struct DriftRecord {
    double weight = 0, squared_weight = 0, loss = 0, squared_loss = 0;
    double scale = 0;  ///< scale of the errors; 0 before the first error

    /// Weights are clamped, so that their squares neither overflow nor underflow.
    void add(double w, double bounded) {
        w = clamped(w);
        weight += w;
        squared_weight += w * w;
        loss += w * bounded;
        squared_loss += w * bounded * bounded;
    }

    /// The scale solves mean(e / (e + s)) = 1/2 (an M-estimator) by stochastic approximation, with
    /// a memory of a few thousand rows.
    void add_error(double w, double error) {
        constexpr double gain = 4, start = 8, rows = 4096, most = 0.5;
        constexpr double largest = std::numeric_limits<double>::max();
        const double bounded = error > 0 ? 1 / (1 + scale / error) : 0;
        add(w, bounded);
        if (scale == 0) {
            scale = std::min(error, largest);
            return;
        }
        const double mean = squared_weight / weight;  // mean weight of a row
        const double rate =
            gain * clamped(w) / mean / (start + std::min(weight / mean, rows - start));
        const double factor = 1 + std::min(rate, most) * (2 * bounded - 1);
        scale = std::min(scale * factor, largest);
    }

  private:
    static double clamped(double w) { return std::clamp(w, 1e-100, 1e100); }
};

/// Progressive validation of whole predictions: of one group, or of several groups that vote. The
/// recent sums discount old examples, so that they follow a drifting stream, and weigh examples.
/// The totals count every example once.
struct Record {
    std::size_t predictors;           ///< predictors of each model: mean weights, last weights
    Aligned<double> mistakes;         ///< errors of each model, with the predictor used at the time
    Aligned<double> distances;        ///< absolute or squared errors of each model, in regression
    Aligned<double> recent_mistakes;  ///< for each predictor of each model
    Aligned<double> recent_loss;      ///< hinge loss, or error in regression
    double recent_examples = 0;
    double recent_weight = 0;    ///< sum of the weights of recent examples
    double recent_squares = 0;   ///< sum of their squared weights
    double memory = 1;           ///< discount factor of the recent sums per example
    double chosen_mistakes = 0;  ///< errors of the model with the best record at the time
    double chosen_error = 0;     ///< the same for errors in regression
    DriftRecord drift;           ///< the same predictions, but never of an ensemble
    // For each predictor of each model, if predictors of two classes can form an ensemble; else
    // empty:
    Aligned<double> part;         ///< coefficient of its score in the ensemble; 0 without one
    Aligned<double> margin_size;  ///< recent sum of the magnitudes of its margins
    Aligned<double> margin_loss;  ///< recent loss of its margins, multiplied by each of `stretches`

    explicit Record(std::size_t models = 0, std::size_t predictors_ = 1)
        : predictors(predictors_),
          mistakes(models),
          recent_mistakes(models * predictors_),
          recent_loss(models * predictors_) {}

    static constexpr std::array<double, 4> stretches{0.5, 1, 2, 4};

    /// Add an example with this weight to the recent sums.
    void count_example(double weight) {
        const double kept = discount();
        weight = clamped(weight);
        recent_examples = recent_examples * kept + 1;
        recent_weight = recent_weight * kept + weight;
        recent_squares = recent_squares * kept + weight * weight;
    }

    /// Return the factor of the recent sums for the next example. The first errors of a regression
    /// are large until the model has learned the size of the targets; a record that counts a
    /// fixed share of all examples forgets them.
    double discount() const {
        constexpr double first = 32, share = 0.5;
        const bool shrinks = !distances.empty() && memory < 1 && recent_examples > first;
        return shrinks ? std::min(memory, 1 - share / recent_examples) : memory;
    }

    /// Clamp a weight, so that its square is a normal number.
    static double clamped(double weight) {
        constexpr double most = 1e90;
        return std::max(1 / most, std::min(most, weight));
    }

    /// Return the weighted error for the recent sums; a finite error stays finite.
    static double weighted(double weight, double error) {
        constexpr double most = 1e290;
        return std::min(clamped(weight) * error, std::max(error, most));
    }

    /// Return the mean weight of an example, weighted by the weights themselves. Measured in this
    /// unit, sums of weighted errors vary by chance like error counts: the recent examples are
    /// equivalent to (sum w)^2 / sum w^2 examples of equal weight.
    double unit_of_weight() const {
        return recent_squares > 0 ? recent_squares / recent_weight : 1;
    }

    /// Return whether the recent record has counted at least n examples, for any discount. (Below a
    /// factor of 0.05, rounding can reduce the count slightly.)
    bool holds(int n) const {
        if (recent_examples >= n) return true;
        constexpr double rounding = 1e-12;
        double discounted = 0;
        for (int i = 0; i < n; ++i) discounted = discounted * memory + 1;
        return recent_examples >= (1 - rounding) * discounted;
    }

    void allow_ensemble() {
        part.assign(recent_mistakes.size(), 0);
        margin_size.assign(part.size(), 0);
        margin_loss.assign(part.size() * stretches.size(), 0);
    }
    bool forms_ensemble() const {
        return std::any_of(part.begin(), part.end(), [](double each) { return each > 0; });
    }

    /// Discount the recent record and add an example with this weight.
    void begin(double weight) {
        count_example(weight);
        if (memory == 1) return;
        for (double& v : recent_mistakes) v *= memory;
        for (double& v : recent_loss) v *= memory;
    }
};

/// The target of an example: a class, or a value for each column.
struct Target {
    std::int64_t label = -1;
    const double* values = nullptr;

    double sign(std::size_t positive) const {
        if (values) return values[positive] > 0 ? 1.0 : -1.0;
        return label == static_cast<std::int64_t>(positive) ? 1.0 : -1.0;
    }
};

/// The result of evaluating an example in a group.
struct Outcome {
    double loss = 0;        ///< unsquared hinge loss or error, before learning
    double kappa = 0;       ///< growth of the precision; 0 if the weights do not move
    bool wrong = false;     ///< whether the prediction was wrong
    bool violated = false;  ///< whether the constraint requires a step
    bool moves = false;     ///< whether some tau is not zero
};

}  // namespace aggro
