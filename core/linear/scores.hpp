// Scores of a row by the last weights or by the predictor.
#pragma once
#include <cmath>

#include "linear/record.hpp"
#include "linear/row_ops.hpp"

namespace aggro {

/// Return the sum of magnitudes of the terms of score k of a row by the last weights.
template <class T, class Row>
[[gnu::noinline]] inline double reach(const Model<T>& m, const MeasuredRow<Row>& row,
                                      std::size_t k) {
    const auto length = [&](std::size_t l) {
        return reach_of(row.x, m.weights.data() + l, m.weights.stride());
    };
    const Mixture& mix = m.mix[k];
    const double own = std::abs(mix.own), rest = std::abs(mix.rest);
    double total = std::abs(mix.scale) * length(k);
    if (own + rest > 0) total += (own + rest) * length(m.shape.outputs + m.own_sum[k]);
    if (rest > 0 && m.shape.total) total += rest * length(m.total_column());
    return row.stretch * total + std::abs(m.bias[k]);
}

template <class T, class Row, bool Single>
class Scores {
  public:
    Scores(Model<T>& model, Scratch<T>& scratch) : m(model), s(scratch), part{scratch.share} {}

    /// Compute the scores of the last weights.
    [[gnu::always_inline]] void of_last(const MeasuredRow<Row>& row) {
        const std::size_t n = part.end();
        if (Single || m.shape.sums == 0) {
            AGGRO_VECTORISE
            for (std::size_t k = part.first(); k < n; ++k)
                s.scores[k] = row.stretch * static_cast<double>(s.dot[k]) + m.bias[k];
            return;
        }
        for (std::size_t k = part.first(); k < n; ++k) {
            const Mixture& mix = m.mix[k];
            s.scores[k] = row.stretch * mixed(k, mix.scale, mix.own, mix.rest) + m.bias[k];
        }
    }

    /// Replace the scores of the last weights by those of the predictor.
    [[gnu::always_inline]] void of_predictor(const MeasuredRow<Row>& row, double averaged) {
        if (!of_mean(row, averaged)) return;
        const std::size_t each = m.shape.outputs / m.shape.models;
        for (std::size_t k = part.first(); k < part.end(); ++k)
            if (best_predictor(m.record, k / each) == 0) s.scores[k] = s.means[k];
    }

    /// Fill `means` with the scores of the average, whose rounds have this total weight, or of the
    /// reservoir. Return false if there is neither, and the last weights predict.
    bool of_mean(const MeasuredRow<Row>& row, double averaged) {
        if (m.shape.predictor == Predictor::reservoir) return of_reservoir(row), true;
        if (!m.shape.averages() || averaged == 0) return false;
        return of_average(row, averaged), true;
    }

  private:
    void of_average(const MeasuredRow<Row>& row, double rounds) {
        const T* shifts = s.dot.data() + m.columns;
        for (std::size_t k = part.first(); k < part.end(); ++k) {
            const Mixture& mix = m.mix[k];
            const double sum = row.stretch * mixed(k, mix.scale_sum, mix.own_sum, mix.rest_sum) +
                               row.stretch * static_cast<double>(shifts[k]) + m.bias_sum[k];
            s.means[k] = sum / rounds;
        }
    }

    void of_reservoir(const MeasuredRow<Row>& row) {
        dot_pool(row.x);
        s.means = s.scores;  // until the reservoir contains a classifier
        for (std::size_t g = 0; g < m.groups.size(); ++g)
            for (std::size_t k = m.groups[g].first;
                 m.pool_fill[g] > 0 && k < m.groups[g].first + m.groups[g].count; ++k)
                s.means[k] = row.stretch * static_cast<double>(s.coef[k]) + m.pool_mean_bias[k];
        clear(s.coef);
    }

    /// Compute the products of the row with the means of the reservoirs in `coef`.
    void dot_pool(const Row& x) {
        const Block<T>& pool = m.pool_mean;
        if constexpr (Single)
            s.coef[0] = weights_dot(x, pool.data());
        else
            dot_lanes(x, StridedLanes<T>{pool.data(), pool.stride()}, pool.stride(), s.coef.data());
    }

    /// Return <scale u_k + own S_k + rest (S_total - S_k), x>.
    double mixed(std::size_t k, double scale, double own, double rest) const {
        double value = scale * static_cast<double>(s.dot[k]);
        if (own == 0 && rest == 0) return value;
        const auto sum = static_cast<double>(s.dot[m.shape.outputs + m.own_sum[k]]);
        value += own * sum;
        if (m.shape.total) value += rest * (static_cast<double>(s.dot[m.total_column()]) - sum);
        return value;
    }

    Model<T>& m;
    Scratch<T>& s;
    Part<Single> part;
};

}  // namespace aggro
