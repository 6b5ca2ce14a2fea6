// Effective weights, which combine stored weights with class sums, and the centre of a step.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "linear/record.hpp"

namespace aggro {

/// Return the last weight of output k for feature j.
template <class T>
inline double weight_at(const Model<T>& m, std::size_t j, std::size_t k) {
    const T* cell = m.weights.row(j);
    const Mixture& mix = m.mix[k];
    double w = mix.scale * static_cast<double>(cell[k]);
    if (mix.own == 0 && mix.rest == 0) return w;
    const auto own = static_cast<double>(cell[m.shape.outputs + m.own_sum[k]]);
    w += mix.own * own;
    if (m.shape.total) w += mix.rest * (static_cast<double>(cell[m.total_column()]) - own);
    return w;
}

/// Return the mean over the averaged rounds of the weight of output k for feature j.
template <class T>
inline double average_at(const Model<T>& m, std::size_t j, std::size_t k) {
    const T* cell = m.weights.row(j);
    const Mixture& mix = m.mix[k];
    double sum =
        mix.scale_sum * static_cast<double>(cell[k]) + static_cast<double>(cell[m.columns + k]);
    if (mix.own_sum != 0 || mix.rest_sum != 0) {
        const auto own = static_cast<double>(cell[m.shape.outputs + m.own_sum[k]]);
        sum += mix.own_sum * own;
        if (m.shape.total)
            sum += mix.rest_sum * (static_cast<double>(cell[m.total_column()]) - own);
    }
    return sum / averaged_weight(m.shape, m.counters);
}

/// Return, for each output, whether it predicts with the mean of its weights.
template <class T>
inline std::vector<bool> predicts_by_mean(const Model<T>& m) {
    std::vector<bool> found(m.shape.outputs, m.shape.averages() && m.counters.averaged > 0);
    const std::size_t each = m.shape.outputs / m.shape.models;
    for (std::size_t k = 0; k < found.size(); ++k)
        found[k] = found[k] && best_predictor(m.record, k / each) == 0;
    return found;
}

/// Call use(k, weight) with the weights of feature j; see `each_weight`.
template <class T, class Use>
inline void each_weight_of(const Model<T>& m, const std::vector<bool>& averaged, std::size_t j,
                           Use&& use) {
    const double factor = m.sizes.factor(j);
    for (std::size_t g = 0; g < m.groups.size(); ++g) {
        const bool pooled = m.shape.reservoir > 0 && m.pool_fill[g] > 0;
        for (std::size_t k = m.groups[g].first; k < m.groups[g].first + m.groups[g].count; ++k)
            use(k, factor * (pooled        ? static_cast<double>(m.pool_mean.row(j)[k])
                             : averaged[k] ? average_at(m, j, k)
                                           : weight_at(m, j, k)));
    }
}

/// Call use(j, k, weight) for every predicting weight: the last weights or their mean. The scale of
/// the features is included, so the weights apply to unscaled features.
template <class T, class Use>
inline void each_weight(const Model<T>& m, const std::vector<bool>& averaged, Use&& use) {
    for (std::size_t j = 0; j < m.shape.features; ++j)
        each_weight_of(m, averaged, j, [&](std::size_t k, double weight) { use(j, k, weight); });
}

/// Write the predicting weights, features x outputs.
template <class T>
inline void write_weights(const Model<T>& m, T* out) {
    each_weight(m, predicts_by_mean(m), [&](std::size_t j, std::size_t k, double weight) {
        out[j * m.shape.outputs + k] = static_cast<T>(weight);
    });
}

/// Return the intercepts of the last weights, or of their mean where it predicts.
template <class T>
inline std::vector<double> effective_bias(const Model<T>& m, const std::vector<bool>& averaged) {
    std::vector<double> bias(m.bias.begin(), m.bias.end());
    for (std::size_t k = 0; k < bias.size(); ++k)
        if (averaged[k]) bias[k] = m.bias_sum[k] / averaged_weight(m.shape, m.counters);
    for (std::size_t g = 0; m.shape.reservoir > 0 && g < m.groups.size(); ++g)
        for (std::size_t k = m.groups[g].first;
             m.pool_fill[g] > 0 && k < m.groups[g].first + m.groups[g].count; ++k)
            bias[k] = m.pool_mean_bias[k];
    if (m.shape.scale == Scale::standard)
        each_weight(m, averaged, [&](std::size_t j, std::size_t k, double weight) {
            bias[k] -= weight * m.sizes.centre(j);
        });
    return bias;
}

/// Set the predicting weights, features x outputs, and intercepts; null leaves them unchanged.
/// Mean, queue and reservoir restart; class means, metric and counters stay.
template <class T>
inline void set_weights(Model<T>& m, const T* table, const double* intercepts) {
    const std::size_t outputs = m.shape.outputs;
    std::vector<T> kept;
    if (!table) {
        kept.resize(m.shape.features * outputs);
        write_weights(m, kept.data());
        table = kept.data();
    }
    std::vector<double> bias = effective_bias(m, predicts_by_mean(m));
    if (intercepts) bias.assign(intercepts, intercepts + outputs);
    m.announce_sweep();
    for (std::size_t j = 0; j < m.shape.features; ++j) {
        T* cell = m.weights.row(j);
        std::copy_n(table + j * outputs, outputs, cell);
        if (m.shape.averages()) std::fill_n(cell + m.columns, outputs, T(0));
    }
    std::copy(bias.begin(), bias.end(), m.bias.begin());
    std::fill(m.mix.begin(), m.mix.end(), Mixture{});
    for (auto* begun : {&m.bias_sum, &m.pool_key}) std::fill(begun->begin(), begun->end(), 0.0);
    for (auto* filled : {&m.ring_fill, &m.ring_next, &m.pool_fill})
        std::fill(filled->begin(), filled->end(), 0);
    m.counters.averaged = 0;
    m.counters.late_weight = 0;
    std::fill(m.group_counts.last_update.begin(), m.group_counts.last_update.end(),
              m.counters.examples);
}

/// Return the weights and the intercept of the ensemble prediction.
template <class T>
inline std::pair<std::vector<double>, double> ensemble_coefficients(const Model<T>& m) {
    const Record& r = m.record;
    std::vector<double> weights(m.shape.features);
    double bias = 0;
    for (std::size_t predictor = 0; predictor < r.predictors; ++predictor) {
        const bool by_mean = predictor == 0 && m.counters.averaged > 0;
        const std::vector<bool> averaged =
            r.predictors == 1 ? predicts_by_mean(m) : std::vector<bool>(m.shape.outputs, by_mean);
        const auto part = [&](std::size_t k) { return r.part[k * r.predictors + predictor]; };
        each_weight(m, averaged, [&](std::size_t j, std::size_t k, double weight) {
            weights[j] += part(k) * weight;
        });
        const std::vector<double> intercepts = effective_bias(m, averaged);
        for (std::size_t k = 0; k < intercepts.size(); ++k) bias += part(k) * intercepts[k];
    }
    return {weights, bias};
}

/// Set column `target` of each feature to scale * u_j[k] + own * S_j + rest * (S_total_j - S_j) +
/// keep * (its old value).
template <class T>
inline void mix_into(Model<T>& m, std::size_t target, std::size_t k, double scale, double own,
                     double rest, double keep) {
    const std::size_t sum = m.shape.outputs + (m.shape.sums > 0 ? m.own_sum[k] : 0),
                      total = m.total_column();
    const bool sums = m.shape.sums > 0, others = m.shape.total;
    for (std::size_t j = 0; j < m.shape.features; ++j) {
        T* cell = m.weights.row(j);
        const double s = sums ? static_cast<double>(cell[sum]) : 0,
                     t = others ? static_cast<double>(cell[total]) : s;
        T& out = cell[target];
        out = static_cast<T>(scale * static_cast<double>(cell[k]) + own * s + rest * (t - s) +
                             keep * static_cast<double>(out));
    }
}

/// Write the effective weights of a group to its columns and reset its mixture to the identity.
template <class T>
[[gnu::noinline]] inline void fold(Model<T>& m, const Group& g) {
    m.announce_sweep();
    for (std::size_t k = g.first; k < g.first + g.count; ++k) {
        Mixture& mix = m.mix[k];
        if (m.shape.averages())
            mix_into(m, m.columns + k, k, mix.scale_sum, mix.own_sum, mix.rest_sum, 1);
        mix_into(m, k, k, mix.scale, mix.own, mix.rest, 0);
        mix = {};
    }
}

/// Move the scale of a group into its weights, except for a factor between 1/2 and 1. The moved
/// factor is a power of two, so the weights do not change by rounding, however often this is done.
/// Its sum over past rounds moves into the shift; otherwise the sum of a weight would become a
/// difference of large numbers.
template <class T>
[[gnu::noinline]] inline void rescale(Model<T>& m, const Group& g) {
    m.announce_sweep();
    const bool averages = m.shape.averages();
    const std::size_t stride = m.weights.stride(), behind = m.columns, features = m.shape.features;
    for (std::size_t k = g.first; k < g.first + g.count; ++k) {
        Mixture& mix = m.mix[k];
        int exponent = 0;
        mix.scale = std::frexp(mix.scale, &exponent);
        const double factor = std::ldexp(1.0, exponent), sum = std::exchange(mix.scale_sum, 0.0);
        T* cell = m.weights.data() + k;
        for (std::size_t j = 0; j < features; ++j, cell += stride) {
            const auto u = static_cast<double>(*cell);
            *cell = static_cast<T>(factor * u);
            if (averages)
                cell[behind] = static_cast<T>(static_cast<double>(cell[behind]) + sum * u);
        }
    }
}

/// Largest multiple of a mean in a mixture before digits are lost.
template <class T>
inline constexpr double largest_drift = sizeof(T) == 8 ? 1e6 : 1e3;

/// Return the largest multiple of a mean in the last weights of output k and in their mean.
template <class T>
inline double drift_of(const Model<T>& m, std::size_t k) {
    const Mixture& mix = m.mix[k];
    const double own = m.means.count[m.own_sum[k]], rest = m.means.total.count - own;
    const double last = std::max(std::abs(mix.own) * own, std::abs(mix.rest) * rest);
    const double rounds = averaged_weight(m.shape, m.counters);
    if (!(m.shape.averages() && rounds > 0)) return last;
    const double mean = std::max(std::abs(mix.own_sum) * own, std::abs(mix.rest_sum) * rest);
    return std::max(last, mean / rounds);
}

/// Renormalise the mixture before it loses digits (docs/algorithms.md, "Class means and queue").
template <class T>
inline void fold_if_imprecise(Model<T>& m, const Group& g) {
    constexpr double smallest = sizeof(T) == 8 ? 1e-150 : 1e-18;  // only the exponent limits it
    // the sum of a weight over the rounds becomes a small difference of large numbers
    constexpr double largest = sizeof(T) == 8 ? 1e5 : 1e2;
    const double rounds = averaged_weight(m.shape, m.counters);
    bool worn = false;
    for (std::size_t k = g.first; k < g.first + g.count; ++k) {
        if (drift_of(m, k) > largest_drift<T>) return fold(m, g);
        const Mixture& mix = m.mix[k];
        worn |= mix.scale < smallest || mix.scale_sum > largest * rounds * mix.scale;
    }
    if (worn) rescale(m, g);
}

/// Fold before an example of weight omega is added to sums that are much smaller, such as those of
/// a class without recent examples. What is added to the sums is subtracted from the weights, which
/// would lose all their digits.
template <class T, class Member>
inline void fold_before_adding(Model<T>& m, double omega, Member&& member) {
    for (const Group& g : m.groups)
        for (std::size_t k = g.first; k < g.first + g.count; ++k) {
            const double share = member(m.own_sum[k]) ? m.mix[k].own : m.mix[k].rest;
            if (!(std::abs(share) * omega > largest_drift<T>)) continue;
            fold(m, g);
            break;
        }
}

/// The nearest-centroid classifier that output k is pulled to, and its bias.
struct Pull {
    double own = 0, rest = 0, bias = 0;  ///< m_k = own * S_k + rest * (S_total - S_k)
};

/// A class whose weight is below this share of an example is ignored: the rest of its sum may be
/// rounding error (1/forgetting examples are remembered).
inline constexpr double forgotten = 0.01;

template <class T>
inline Pull pull_of(const Model<T>& m, std::size_t k) {
    const std::size_t c = m.own_sum[k];
    const double own = m.means.count[c], rest = m.means.total.count - own;
    const double least = forgotten * m.shape.forgetting * m.means.total.count;
    Pull pull;
    if (own > least) {
        pull.own = 1 / own;
        pull.bias = -m.means.norm[c] / (2 * own * own);
    }
    if (m.shape.total && rest > least) {
        const double norm = m.means.total.norm - 2 * m.means.cross[c] + m.means.norm[c];
        pull.rest = -1 / rest;
        pull.bias += std::max(norm, 0.0) / (2 * rest * rest);
    }
    return pull;
}

/// Increase the weight of new examples in the class means, which is equivalent to discounting old
/// ones. Before the numbers grow too large, divide all by the current weight.
template <class T>
inline void emphasise(Model<T>& m) {
    if (m.means.emphasis.empty() || m.counters.frozen) return;
    double& emphasis = m.means.emphasis[0];
    emphasis /= 1 - m.shape.forgetting;
    if (emphasis < 1e6) return;
    m.announce_sweep();
    for (std::size_t g = 0; m.lazy_means() && g < m.groups.size(); ++g) fold(m, m.groups[g]);
    std::vector<T> factor(padded<T>(m.columns), T(1));
    for (std::size_t l = m.shape.outputs; l < m.columns; ++l)
        factor[l] = static_cast<T>(1 / emphasis);
    scale_lanes(m.weights.data(), m.shape.features, m.weights.stride(), factor.size(),
                factor.data());
    for (std::size_t i = 0; i < m.sum_rest.size(); ++i)
        m.sum_rest.data()[i] = static_cast<T>(static_cast<double>(m.sum_rest.data()[i]) / emphasis);
    for (double& count : m.means.count) count /= emphasis;
    m.means.total.count /= emphasis;
    const double square = emphasis * emphasis;
    for (auto* squares : {&m.means.norm, &m.means.cross})
        for (double& value : *squares) value /= square;
    m.means.total.norm /= square;
    emphasis = 1;
}

/// Add an example of weight omega and squared length n to the sums of its classes. `dots` are its
/// products with the columns of the sums and are updated.
template <class T, class Member>
inline void accumulate(Model<T>& m, double omega, double n, double* dots, Member&& member) {
    const double total = m.shape.total ? dots[m.shape.sums] : 0;
    for (std::size_t c = 0; c < m.shape.sums; ++c) {
        m.means.cross[c] += omega * dots[c];
        if (!member(c)) continue;
        m.means.cross[c] += omega * total + omega * omega * n;
        m.means.norm[c] += 2 * omega * dots[c] + omega * omega * n;
        m.means.count[c] += omega;
        dots[c] += omega * n;
    }
    m.means.total.norm += 2 * omega * total + omega * omega * n;
    m.means.total.count += omega;
    if (m.shape.total) dots[m.shape.sums] += omega * n;
}

/// PAmW: store the weights of a group, then move them to the mean of the last Q, pulled to the
/// class means. O(Q d) per update.
template <class T>
inline void queue_centre(Model<T>& m, std::size_t index) {
    const Group& g = m.groups[index];
    const std::size_t outputs = m.shape.outputs, size = m.shape.queue;
    const auto next = static_cast<std::size_t>(m.ring_next[index]);
    m.ring_next[index] = static_cast<std::int64_t>((next + 1) % size);
    m.ring_fill[index] =
        std::min<std::int64_t>(m.ring_fill[index] + 1, static_cast<std::int64_t>(size));
    const auto filled = static_cast<std::size_t>(m.ring_fill[index]);
    const double gamma = g.gamma, share = 1 / (1 + gamma);
    const bool averages = m.shape.averages();

    for (std::size_t k = g.first; k < g.first + g.count; ++k) {
        const Pull pull = gamma > 0 ? pull_of(m, k) : Pull{};
        const std::size_t own = outputs + (gamma > 0 ? m.own_sum[k] : 0), total = m.total_column();
        for (std::size_t j = 0; j < m.shape.features; ++j) {
            T* cell = m.weights.row(j);
            T* slots = m.ring.row(j);
            slots[next * outputs + k] = cell[k];
            double centre = 0;
            for (std::size_t q = 0; q < filled; ++q)
                centre += static_cast<double>(slots[q * outputs + k]);
            centre /= static_cast<double>(filled);
            if (gamma > 0) {
                const auto s = static_cast<double>(cell[own]);
                centre += gamma * pull.own * s;
                if (m.shape.total)
                    centre += gamma * pull.rest * (static_cast<double>(cell[total]) - s);
            }
            const T moved = static_cast<T>(share * centre);
            if (averages)
                cell[m.columns + k] -= static_cast<T>(m.mix[k].scale_sum) * (moved - cell[k]);
            cell[k] = moved;
        }
        if (!m.shape.intercept) continue;
        m.ring_bias[next * outputs + k] = m.bias[k];
        double centre = 0;
        for (std::size_t q = 0; q < filled; ++q) centre += m.ring_bias[q * outputs + k];
        m.bias[k] = share * (centre / static_cast<double>(filled) + gamma * pull.bias);
    }
}

}  // namespace aggro
