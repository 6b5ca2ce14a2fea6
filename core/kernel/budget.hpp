// Forgetting: which support vector goes when a budget is exceeded, and who absorbs it.
//
// Removing r and letting span(V) absorb it costs 1/2 |a_r|^2 (k_rr - k_rV K_VV^-1 k_Vr); the one of
// least cost goes (Wang & Vucetic 2010; ALGORITHMS §9). V always holds the examples just learned,
// so that their scores stay what the step has made them.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernel/budget_gram.hpp"
#include "kernel/expansion.hpp"
#include "step/slack.hpp"

namespace aggro {

enum class Forget {
    simple,      ///< absorbed by the new examples alone
    nearest,     ///< and by the nearest neighbour of the one removed
    projection,  ///< by all
    oldest       ///< dropped: the oldest one, absorbed by none
};

/// An example just learned: its slot, and its kernel values with all slots.
struct Newcomer {
    std::size_t slot;
    const double* kernel;
};

/// Where the smallest of the values stands: the vectors find the value, then it is looked up.
inline std::size_t smallest(const std::vector<double>& values) {
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
    return static_cast<std::size_t>(std::find(values.begin(), values.end(), best) - values.begin());
}

class Budget {
  public:
    Budget() = default;
    Budget(std::size_t most, Forget how) : limit(most), strategy(how) {}

    bool exceeded_by(std::size_t size) const { return limit > 0 && size > limit; }
    bool projects() const { return limit > 0 && strategy == Forget::projection; }

    /// Takes in an example that becomes the last slot; `kernel` are its values with all others.
    void take_in(const double* kernel, double self) {
        if (projects()) gram.append(kernel, self);
        if (limit > 0 && strategy == Forget::nearest) neighbours.append();
        if (limit > 0 && (strategy == Forget::nearest || projects()))
            table.append(kernel, kernel, self);
    }

    /// The newcomers stay; V consists of them, or holds them. To be called before `choose`.
    void protect(const std::vector<Newcomer>& newcomers, const Expansion& e) {
        kept.clear();
        for (const Newcomer& n : newcomers) kept.push_back(n.slot);
        if (strategy == Forget::simple || strategy == Forget::nearest) factor(newcomers, e);
    }

    /// The slot that goes; `shares` lists who absorbs which part of it.
    std::size_t choose(const Expansion& e) {
        price_all(e);
        for (const std::size_t slot : kept) prices[slot] = infinity;
        const std::size_t best = smallest(prices);
        share_out(best, e);
        return best;
    }

    /// Slot r goes; the last one takes its place. To be called before it leaves the expansion.
    void removed(std::size_t r, const Expansion& e) {
        const std::size_t last = e.size() - 1;
        for (std::size_t& slot : kept)
            if (slot == last) slot = r;
        for (std::size_t i = 0; i < rows; ++i) half[i * columns + r] = half[i * columns + last];
        if (!residual.empty()) residual[r] = residual[last];
        if (strategy == Forget::nearest) neighbours.remove(table, e.self, r);
        if (projects()) gram.remove(r);
        if (table.size() > 0) table.remove(r);
    }

    /// The batch is over.
    void settle(const Expansion& e) {
        rows = 0;
        residual.clear();
        if (limit == 0) return;
        if (strategy == Forget::nearest) neighbours.settle(table, e.self);
        if (projects()) gram.rebuild_if_worn(table);
    }

    std::size_t limit = 0;
    Forget strategy = Forget::simple;
    std::vector<std::pair<std::size_t, double>> shares;
    SquareTable table;
    Neighbours neighbours;
    InverseGram gram;

  private:
    static constexpr double dependent = 1e-12;

