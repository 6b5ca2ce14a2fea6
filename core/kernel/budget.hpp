// Budget maintenance: which support vector is removed, and which others receive its weight.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernel/strategies.hpp"
#include "losses/slack.hpp"

namespace aggro {

/// Return the smallest value.
inline double smallest(const std::vector<double>& values) {
    constexpr std::size_t bytes = 64, width = bytes / sizeof(double);
    Vector<double, bytes> least = Vector<double, bytes>{} + infinity;
    std::size_t i = 0;
    for (; i + width <= values.size(); i += width) {
        const auto some = load<double, bytes>(values.data() + i);
        least = some < least ? some : least;
    }
    double best = infinity;
    for (; i < values.size(); ++i) best = std::min(best, values[i]);
    for (std::size_t k = 0; k < width; ++k) best = std::min(best, double(least[k]));
    return best;
}

/// Return the position of the smallest cost; of several that are equal up to rounding, the oldest.
/// Distant examples often took the same step, and rounding would choose differently on each
/// machine.
inline std::size_t oldest_of_cheapest(const std::vector<double>& costs,
                                      const std::vector<std::int64_t>& born) {
    constexpr double rounding = 1e-9;
    const double best = smallest(costs), most = best + rounding * std::abs(best);
    std::size_t found = costs.size();
    for (std::size_t i = 0; i < costs.size(); ++i)
        if (costs[i] <= most && (found == costs.size() || born[i] < born[found])) found = i;
    return found;
}

class Budget {
  public:
    Budget() = default;
    Budget(std::size_t most, Forget how) : limit(most), strategy(how) {}

    bool exceeded_by(std::size_t size) const { return limit > 0 && size > limit; }

    /// Return whether the strategy needs the kernel matrix; likewise the inverse and the nearest
    /// neighbours below.
    bool keeps_table() const {
        return limit > 0 && with_strategy(strategy, [](auto how) { return how.keeps_table; });
    }
    bool keeps_inverse() const {
        return limit > 0 && with_strategy(strategy, [](auto how) { return how.keeps_inverse; });
    }
    bool keeps_neighbours() const {
        return limit > 0 && with_strategy(strategy, [](auto how) { return how.keeps_neighbours; });
    }

    /// Add an example as the last slot; `kernel` contains its values with all others.
    void take_in(const double* kernel, double self) {
        if (limit > 0) with_strategy(strategy, [&](auto how) { how.take_in(known, kernel, self); });
    }

    /// Exclude the newcomers from removal; V contains them. Call this before `choose`.
    void protect(const std::vector<Newcomer>& newcomers, const Expansion& e) {
        kept.name(newcomers);
        with_strategy(strategy, [&](auto how) { how.protect(kept, newcomers, e); });
    }

    /// Return the slot to remove; `shares` lists the others that receive a part of its weight.
    std::size_t choose(const Expansion& e) {
        costs.resize(e.size());
        shares.clear();
        return with_strategy(strategy, [&](auto how) {
            how.cost(known, kept, e, costs);
            for (const std::size_t slot : kept.slots) costs[slot] = infinity;
            const std::size_t best = oldest_of_cheapest(costs, e.born);
            how.share(known, kept, e, best, shares);
            return best;
        });
    }

    /// Remove slot r, which the last one replaces. Call this before removing it from the expansion.
    void removed(std::size_t r, const Expansion& e) {
        kept.removed(r, e.size() - 1);
        with_strategy(strategy, [&](auto how) { how.removed(known, e, r); });
    }

    /// Finish a batch.
    void finish_batch(const Expansion& e) {
        if (limit > 0) with_strategy(strategy, [&](auto how) { how.finish_batch(known, e); });
    }

    std::size_t limit = 0;
    Forget strategy = Forget::simple;
    Memory known;
    Shares shares;

  private:
    Newcomers kept;
    std::vector<double> costs;
};

}  // namespace aggro
