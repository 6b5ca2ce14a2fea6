// Running mean and variance of columns, row by row (Welford).
#pragma once
#include <cmath>
#include <cstddef>

#include "base/block.hpp"

namespace aggro {

struct Moments {
    Aligned<double> rows;          ///< number of rows (one value), empty when not in use
    Aligned<double> mean, square;  ///< square: sum of squared distances to the mean

    void begin(std::size_t columns) {
        rows.assign(1, 0.0);
        grow(columns);
    }
    void reserve(std::size_t columns) {
        for (auto* values : {&mean, &square}) reserve_amortised(*values, columns);
    }
    /// Add columns whose values were zero so far.
    void grow(std::size_t columns) {
        mean.resize(columns, 0.0);
        square.resize(columns, 0.0);
    }
    /// Add one value of the current row to its column; `rows` includes the row already.
    void add(std::size_t j, double value) {
        const double change = value - mean[j];
        mean[j] += change / rows[0];
        square[j] += change * (value - mean[j]);
    }
    double deviation(std::size_t j) const {
        return rows[0] > 0 ? std::sqrt(square[j] / rows[0]) : 0;
    }
    void forget(std::size_t j) { mean[j] = square[j] = 0; }
};

}  // namespace aggro
