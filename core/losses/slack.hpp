// Step sizes: each published penalty is described by three numbers, each confidence-weighted rule
// by one more.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

namespace aggro {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The required margin: constant, or proportional to the variance or deviation of the score.
enum class Uncertainty { none, variance, deviation };

/// The penalty of a violated constraint: tau = clip(loss / (q + ridge), lo, cap).
///
///   hard           (0, inf, 0)          hinge (PA-I)        (0, C, 0)
///   squared hinge  (0, inf, 1/2C)       least squares       (-inf, inf, 1/2C)
///   Perceptron     (1, 1, 0), margin 0  AROW                (0, inf, r), kappa = 1/r
struct Rule {
    double lo = 0;
    double cap = infinity;
    double ridge = 0;
    double margin = 1;   ///< required margin
    double epsilon = 0;  ///< half the width of the tube (regression)
    double kappa = 1;    ///< the precision grows by kappa * x x' after an update
    double ahead = 0;    ///< and by ahead * min(loss, 2)^2 * x x' before it (Newton's metric)
    double phi = 0;      ///< number of standard deviations of the score in the margin
    Uncertainty uncertainty = Uncertainty::none;
    bool weigh_kappa = false;  ///< AROW: the weight of an example multiplies kappa, too

    /// Return the rule for an example of this weight, which multiplies C only.
    Rule scaled_C(double weight) const {
        Rule r = *this;
        r.lo *= weight;
        r.cap *= weight;
        r.ridge /= weight;
        r.ahead *= weight;
        if (weigh_kappa) r.kappa *= weight;
        return r;
    }

    /// Return the rule for a row divided by `s`, used for rows whose norm would overflow.
    Rule rescaled(double s) const {
        Rule r = *this;
        r.lo *= s;
        r.cap *= s;
        r.ridge /= s;
        return r;
    }

    bool acts_on(double loss) const;

    /// Return the growth of the precision before the step, for an example with this loss.
    double gain(double loss) const;
};

/// Losses above 2, the loss at margin -1, count as 2.
inline double gain(double ahead, double loss) {
    const double counted = std::min(loss, 2.0);
    return std::min(ahead * counted * counted, std::numeric_limits<double>::max());
}

inline double Rule::gain(double loss) const { return aggro::gain(ahead, loss); }

/// Return whether a rule makes a step for this loss. A Perceptron (lo > 0) also makes one for a
/// tie.
inline bool acts_on(double loss, double lo) {
    return (loss > 0) | ((loss == 0) & (lo > 0)) | ((loss < 0) & (lo < 0));
}

inline bool Rule::acts_on(double loss) const { return aggro::acts_on(loss, lo); }

/// Return the step for one constraint of squared length q (lemma L1). Branch-free, so that loops
/// over outputs vectorise.
inline double step_size(double loss, double q, double lo, double cap, double ridge) {
    const double clipped = std::min(std::max(loss / (q + ridge), lo), cap);
    return acts_on(loss, lo) & (q > 0) ? clipped : 0.0;
}

inline double step_size(double loss, double q, const Rule& rule) {
    return step_size(loss, q, rule.lo, rule.cap, rule.ridge);
}

/// The size of a step and the growth of the precision.
struct Move {
    double tau = 0;
    double kappa = 0;
};

/// Return the margin that a confidence-weighted rule requires at variance v.
inline double confident_margin(double v, const Rule& rule) {
    return rule.phi * (rule.uncertainty == Uncertainty::variance ? v : std::sqrt(v));
}

/// Return the confidence-weighted step for a signed margin m with variance v.
///
/// Variance form: m' >= phi v' (Dredze et al. 2008). Deviation form: m' >= phi sqrt(v') (Crammer et
/// al. 2008); with a cap it is SCW-I, with a ridge SCW-II. Powers of v or m are avoided, because
/// they would overflow.
inline Move confident_step(double m, double v, const Rule& rule) {
    const double phi = rule.phi;
    if (!(v > 0) || m >= confident_margin(v, rule)) return {};
    if (rule.uncertainty == Uncertainty::variance) {
        const double b = 1 + 2 * phi * m;
        const double root = std::hypot(1 - 2 * phi * m, phi * std::sqrt(8 * v));
        const double alpha =
            b > 0 ? 2 * (phi * v - m) / (v * (b + root)) : (root - b) / (4 * phi * v);
        return {alpha, std::min(2 * alpha * phi, std::numeric_limits<double>::max())};
    }
    const double n = v + rule.ridge, share = v / n, grown = 1 + share * phi * phi;
    const double top =
        -m * (1 + grown) + phi * std::hypot(phi * m * share, 2 * std::sqrt(v) * std::sqrt(grown));
    const double alpha = std::clamp(top / (2 * n * grown), 0.0, rule.cap);
    const double move = alpha * v * phi;
    const double after = 2 * v / (move + std::hypot(move, 2 * std::sqrt(v)));
    return {alpha, std::min(alpha * phi / after, std::numeric_limits<double>::max())};
}

}  // namespace aggro
