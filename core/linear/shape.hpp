// The shape of a model, and the weights of rounds in its mean.
#pragma once
#include <algorithm>
#include <cstdint>

#include "linear/metric.hpp"
#include "linear/scale.hpp"

namespace aggro {

enum class Predictor { last, average, either, reservoir };

/// How the scores of the groups make one prediction, for counting mistakes.
enum class Vote { each, argmax, all };

/// The immutable options of a model.
struct Shape {
    std::size_t features = 0;
    std::size_t outputs = 1;
    bool intercept = true;
    double intercept_scale = 1;  ///< the constant feature; 0: a share of the first row's length
    Metric metric = Metric::euclidean;
    Predictor predictor = Predictor::last;
    std::size_t sums = 0;       ///< number of class sums; 0 without class means
    bool total = false;         ///< keep the sum of all examples too (for the others of one margin)
    std::size_t queue = 1;      ///< steps start from the mean of the last `queue` classifiers
    std::size_t reservoir = 0;  ///< capacity of the reservoir
    Vote vote = Vote::each;
    std::size_t models = 1;  ///< candidates learned together, with the same number of groups each
    Scale scale = Scale::none;
    std::size_t spreads = 0;  ///< columns of targets whose spread is the unit of epsilon
    double forgetting = 0;  ///< share of the means and of the precision that a new example replaces
    bool one_class = false;       ///< only one of two classes is known yet, as the positive one
    bool mergeable = false;       ///< count updates, by which a merge weighs the changes of models
    bool squared_errors = false;  ///< record the squared errors of a regression, not absolute ones

    bool averages() const { return predictor == Predictor::average || contested(); }
    /// Return whether the mean and the last weights are both evaluated, and the better one
    /// predicts.
    bool contested() const { return predictor == Predictor::either; }
    std::size_t predictors() const { return contested() ? 2 : 1; }
};

/// Counters that are saved with the model.
struct Counters {
    std::int64_t examples = 0;  ///< examples learned from
    std::int64_t averaged =
        0;                    ///< rounds in the average; if late ones weigh more, only new examples
    std::int64_t frozen = 0;  ///< passes over known rows: class means do not change
    std::uint64_t random = 0;  ///< state of the reservoir's random numbers
    double late_weight = 0;    ///< of all rounds, if late ones weigh more
};

/// Return the weight of a round if the mean competes with the last weights: the round after n new
/// examples weighs n³ (polynomial decay), since early weights have seen few examples. Passes over
/// known rows do not increase n, and n is bounded so that float32 can represent the sums.
inline double round_weight(std::int64_t averaged) {
    const auto n = static_cast<double>(std::min<std::int64_t>(averaged, std::int64_t{1} << 20));
    return n * n * n;
}

/// Return the total weight of the rounds in the mean.
inline double averaged_weight(const Shape& shape, const Counters& c) {
    return shape.contested() ? c.late_weight : static_cast<double>(c.averaged);
}

/// Count rounds that end with the same weights, and return their weight.
inline double count_rounds(const Shape& shape, Counters& c, std::int64_t rounds) {
    if (!shape.contested()) return c.averaged += rounds, static_cast<double>(rounds);
    double weight = 0;
    for (std::int64_t i = 0; i < rounds; ++i) {
        if (!c.frozen) ++c.averaged;
        weight += round_weight(c.averaged);
    }
    c.late_weight += weight;
    return weight;
}

}  // namespace aggro
