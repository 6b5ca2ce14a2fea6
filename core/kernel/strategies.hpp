// Budget strategies: their state, the cost of a removal, and where the removed weight goes.
//
// Removing r and letting span(V) accumulate it costs 1/2 |a_r|^2 (k_rr - k_rV K_VV^-1 k_Vr); the
// one of least cost goes (Wang & Vucetic 2010; docs/algorithms.md). V always holds the examples
// just learned, so that their scores stay what the step has made them. A strategy is one struct of
// this file; `with_strategy` is the only place that goes from names to structs.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "kernel/budget_gram.hpp"
#include "kernel/newcomers.hpp"

namespace aggro {

enum class Forget {
    simple,      ///< absorbed by the new examples alone
    nearest,     ///< and by the nearest neighbour of the one removed
    projection,  ///< by all
    oldest       ///< dropped: the oldest one, absorbed by none
};

/// What strategies remember of their support vectors; it is saved with the model.
struct Memory {
    SquareTable table;  ///< the kernel matrix
    Neighbours neighbours;
    InverseGram gram;
};

/// Half of what a removal costs: the square of the coefficients, for every slot.
inline void square_weights(const Expansion& e, std::vector<double>& costs) {
    if (e.stride == 1)
        for (std::size_t r = 0; r < e.size(); ++r) costs[r] = e.coefs[r] * e.coefs[r];
    else
        for (std::size_t r = 0; r < e.size(); ++r) costs[r] = e.squared_weight(r);
}

/// Dropped: the oldest one, absorbed by none.
struct ForgetOldest {
    static constexpr bool keeps_table = false, keeps_inverse = false, keeps_neighbours = false;

    /// Takes in an example that becomes the last slot.
    static void take_in(Memory&, const double*, double) {}
    /// The newcomers stay. To be called before costs are asked for.
    static void protect(Newcomers&, const std::vector<Newcomer>&, const Expansion&) {}
    /// What each removal would cost, times two.
    static void cost(const Memory&, const Newcomers&, const Expansion& e,
                     std::vector<double>& costs) {
        std::copy(e.born.begin(), e.born.end(), costs.begin());
    }
    /// Who absorbs slot r.
    static void share(const Memory&, Newcomers&, const Expansion&, std::size_t, Shares&) {}
    /// Slot r goes; the last one takes its place.
    static void removed(Memory&, const Expansion&, std::size_t) {}
    /// The batch is over.
    static void finish_batch(Memory&, const Expansion&) {}
};

/// Absorbed by the new examples alone.
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

/// Absorbed by the new examples and by the nearest neighbour of the one removed.
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
    /// Whether the neighbour of r says more about r than the newcomers do.
    static bool has_neighbour(const Memory& known, const Newcomers& n, const Expansion& e,
                              std::size_t r) {
        const auto m = known.neighbours.nearest[r];
        return m >= 0 && n.residual[static_cast<std::size_t>(m)] >
                             Newcomers::dependent * e.self[static_cast<std::size_t>(m)];
    }
    /// What r and its neighbour m have in common beyond the newcomers.
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

/// Absorbed by all: the others by the inverse, which is exact up to its trace, the newcomers by
/// what that leaves, so that their scores stay.
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

/// Their names in Python.
inline constexpr std::pair<const char*, Forget> strategy_names[] = {
    {"simple", Forget::simple},
    {"nearest", Forget::nearest},
    {"projection", Forget::projection},
    {"oldest", Forget::oldest}};

/// Calls `use` with the strategy of that name.
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
