// The scale of C in a model selection, by the sizes of rows and targets.
#pragma once
#include <cmath>

#include "base/block.hpp"

namespace aggro {

/// Means of logarithms over the first examples that are not zero, so that outliers hardly matter.
/// Empty without a model selection.
struct CScale {
    static constexpr double enough = 1024;
    enum Place { rows, squares, answers, targets, steps, size };
    Aligned<double> known;  ///< counts and sums; steps: where the grid of C was put, by them

    /// Classes are of size one, which is known.
    void begin(bool regression) {
        known.assign(size, 0.0);
        if (!regression) known[answers] = enough;
    }
    bool open() const {
        return !known.empty() && (known[rows] < enough || known[answers] < enough);
    }

    /// A row of the squared length `squared` in units of its `scale`, with the square of its
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