    /// half = L^-1 K_Nr for all r, where K_NN = LL' and N are the newcomers; what N leaves of k_rr.
    void factor(const std::vector<Newcomer>& newcomers, const Expansion& e) {
        rows = newcomers.size(), columns = e.size();
        half.resize(rows * columns);
        residual = e.self;
        for (std::size_t i = 0; i < rows; ++i) {
            double* row = half.data() + i * columns;
            const std::size_t own = newcomers[i].slot;
            std::copy_n(newcomers[i].kernel, columns, row);
            for (std::size_t j = 0; j < i; ++j)
                subtract(half[j * columns + own], half.data() + j * columns, row);
            const double pivot = row[own];
            const double scale = pivot > dependent * e.self[own] ? 1 / std::sqrt(pivot) : 0.0;
            for (std::size_t r = 0; r < columns; ++r) {
                row[r] *= scale;
                residual[r] -= row[r] * row[r];
            }
        }
    }

    void subtract(double factor, const double* from, double* row) const {
        for (std::size_t r = 0; r < columns; ++r) row[r] -= factor * from[r];
    }

    /// What each removal would cost, times two.
    void price_all(const Expansion& e) {
        const std::size_t n = e.size();
        prices.resize(n);
        if (strategy == Forget::oldest)
            return std::copy(e.born.begin(), e.born.end(), prices.begin()), void();
        if (e.stride == 1)
            for (std::size_t r = 0; r < n; ++r) prices[r] = e.coefs[r] * e.coefs[r];
        else
            for (std::size_t r = 0; r < n; ++r) prices[r] = e.squared_weight(r);
        if (strategy == Forget::projection) {
            const auto& diagonal = gram.diagonal();
            for (std::size_t r = 0; r < n; ++r) prices[r] /= diagonal[r];
        } else if (strategy == Forget::nearest)
            for (std::size_t r = 0; r < n; ++r) prices[r] *= residual[r] - neighbour_gain(r, e);
        else
            for (std::size_t r = 0; r < n; ++r) prices[r] *= residual[r];
    }

    /// Whether the neighbour of r says more about r than the newcomers do.
    bool has_neighbour(std::size_t r, const Expansion& e) const {
        const auto m = neighbours.nearest[r];
        return m >= 0 && residual[static_cast<std::size_t>(m)] >
                             dependent * e.self[static_cast<std::size_t>(m)];
    }

    /// What r and its neighbour m have in common beyond the newcomers.
    double overlap(std::size_t r, std::size_t m, const Expansion& e) const {
        double value = (e.self[m] - neighbours.distance[r]) / 2;
        for (std::size_t i = 0; i < rows; ++i)
            value -= half[i * columns + r] * half[i * columns + m];
        return value;
    }

    double neighbour_gain(std::size_t r, const Expansion& e) const {
        if (!has_neighbour(r, e)) return 0;
        const auto m = static_cast<std::size_t>(neighbours.nearest[r]);
        const double common = overlap(r, m, e);
        return common * common / residual[m];
    }

    void share_out(std::size_t r, const Expansion& e) {
        shares.clear();
        if (strategy == Forget::oldest) return;
        if (strategy == Forget::projection) {
            const auto& column = gram.column(r);
            for (std::size_t i = 0; i < e.size(); ++i)
                if (i != r) shares.emplace_back(i, -column[i] / column[r]);
            return;
        }
        part.resize(rows);
        for (std::size_t i = 0; i < rows; ++i) part[i] = half[i * columns + r];
        if (strategy == Forget::nearest && has_neighbour(r, e)) {
            const auto m = static_cast<std::size_t>(neighbours.nearest[r]);
            const double share = overlap(r, m, e) / residual[m];
            shares.emplace_back(m, share);
            for (std::size_t i = 0; i < rows; ++i) part[i] -= share * half[i * columns + m];
        }
        back_substitute();
    }

    /// L' beta = part, for the newcomers; L_ij stands in `half` where newcomer i has its column.
    void back_substitute() {
        for (std::size_t i = rows; i-- > 0;) {
            const double* row = half.data() + i * columns;
            const double pivot = row[kept[i]];
            for (std::size_t j = i + 1; j < rows; ++j) part[i] -= row[kept[j]] * part[j];
            part[i] = pivot > 0 ? part[i] / pivot : 0.0;  // 0: it depends on the others
            shares.emplace_back(kept[i], part[i]);
        }
    }

    std::vector<std::size_t> kept;
    std::size_t rows = 0, columns = 0;
    std::vector<double> half, residual, part, prices;
};

}  // namespace aggro
