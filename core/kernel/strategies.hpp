// Budget strategies: their state, the cost of a removal, and the redistribution of the removed
// weight.
//
// Removing r and projecting it on span(V) costs 1/2 |a_r|^2 (k_rr - k_rV K_VV^-1 k_Vr); the support
// vector with the least cost is removed (Wang & Vucetic 2010; docs/algorithms.md). V always
// contains the examples just learned, so that their scores stay as the step made them. Each
// strategy is one struct of this file; only `with_strategy` maps names to structs.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "kernel/budget_gram.hpp"
#include "kernel/newcomers.hpp"

namespace aggro {

enum class Forget {
    simple,      ///< project on the new examples
    nearest,     ///< and on the nearest neighbour of the removed one
    projection,  ///< on all others
    oldest       ///< drop the oldest
};

/// State of the strategies, saved with the model.
struct Memory {
    SquareTable table;  ///< the kernel matrix
    Neighbours neighbours;
    InverseGram gram;
};

/// Compute the squared coefficients of every slot, a factor of each cost.
inline void square_weights(const Expansion& e, std::vector<double>& costs) {
    if (e.stride == 1)
        for (std::size_t r = 0; r < e.size(); ++r) costs[r] = e.coefs[r] * e.coefs[r];
    else
        for (std::size_t r = 0; r < e.size(); ++r) costs[r] = e.squared_weight(r);
}

/// Drops the oldest support vector.
struct ForgetOldest {
    static constexpr bool keeps_table = false, keeps_inverse = false, keeps_neighbours = false;

    /// Add an example as the last slot.
    static void take_in(Memory&, const double*, double) {}
    /// Exclude the newcomers from removal. Call this before `cost`.
    static void protect(Newcomers&, const std::vector<Newcomer>&, const Expansion&) {}
    /// Compute twice the cost of each removal.
    static void cost(const Memory&, const Newcomers&, const Expansion& e,
                     std::vector<double>& costs) {
        std::copy(e.born.begin(), e.born.end(), costs.begin());
    }
    /// Compute the shares that other slots receive of slot r.
    static void share(const Memory&, Newcomers&, const Expansion&, std::size_t, Shares&) {}
    /// Remove slot r, which the last one replaces.
    static void removed(Memory&, const Expansion&, std::size_t) {}
    /// Finish a batch.
    static void finish_batch(Memory&, const Expansion&) {}
};

/// Projects the removed support vector on the new examples.
struct ForgetSimple : ForgetOldest {
    static void protect(Newcomers& n, const std::vector<Newcomer>& newcomers, const Expansion& e) {
        n.factor(newcomers, e);
    }
    static void cost(const Memory&, const Newcomers& n, const Expansion& e,
                     std::vector<double>& costs) {
        square_weights(e, costs);
        for (std::size_t r = 0; r < e.size(); ++r) costs[r] *= n.residual[r];
    }
    static void share(const Memory&, Newcomers& n, const Expansion&, std::size_t r,
                      Shares& shares) {
        n.begin(r);
        n.accumulate(shares);
    }
};

/// Projects on the new examples and on the nearest neighbour of the removed support vector.
struct ForgetNearest : ForgetSimple {
    static constexpr bool keeps_table = true, keeps_neighbours = true;

    static void take_in(Memory& known, const double* kernel, double self) {
        known.neighbours.append();
        known.table.append(kernel, kernel, self);
    }
    static void cost(const Memory& known, const Newcomers& n, const Expansion& e,
                     std::vector<double>& costs) {
        square_weights(e, costs);
        for (std::size_t r = 0; r < e.size(); ++r) costs[r] *= n.residual[r] - gain(known, n, e, r);
    }
    static void share(const Memory& known, Newcomers& n, const Expansion& e, std::size_t r,
                      Shares& shares) {
        n.begin(r);
        if (has_neighbour(known, n, e, r)) {
            const auto m = static_cast<std::size_t>(known.neighbours.nearest[r]);
            const double share = overlap(known, n, e, r, m) / n.residual[m];
            shares.emplace_back(m, share);
            n.leave_out(share, m);
        }
        n.accumulate(shares);
    }
    static void removed(Memory& known, const Expansion& e, std::size_t r) {
        known.neighbours.remove(known.table, e.self, r);
        known.table.remove(r);
    }
    static void finish_batch(Memory& known, const Expansion& e) {
        known.neighbours.finish_batch(known.table, e.self);
    }

  private:
    /// Return whether r has a neighbour outside the span of the newcomers.
    static bool has_neighbour(const Memory& known, const Newcomers& n, const Expansion& e,
                              std::size_t r) {
        const auto m = known.neighbours.nearest[r];
        return m >= 0 && n.residual[static_cast<std::size_t>(m)] >
                             Newcomers::dependent * e.self[static_cast<std::size_t>(m)];
    }
    /// Return the product of r and its neighbour m minus their projections on the newcomers.
    static double overlap(const Memory& known, const Newcomers& n, const Expansion& e,
                          std::size_t r, std::size_t m) {
        return n.beyond((e.self[m] - known.neighbours.distance[r]) / 2, r, m);
    }
    static double gain(const Memory& known, const Newcomers& n, const Expansion& e, std::size_t r) {
        if (!has_neighbour(known, n, e, r)) return 0;
        const auto m = static_cast<std::size_t>(known.neighbours.nearest[r]);
        const double common = overlap(known, n, e, r, m);
        return common * common / n.residual[m];
    }
};

/// Projects on all others: on the old ones by the inverse, which is exact up to the addition to the
/// diagonal, and on the newcomers by the remainder, so that their scores stay the same.
struct ForgetProjection : ForgetSimple {
    static constexpr bool keeps_table = true, keeps_inverse = true;

    static void take_in(Memory& known, const double* kernel, double self) {
        known.gram.append(kernel, self);
        known.table.append(kernel, kernel, self);
    }
    static void cost(Memory& known, const Newcomers&, const Expansion& e,
                     std::vector<double>& costs) {
        square_weights(e, costs);
        const auto& diagonal = known.gram.diagonal();
        for (std::size_t r = 0; r < e.size(); ++r) costs[r] /= diagonal[r];
    }
    static void share(Memory& known, Newcomers& n, const Expansion& e, std::size_t r,
                      Shares& shares) {
        const auto& column = known.gram.column(r);
        n.begin(r);
        for (std::size_t i = 0; i < e.size(); ++i) {
            if (i == r || std::find(n.slots.begin(), n.slots.end(), i) != n.slots.end()) continue;
            shares.emplace_back(i, -column[i] / column[r]);
            n.leave_out(shares.back().second, i);
        }
        n.accumulate(shares);
    }
    static void removed(Memory& known, const Expansion&, std::size_t r) {
        known.gram.remove(r);
        known.table.remove(r);
    }
    static void finish_batch(Memory& known, const Expansion&) {
        known.gram.rebuild_if_due(known.table);
    }
};

/// Names of the strategies in Python.
inline constexpr std::pair<const char*, Forget> strategy_names[] = {
    {"simple", Forget::simple},
    {"nearest", Forget::nearest},
    {"projection", Forget::projection},
    {"oldest", Forget::oldest}};

/// Call `use` with the struct of a strategy.
template <class Use>
inline decltype(auto) with_strategy(Forget how, Use&& use) {
    switch (how) {
        case Forget::simple:
            return use(ForgetSimple{});
        case Forget::nearest:
            return use(ForgetNearest{});
        case Forget::projection:
            return use(ForgetProjection{});
        default:
            return use(ForgetOldest{});
    }
}

}  // namespace aggro
