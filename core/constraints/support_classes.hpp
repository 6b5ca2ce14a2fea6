// Support classes: one example moves all wrong classes that violate its margin.
#pragma once
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "losses/slack.hpp"

namespace aggro {

using Ranking = std::vector<std::pair<double, std::size_t>>;

/// Return a lower bound for the loss of a support class, if the largest loss is `worst`.
inline double support_floor(double worst, double n, const Rule& rule) {
    return std::max(worst / (1 + n / (n + rule.ridge)), worst - rule.cap * n);
}

/// Write the steps -tau_v of all violated wrong classes to `tau`, which share one slack, and return
/// T = sum tau_v (docs/algorithms.md, "Multiclass problems").
///
///   min 1/2 sum ||w_u - w_u'||^2 + penalty(xi)   s.t.   s_y - s_v >= 1 - xi  for all v != y
///
/// `losses` contains (l_v, v). The support classes are those with l_v above the level theta for
/// which sum (l_v - theta)+ = min(rho theta, cap). Newton steps from below find theta without
/// sorting.
inline double support_classes(Ranking& losses, double n, const Rule& rule, double* tau) {
    double worst = 0;
    for (const auto& [l, v] : losses) worst = std::max(worst, l);
    if (worst <= 0 || !(n > 0)) return 0;
    const double rho = n / (n + rule.ridge), cap = rule.cap * n;
    const double below =
        worst * (1 - std::numeric_limits<double>::epsilon());  // at least one class is above it
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

}  // namespace aggro
