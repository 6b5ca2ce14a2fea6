// The weights of the predictor: the last weights or their mean, as one number per feature and
// output.
#pragma once
#include <cmath>
#include <vector>

#include "linear/record.hpp"
#include "rows/lanes.hpp"

namespace aggro {

/// The weights and intercepts of a predictor. A weight is a sum of multiples of the last weight and
/// of its shift; it is computed while a row is read or, before many rows are read, for all features
/// in a table. Both give the same number, so scores do not depend on the number of rows of a call.
template <class T>
class PredictingWeights {
  public:
    /// Return whether the predicting weights depend on nothing else: neither on class sums nor on a
    /// reservoir.
    static bool usable(const Model<T>& m) { return m.shape.sums == 0 && m.shape.reservoir == 0; }

    /// Determine the predictor after the model has learned.
    void update(const Model<T>& m) {
        of_last.assign(padded<T>(m.columns), T(1));
        of_shift.assign(of_last.size(), T(0));
        intercepts.assign(m.bias.begin(), m.bias.end());
        const double rounds = averaged_weight(m.shape, m.counters);
        if (!m.shape.averages() || rounds == 0) return;
        const std::size_t each = m.shape.outputs / m.shape.models;
        for (std::size_t k = 0; k < m.shape.outputs; ++k) {
            if (best_predictor(m.record, k / each) != 0) continue;
            of_last[k] = static_cast<T>(m.mix[k].scale_sum / rounds);
            of_shift[k] = static_cast<T>(1 / rounds);
            intercepts[k] = m.bias_sum[k] / rounds;
        }
    }

    /// Make a table if that is faster for rows with this number of entries.
    void tabulate(const Model<T>& m, std::size_t entries) {
        constexpr std::size_t writing = 8;  // cost of a feature in entries
        if (!usable(m) || !interleaved(m) || entries / writing < m.shape.features) return;
        table = Block<T>(of_last.size());
        table.grow(m.shape.features);
        for (std::size_t j = 0; j < m.shape.features; ++j) {
            const T *cell = m.weights.row(j), *shift = cell + m.columns;
            T* line = table.row(j);
            AGGRO_VECTORISE
            for (std::size_t k = 0; k < m.columns; ++k)
                line[k] = of_last[k] * cell[k] + together(of_shift[k] * shift[k]);
        }
    }

    /// Compute the products of a row with all columns.
    template <bool Single, class Row>
    void dot(const Model<T>& m, const Row& x, T* out) const {
        const bool mixed = table.size() == 0 && interleaved(m);
        const Block<T>& weights = table.size() > 0 ? table : m.weights;
        const std::size_t stride = weights.stride();
        const std::size_t outputs = of_last.size();
        if constexpr (Single)
            *out = mixed
                       ? products(x, MixedCells<T>{weights.data(), stride, of_last[0], of_shift[0]})
                             .sums
                       : weights_dot(x, weights.data());
        else if (mixed)
            dot_lanes(x,
                      MixedLanes<T>{weights.data(), weights.data() + m.columns, stride,
                                    of_last.data(), of_shift.data()},
                      outputs, out);
        else
            dot_lanes(x, StridedLanes<T>{weights.data(), stride}, outputs, out);
    }

    /// Compute scores from the products with a row divided by `stretch`; return whether all are
    /// finite.
    bool scores_of(const T* dots, double stretch, std::vector<double>& scores) const {
        bool finite = true;
        for (std::size_t k = 0; k < scores.size(); ++k) {
            scores[k] = stretch * static_cast<double>(dots[k]) + intercepts[k];
            finite &= std::isfinite(scores[k]);
        }
        return finite;
    }

  private:
    /// Return whether a cell has more than one section.
    static bool interleaved(const Model<T>& m) { return m.weights.stride() > m.columns; }

    std::vector<T> of_last, of_shift;
    std::vector<double> intercepts;
    Block<T> table;
};

}  // namespace aggro
