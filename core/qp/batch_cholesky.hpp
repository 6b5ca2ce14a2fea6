// Cholesky factors of small, possibly singular matrices with a unit diagonal.
#pragma once
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "losses/slack.hpp"

namespace aggro {

/// P'AP = LL' with the largest pivots first. The remaining rows depend linearly on the others.
class PivotedCholesky {
  public:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    /// Factorise the rows and columns `members` of a symmetric matrix with `stride` columns.
    void of(const double* matrix, std::size_t stride, const std::vector<std::size_t>& members) {
        order = members;
        n = members.size();
        L.resize(n * n);
        column.resize(n);
        for (auto* v : {&half, &residual}) v->resize(n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j)
                L[i * n + j] = matrix[members[i] * stride + members[j]];
        rank = 0;
        while (rank < n && bring_largest_pivot() > dependent) eliminate(), ++rank;
    }

    /// Solve x = A^-1 b on the independent rows; x is 0 on the others. Indices are those of the
    /// matrix.
    void solve(const double* b, double* x) {
        for (std::size_t i = 0; i < n; ++i) {
            double v = b[order[i]];
            const std::size_t known = i < rank ? i : rank;
            for (std::size_t j = 0; j < known; ++j) v -= L[i * n + j] * half[j];
            if (i < rank)
                half[i] = v / L[i * n + i];
            else
                residual[i] = v, x[order[i]] = 0;
        }
        back_substitute(x);
    }

    /// Return the dependent row with the largest residual of the last solution, or `none` if all
    /// are below `accuracy` times their noise.
    std::size_t worst_residual(double accuracy, const double* noise) const {
        std::size_t worst = none;
        double excess = accuracy;
        for (std::size_t i = rank; i < n; ++i) {
            const double relative = std::abs(residual[i]) / noise[order[i]];
            if (relative > excess) excess = relative, worst = i;
        }
        return worst;
    }

    /// Compute an ascent direction through dependent row i along which A has no curvature; return
    /// its useful length.
    double null_direction(std::size_t i, double* x) {
        const double up = residual[i] > 0 ? 1.0 : -1.0;
        for (std::size_t j = 0; j < rank; ++j) half[j] = -up * L[i * n + j];
        for (std::size_t j = rank; j < n; ++j) x[order[j]] = 0;
        back_substitute(x);
        for (std::size_t j = 0; j < rank; ++j)
            if (std::abs(x[order[j]]) < negligible) x[order[j]] = 0;  // cannot reach a bound
        x[order[i]] = up;
        const double bend = L[i * n + i];
        return bend > 0 ? std::abs(residual[i]) / bend : infinity;
    }

  private:
    /// smaller pivots are rounding error, relative to 1
    static constexpr double dependent = 1e-12;
    /// smaller components of a direction are rounding error
    static constexpr double negligible = 1e-9;

    double bring_largest_pivot() {
        std::size_t best = rank;
        for (std::size_t i = rank + 1; i < n; ++i)
            if (L[i * n + i] > L[best * n + best]) best = i;
        if (best != rank) exchange(rank, best);
        return L[rank * n + rank];
    }

    /// Swap rows and columns a < b of the lower triangle.
    void exchange(std::size_t a, std::size_t b) {
        std::swap(order[a], order[b]);
        std::swap(L[a * n + a], L[b * n + b]);
        for (std::size_t j = 0; j < a; ++j) std::swap(L[a * n + j], L[b * n + j]);
        for (std::size_t i = a + 1; i < b; ++i) std::swap(L[i * n + a], L[b * n + i]);
        for (std::size_t i = b + 1; i < n; ++i) std::swap(L[i * n + a], L[i * n + b]);
    }

    void eliminate() {
        const std::size_t k = rank;
        const double root = std::sqrt(L[k * n + k]);
        L[k * n + k] = root;
        for (std::size_t i = k + 1; i < n; ++i) column[i] = L[i * n + k] /= root;
        for (std::size_t i = k + 1; i < n; ++i) {
            double* row = L.data() + i * n;
            const double factor = column[i];
            for (std::size_t j = k + 1; j <= i; ++j) row[j] -= factor * column[j];
        }
    }

    /// Compute x = L'^-1 half on the independent rows.
    void back_substitute(double* x) {
        for (std::size_t i = rank; i-- > 0;) {
            const double v = half[i] /= L[i * n + i];
            for (std::size_t j = 0; j < i; ++j) half[j] -= L[i * n + j] * v;
            x[order[i]] = v;
        }
    }

    std::size_t n = 0, rank = 0;
    std::vector<std::size_t> order;  ///< the row of the matrix at each position
    std::vector<double> L;           ///< lower triangle in row-major order
    std::vector<double> column, half, residual;
};

}  // namespace aggro
