// Detection of losses below the rounding error of the scores.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>

namespace aggro {

/// A loss below this fraction of the scores may be rounding error, because the terms of the scores
/// may be a few hundred times (in double precision, a few million times) larger than their sum.
template <class T>
inline constexpr double doubtful = sizeof(T) == 8 ? 0x1p-23 : 0x1p-8;

/// Sets losses below the rounding error of their scores to zero. A step that satisfies its margin
/// leaves such a loss, and learning the same row again must not count as another update.
///
/// A score is a sum of `terms` products. Its rounding error is proportional to the magnitude of
/// these products, which exceeds the score if they cancel. `magnitude(k)` computes it for score k
/// in a separate pass over the row, and is called only if the loss is small relative to the scores.
template <class Reach>
struct Rounding {
    double epsilon;   ///< machine epsilon of the scores
    double doubtful;  ///< fraction of the scores below which a loss may be rounding error
    double terms;
    Reach reach;
    double least;  ///< smaller variances count as zero, because their inverse square would overflow

    /// Return the rounding error of a score relative to the magnitude of its terms. Errors
    /// accumulate like a random walk. Weights inherit the error of the step that made them, whose
    /// scores may have been larger.
    double unit() const { return epsilon * (64 + std::sqrt(terms)); }

    /// Return the loss, or 0 if it is rounding error; `size` is the magnitude of the margin and the
    /// scores in it.
    template <class... Score>
    double significant(double loss, double size, Score... k) const {
        if (!(std::abs(loss) < doubtful * size)) return loss;
        return std::abs(loss) <= unit() * (size + (reach(k) + ...)) ? 0.0 : loss;
    }
};

/// Return the rounding of sums of `terms` products in precision T.
template <class T, class Reach>
inline Rounding<Reach> rounding_of(std::size_t terms, Reach reach) {
    constexpr double epsilon = std::numeric_limits<T>::epsilon();
    constexpr double least = sizeof(T) == 8 ? 0x1p-510 : 0x1p-62;
    return {epsilon, doubtful<T>, static_cast<double>(terms), reach, least};
}

}  // namespace aggro
