// Kernel matrix, nearest neighbours and inverse Gram matrix of the support vectors in a budget.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rows/vectors.hpp"

namespace aggro {

/// A square matrix to which rows and columns are added and removed one at a time.
class SquareTable {
  public:
    std::size_t size() const { return count; }
    double at(std::size_t i, std::size_t j) const { return values[i * stride + j]; }
    double* row(std::size_t i) { return values.data() + i * stride; }
    const double* row(std::size_t i) const { return values.data() + i * stride; }

    /// Append a row and a column.
    void append(const double* row, const double* column, double diagonal) {
        reserve(count + 1);
        for (std::size_t j = 0; j < count; ++j) {
            values[count * stride + j] = row[j];
            values[j * stride + count] = column[j];
        }
        values[count * stride + count] = diagonal;
        ++count;
    }

    /// Remove row and column r, which the last ones replace.
    void remove(std::size_t r) {
        const std::size_t last = --count;
        if (r == last) return;
        std::copy_n(row(last), last + 1, row(r));
        for (std::size_t i = 0; i < last; ++i) values[i * stride + r] = values[i * stride + last];
        values[r * stride + r] = values[last * stride + last];
    }

    void clear() { count = 0; }

    std::vector<double> compact() const {
        std::vector<double> out;
        for (std::size_t i = 0; i < count; ++i) out.insert(out.end(), row(i), row(i) + count);
        return out;
    }
    void assign(const double* data, std::size_t size) {
        count = 0;
        reserve(size);
        count = size;
        for (std::size_t i = 0; i < size; ++i) std::copy_n(data + i * size, size, row(i));
    }

  private:
    void reserve(std::size_t size) {
        if (size <= stride) return;
        const std::size_t wider = std::max(size, stride + stride / 2 + 8);
        std::vector<double> moved(wider * wider);
        for (std::size_t i = 0; i < count; ++i)
            std::copy_n(row(i), count, moved.data() + i * wider);
        values = std::move(moved);
        stride = wider;
    }

    std::size_t count = 0, stride = 0;
    std::vector<double> values;
};

/// The nearest neighbour of each support vector in the kernel's space. Those added by the current
/// batch are not neighbours of others before it is finished.
class Neighbours {
  public:
    static constexpr std::int64_t none = -1, newcomer = -2;
    std::vector<std::int64_t> nearest;  ///< a slot, `none` or `newcomer`
    std::vector<double> distance;       ///< to it, without k_rr: k_mm - 2 k_rm

    void append() { nearest.push_back(newcomer), distance.push_back(0.0); }

    void finish_batch(const SquareTable& k, const std::vector<double>& self) {
        for (std::size_t s = 0; s < nearest.size(); ++s) {
            if (nearest[s] != newcomer) continue;
            const double* row = k.row(s);
            for (std::size_t r = 0; r < nearest.size(); ++r) {
                const double way = self[s] - 2 * row[r];
                if (nearest[r] == newcomer || (nearest[r] >= 0 && way >= distance[r])) continue;
                nearest[r] = static_cast<std::int64_t>(s), distance[r] = way;
            }
            search(k, self, s, s);
        }
    }

    /// Remove slot r, which the last one replaces. Call this before removing it from the table.
    void remove(const SquareTable& k, const std::vector<double>& self, std::size_t r) {
        const auto gone = static_cast<std::int64_t>(r),
                   moved = static_cast<std::int64_t>(nearest.size() - 1);
        for (std::size_t i = 0; i < nearest.size(); ++i)
            if (i != r && nearest[i] == gone) search(k, self, i, r);
        nearest[r] = nearest.back(), distance[r] = distance.back();
        nearest.pop_back(), distance.pop_back();
        for (auto& n : nearest)
            if (n == moved) n = gone;
    }

  private:
    /// Find the nearest of all slots except newcomers and `without`.
    void search(const SquareTable& k, const std::vector<double>& self, std::size_t r,
                std::size_t without) {
        const double* row = k.row(r);
        nearest[r] = none;
        for (std::size_t j = 0; j < nearest.size(); ++j) {
            if (j == r || j == without || nearest[j] == newcomer) continue;
            const double way = self[j] - 2 * row[j];
            if (nearest[r] >= 0 && way >= distance[r]) continue;
            nearest[r] = static_cast<std::int64_t>(j), distance[r] = way;
        }
    }
};

/// The inverse of the kernel matrix K as M'M, updated in O(B^2) for each support vector added or
/// removed.
///
/// Support vectors may be linearly dependent and K singular, so a small share of each diagonal
/// entry is added to it. The root M has twice the digits of the inverse itself, whose errors are
/// those of a rounded K times its condition number.
class InverseGram {
  public:
    SquareTable root;  ///< M; the order of its rows is arbitrary
    std::int64_t since_rebuilt = 0;

    /// Add a row of the kernel matrix.
    void append(const double* k, double self) {
        const std::size_t n = root.size();
        share.assign(n, 0.0);
        double remainder = self;  // phi = sum_i share_i phi_i + remainder
        for (std::size_t i = 0; i < n; ++i) {
            const double* row = root.row(i);
            const double part = dot(row, k, n);
            for (std::size_t j = 0; j < n; ++j) share[j] += part * row[j];
            remainder -= part * part;
        }
        const double scale = 1 / std::sqrt(std::max(remainder, 0.0) + trace * std::abs(self));
        for (double& part : share) part *= -scale;
        nothing.resize(n);
        root.append(share.data(), nothing.data(), scale);
        ++since_rebuilt;
    }

    /// Remove row and column r: a reflection of the rows moves all of column r into row r, which is
    /// then deleted.
    void remove(std::size_t r) {
        const std::size_t n = root.size();
        double squared = 0;
        way.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            way[i] = root.at(i, r);
            squared += way[i] * way[i];
        }
        const double length = std::copysign(std::sqrt(squared), way[r]);
        way[r] += length;
        share.assign(n, 0.0);
        for (std::size_t i = 0; i < n; ++i) add(way[i], root.row(i), share.data(), n);
        for (std::size_t i = 0; i < n; ++i)
            add(-way[i] / (length * way[r]), share.data(), root.row(i), n);
        root.remove(r);
    }

    /// Return the diagonal of the inverse.
    const std::vector<double>& diagonal() {
        const std::size_t n = root.size();
        share.assign(n, 0.0);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) share[j] += root.at(i, j) * root.at(i, j);
        return share;
    }

    /// Return column r of the inverse.
    const std::vector<double>& column(std::size_t r) {
        const std::size_t n = root.size();
        share.assign(n, 0.0);
        for (std::size_t i = 0; i < n; ++i) add(root.at(i, r), root.row(i), share.data(), n);
        return share;
    }

    /// Recompute the root from the kernel matrix from time to time, since rounding errors
    /// accumulate.
    void rebuild_if_due(const SquareTable& k) {
        if (since_rebuilt >= 64 + static_cast<std::int64_t>(4 * k.size())) rebuild(k);
    }

    void rebuild(const SquareTable& k) {
        root.clear();
        for (std::size_t i = 0; i < k.size(); ++i) append(k.row(i), k.at(i, i));
        since_rebuilt = 0;
    }

  private:
    /// Relative size of the addition to the diagonal: above the rounding errors of a remainder,
    /// which are those of h = Mk with |M| < 1/sqrt(trace).
    static constexpr double trace = 1e-9;

    static void add(double factor, const double* from, double* to, std::size_t n) {
        for (std::size_t j = 0; j < n; ++j) to[j] += factor * from[j];
    }

    std::vector<double> share, way, nothing;
};

}  // namespace aggro
