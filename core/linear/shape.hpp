// The shape of a model, and how it counts the rounds of its mean.
#pragma once
#include <algorithm>
#include <cstdint>

#include "linear/metric.hpp"
#include "linear/scale.hpp"

namespace aggro {

enum class Predictor { last, average, either, reservoir };

/// How the groups' scores make one prediction, for counting mistakes.
enum class Vote { each, argmax, all };

/// What kind of model to make; fixed for its life.
struct Shape {
    std::size_t features = 0;
    std::size_t outputs = 1;
    bool intercept = true;
    double intercept_scale = 1;  ///< the constant feature; 0: a share of the first row's length
    Metric metric = Metric::euclidean;
    Predictor predictor = Predictor::last;
    std::size_t sums = 0;       ///< class sums kept for the class means; 0 when there is no pull
    bool total = false;         ///< the sum of all examples is kept too (one margin: "the others")
    std::size_t queue = 1;      ///< a step starts from the mean of the last `queue` classifiers
    std::size_t reservoir = 0;  ///< how many classifiers the reservoir holds
    Vote vote = Vote::each;
    std::size_t models = 1;  ///< settings learned side by side, with the same number of groups each
    Scale scale = Scale::none;
    std::size_t spreads = 0;  ///< columns of targets whose spread is the unit of epsilon
    double forgetting = 0;  ///< share of the means and of the precision that a new example replaces
    bool one_class = false;  ///< only one of two classes is known yet: it is the positive one
    bool mergeable = false;  ///< what a merge of models weighs their changes by is counted

    bool averages() const { return predictor == Predictor::average || contested(); }
    /// The mean and the last weights are both evaluated, and the better one predicts.
    bool contested() const { return predictor == Predictor::either; }
    std::size_t rivals() const { return contested() ? 2 : 1; }
};

/// Numbers that are saved with the model.
struct Counters {
    std::int64_t examples = 0;  ///< examples learned from
    std::int64_t averaged = 0;  ///< rounds in the average; late ones counted, of new examples
    std::int64_t frozen = 0;    ///< the class means no longer move
    std::uint64_t random = 0;   ///< state of the reservoir's random numbers
    double late_weight = 0;     ///< of all rounds, where late ones count more
};

/// Where the mean competes with the last weights, late rounds count more: the round after n new
/// examples weighs n³ (polynomial decay), for early weights know little. Passes over known rows do
/// not make n grow, and it has a limit, so that float32 holds the sums.
inline double round_weight(std::int64_t averaged) {
    const auto n = static_cast<double>(std::min<std::int64_t>(averaged, std::int64_t{1} << 20));
    return n * n * n;
}

/// The weight of all rounds in the mean.
inline double averaged_weight(const Shape& shape, const Counters& c) {
    return shape.contested() ? c.late_weight : static_cast<double>(c.averaged);
}

/// Counts rounds that end with the same weights, and returns what they weigh.
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
