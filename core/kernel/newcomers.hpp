// The examples just learned, and their projections of each support vector.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernel/expansion.hpp"

namespace aggro {

/// An example just learned: its slot, and its kernel values with all slots.
struct Newcomer {
    std::size_t slot;
    const double* kernel;
};

/// Slots and the shares of a removed support vector that they receive.
using Shares = std::vector<std::pair<std::size_t, double>>;

/// Projections on the newcomers N: half = L^-1 K_Nr for all r, where K_NN = LL'.
class Newcomers {
  public:
    static constexpr double dependent = 1e-12;

    std::vector<std::size_t> slots;
    std::vector<double> residual;  ///< k_rr minus its projection on the newcomers

    void name(const std::vector<Newcomer>& newcomers) {
        slots.clear();
        for (const Newcomer& n : newcomers) slots.push_back(n.slot);
    }

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

    /// Return the product of r and m minus their projections on the newcomers.
    double beyond(double product, std::size_t r, std::size_t m) const {
        for (std::size_t i = 0; i < rows; ++i)
            product -= half[i * columns + r] * half[i * columns + m];
        return product;
    }

    /// Start the shares of slot r for the newcomers; `leave_out` subtracts the share that m takes.
    void begin(std::size_t r) {
        part.resize(rows);
        for (std::size_t i = 0; i < rows; ++i) part[i] = half[i * columns + r];
    }
    void leave_out(double share, std::size_t m) {
        for (std::size_t i = 0; i < rows; ++i) part[i] -= share * half[i * columns + m];
    }

    /// Solve L' beta = part for the shares of the newcomers; L_ij is in the column of newcomer i in
    /// `half`.
    void accumulate(Shares& shares) {
        for (std::size_t i = rows; i-- > 0;) {
            const double* row = half.data() + i * columns;
            const double pivot = row[slots[i]];
            for (std::size_t j = i + 1; j < rows; ++j) part[i] -= row[slots[j]] * part[j];
            part[i] = pivot > 0 ? part[i] / pivot : 0.0;  // 0: it is linearly dependent
            shares.emplace_back(slots[i], part[i]);
        }
    }

    /// Remove slot r, which the last one replaces.
    void removed(std::size_t r, std::size_t last) {
        for (std::size_t& slot : slots)
            if (slot == last) slot = r;
        for (std::size_t i = 0; i < rows; ++i) half[i * columns + r] = half[i * columns + last];
        if (!residual.empty()) residual[r] = residual[last];
    }

  private:
    void subtract(double factor, const double* from, double* row) const {
        for (std::size_t r = 0; r < columns; ++r) row[r] -= factor * from[r];
    }

    std::size_t rows = 0, columns = 0;
    std::vector<double> half, part;
};

}  // namespace aggro
