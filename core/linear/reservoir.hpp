// A weighted sample of past classifiers; the weight of each is the number of examples it survived.
#pragma once
#include <cmath>

#include "base/random.hpp"
#include "linear/effective_weights.hpp"

namespace aggro {

/// Offer the group's current classifier, before it changes, to its reservoir. Keys log(u)/survived
/// give a sample in which a classifier's probability grows with its survival (Efraimidis and
/// Spirakis).
template <class T>
inline void offer(Model<T>& m, std::size_t index) {
    const Group& g = m.groups[index];
    const auto survived =
        static_cast<double>(m.counters.examples - m.group_counts.last_update[index]);
    if (survived <= 0) return;
    const double key = std::log(uniform(m.counters.random)) / survived;
    const std::size_t outputs = m.shape.outputs, size = m.shape.reservoir;
    double* keys = m.pool_key.data() + index * size;
    auto filled = static_cast<std::size_t>(m.pool_fill[index]);
    std::size_t slot = filled;
    if (filled == size) {
        slot = static_cast<std::size_t>(std::min_element(keys, keys + size) - keys);
        if (key <= keys[slot]) return;
    } else {
        m.pool_fill[index] = static_cast<std::int64_t>(++filled);
    }
    keys[slot] = key;
    const double share = 1 / static_cast<double>(filled);
    for (std::size_t k = g.first; k < g.first + g.count; ++k) {
        for (std::size_t j = 0; j < m.shape.features; ++j) {
            T* slots = m.pool.row(j);
            slots[slot * outputs + k] = static_cast<T>(weight_at(m, j, k));
            double mean = 0;
            for (std::size_t q = 0; q < filled; ++q)
                mean += static_cast<double>(slots[q * outputs + k]);
            m.pool_mean.row(j)[k] = static_cast<T>(mean * share);
        }
        m.pool_bias[slot * outputs + k] = m.bias[k];
        double mean = 0;
        for (std::size_t q = 0; q < filled; ++q) mean += m.pool_bias[q * outputs + k];
        m.pool_mean_bias[k] = mean * share;
    }
}

}  // namespace aggro
