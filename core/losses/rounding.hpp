// Losses that are no larger than the rounding error of the scores.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>

namespace aggro {

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
    double doubtful;  ///< share of the scores below which a loss may be rounding error
    double terms;
    Reach reach;
    double least;  ///< a variance below is none: its inverse squared would overflow

    /// How far a score moves, relative to the size of its terms. Errors add up like a random walk;
    /// the weights carry those of the step that made them, from scores that may have been larger.
    double unit() const { return epsilon * (64 + std::sqrt(terms)); }

    /// The loss, or 0; `size` is that of the margin and of the scores it is made of.
    template <class... Score>
    double significant(double loss, double size, Score... k) const {
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

}  // namespace aggro
