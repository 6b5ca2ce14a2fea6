// The scale of C in a model selection, estimated from the sizes of rows and targets.
#pragma once
#include <cmath>

#include "base/block.hpp"

namespace aggro {

/// Mean logarithms of the sizes of the first nonzero examples; logarithms limit the influence of
/// outliers. Empty without a model selection.
struct CScale {
    static constexpr double enough = 1024;
    enum Place { rows, squares, answers, targets, steps, size };
    Aligned<double> known;  ///< counts and sums; steps: position of the grid of C

    /// Start empty. The size of a class target is one.
    void begin(bool regression) {
        known.assign(size, 0.0);
        if (!regression) known[answers] = enough;
    }
    bool open() const {
        return !known.empty() && (known[rows] < enough || known[answers] < enough);
    }

    /// Add a row of squared length `squared` in units of its `scale`, with the square of its
    /// constant feature.
    void add_row(double squared, double scale, double constant) {
        const double length = squared + constant / (scale * scale);
        if (known[rows] >= enough || !(length > 0)) return;
        known[rows] += 1;
        known[squares] += 2 * std::log(scale) + std::log(length);
    }
    void add_answer(double target) {
        if (known[answers] >= enough || target == 0) return;
        known[answers] += 1;
        known[targets] += std::log(std::abs(target));
    }
};

}  // namespace aggro
