// Tasks of a model, and the counts of its predictions.
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
    predicted,  ///< the same, but only when the prediction was wrong
    support     ///< the true class above every wrong one (support classes)
};

/// Outputs of one problem, and the rule they learn by.
struct Group {
    std::size_t first = 0;  ///< its outputs are lanes first .. first + count
    std::size_t count = 1;
    Task task = Task::margin;
    std::size_t positive = 0;  ///< the class that is +1, or the column of the target
    Rule rule;
    double gamma = 0;     ///< pull to the class means
    bool always = false;  ///< pull even if there is no loss
};

/// Counts of each group, from the predictions before each example was learned.
struct Tally {
    Aligned<std::int64_t> mistakes, updates;
    Aligned<std::int64_t> last_update;  ///< how many examples had been seen then
    Aligned<double> loss;

    explicit Tally(std::size_t groups = 0)
        : mistakes(groups), updates(groups), last_update(groups), loss(groups) {}
};

/// Bounded losses of the predictions of one model, for drift detection: 0 or 1 in classification.
/// In regression an error e costs e / (e + s) with a robust scale s of the errors, so that a usual
/// loss is 1/2 and no outlier costs more than 1.
struct DriftRecord {
    double weight = 0, squared_weight = 0, loss = 0, squared_loss = 0;
    double scale = 0;  ///< of the errors; 0 before the first one

    /// Weights are clamped so that their squares neither overflow nor vanish.
    void add(double w, double bounded) {
        w = clamped(w);
        weight += w;
        squared_weight += w * w;
        loss += w * bounded;
        squared_loss += w * bounded * bounded;
    }

    /// The scale is the M-estimator that solves mean(e / (e + s)) = 1/2, by stochastic
    /// approximation: it follows the errors of the last few thousand rows.
    void add_error(double w, double error) {
        constexpr double gain = 4, start = 8, rows = 4096, most = 0.5;
        constexpr double largest = std::numeric_limits<double>::max();
        const double bounded = error > 0 ? 1 / (1 + scale / error) : 0;
        add(w, bounded);
        if (scale == 0) {
            scale = std::min(error, largest);
            return;
        }
        const double mean = squared_weight / weight;  // weight of a typical row
        const double rate =
            gain * clamped(w) / mean / (start + std::min(weight / mean, rows - start));
        const double factor = 1 + std::min(rate, most) * (2 * bounded - 1);
        scale = std::min(scale * factor, largest);
    }

  private:
    static double clamped(double w) { return std::clamp(w, 1e-100, 1e100); }
};

/// Progressive validation of whole predictions: of one group, or of several that vote together.
/// The recent sums discount old examples, so that they follow a stream that changes, and each
/// example counts in them by its weight. The totals count every example once.
struct Record {
    std::size_t rivals;  ///< predictors of each model: the mean of its weights, the last weights
    Aligned<double> mistakes;         ///< of each model, by what predicted at that time
    Aligned<double> distances;        ///< the same for the distance to the target, in regression
    Aligned<double> recent_mistakes;  ///< of each rival of each model
    Aligned<double> recent_loss;      ///< hinge, or distance to the target
    double recent_examples = 0;
    double recent_weight = 0;    ///< of the recent examples
    double recent_squares = 0;   ///< their squared weights
    double memory = 1;           ///< what an example leaves of the recent record before it
    double chosen_mistakes = 0;  ///< of the model with the best record at that time
    double chosen_error = 0;     ///< the same for the distance to the target
    DriftRecord drift;           ///< of the same predictions, never of an ensemble
    // Of each rival of each model, where those of two classes may answer jointly, and else empty:
    Aligned<double> part;  ///< the coefficient of its score in the answer; 0 while one answers
    Aligned<double> margin_size;  ///< recent sum of the sizes of its margins
    Aligned<double> margin_loss;  ///< recent loss of its margins, for each way to stretch them

    explicit Record(std::size_t models = 0, std::size_t rivals_ = 1)
        : rivals(rivals_),
          mistakes(models),
          recent_mistakes(models * rivals_),
          recent_loss(models * rivals_) {}

    static constexpr std::array<double, 4> stretches{0.5, 1, 2, 4};

    /// Counts one more example of this weight.
    void count_example(double weight) {
        weight = moderate(weight);
        recent_examples = recent_examples * memory + 1;
        recent_weight = recent_weight * memory + weight;
        recent_squares = recent_squares * memory + weight * weight;
    }

    /// A weight whose square is a normal number.
    static double moderate(double weight) {
        constexpr double most = 1e90;
        return std::max(1 / most, std::min(most, weight));
    }

    /// What an error adds to the sums of recent ones; a finite error adds a finite number.
    static double weighted(double weight, double error) {
        constexpr double most = 1e290;
        return std::min(moderate(weight) * error, std::max(error, most));
    }

    /// The mean weight of an example, weighted by the weights themselves. In units of it, sums of
    /// weighted mistakes vary by chance like counts of mistakes: the recent examples are worth
    /// (sum w)^2 / sum w^2 examples of equal weight.
    double unit_of_weight() const {
        return recent_squares > 0 ? recent_squares / recent_weight : 1;
    }

    /// Whether the recent record has counted at least n examples, however fast it discounts them.
    /// (Beyond a discount of 95 %, rounding makes it a few less.)
    bool holds(int n) const {
        if (recent_examples >= n) return true;
        constexpr double rounding = 1e-12;
        double discounted = 0;
        for (int i = 0; i < n; ++i) discounted = discounted * memory + 1;
        return recent_examples >= (1 - rounding) * discounted;
    }

    void may_answer_jointly() {
        part.assign(recent_mistakes.size(), 0);
        margin_size.assign(part.size(), 0);
        margin_loss.assign(part.size() * stretches.size(), 0);
    }
    bool answers_jointly() const {
        return std::any_of(part.begin(), part.end(), [](double each) { return each > 0; });
    }

    /// Discounts the recent record and counts one more example of this weight in it.
    void begin(double weight) {
        count_example(weight);
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

/// The outcome of an example in a group.
struct Outcome {
    double loss = 0;        ///< unsquared hinge or tube, before learning
    double kappa = 0;       ///< growth of the precision; 0 when passive
    bool wrong = false;     ///< the prediction was wrong
    bool violated = false;  ///< the constraint calls for a step
    bool moves = false;     ///< some tau is not zero
};

}  // namespace aggro
