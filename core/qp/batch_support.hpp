// Support classes of a mini-batch: every wrong class of every example is a constraint.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "constraints/support_classes.hpp"
#include "constraints/task.hpp"
#include "qp/batch_cholesky.hpp"

namespace aggro {

/// Solves the dual by exact block steps: each example in turn gets its support-class solution at
/// the scores without its own contribution, until nothing changes. Newton steps on the current
/// support classes between the sweeps speed up convergence for strongly correlated examples.
class SupportDual {
  public:
    double precision = 0;  ///< relative precision of the scores

    /// Fill `tau` (size x count) from `gram` (size x size) and `scores` (size x count); return
    /// false if hard constraints contradict each other.
    bool solve(std::size_t size, std::size_t count, const double* gram, const double* scores,
               const Target* targets, const Rule* rules, double* tau) {
        n = size, classes = count;
        gram_ = gram, scores_ = scores, targets_ = targets, rules_ = rules, tau_ = tau;
        block.resize(classes);
        ways.clear();
        std::fill_n(tau, n * classes, 0.0);
        rescore();
        for (std::size_t sweep = 0; sweep < most_sweeps; ++sweep) {
            moved = 0;
            for (std::size_t k = 0; k < n; ++k) step(k);
            if (moved <= 1) return true;
            if (!list_ways() && sweep % 8 != 7) continue;
            if (!climb()) return false;
            rescore();
        }
        return std::none_of(rules, rules + n,
                            [](const Rule& r) { return r.cap == infinity && r.ridge == 0; });
    }

  private:
    static constexpr std::size_t most_sweeps = 5000;
    static constexpr double accuracy = 1e-12;  ///< of a loss, relative to its scores
    static constexpr double rounding = 4e-15;  ///< of a score, relative to the terms of its sum

    /// A coordinate of the dual of example k: it raises tau of class `down` and, in exchange, that
    /// of the true class or, if the example has reached its cap, lowers tau of another class, `up`.
    struct Way {
        std::size_t k, up, down;
        bool capped;
    };

    /// Where a direction ends: when the tau of a class becomes zero or (if `down` is none) at a
    /// cap.
    struct Stop {
        double length;
        std::size_t k, down;
    };

    std::size_t label(std::size_t k) const { return static_cast<std::size_t>(targets_[k].label); }

    /// Solve the block of example k and update the scores of all examples.
    void step(std::size_t k) {
        const double q = gram_[k * n + k];
        const double* own = tau_ + k * classes;
        const double* s = now.data() + k * classes;
        const std::size_t y = label(k);
        const double base = rules_[k].margin - (s[y] - q * own[y]);
        double size = rules_[k].margin;
        ranking.clear();
        for (std::size_t v = 0; v < classes; ++v) {
            const double l = base + s[v] - q * own[v];
            size = std::max(size, std::abs(s[v]) + q * std::abs(own[v]));
            if (v != y && l > 0) ranking.emplace_back(l, v);
        }
        std::fill(block.begin(), block.end(), 0.0);
        if (q >= std::numeric_limits<double>::min())
            block[y] = support_classes(ranking, q, rules_[k], block.data());
        const double least =
            // smaller changes are rounding error
            std::max(accuracy, 4 * precision) * size + rounding * terms[k];
        for (std::size_t v = 0; v < classes; ++v) {
            const double change = block[v] - own[v];
            moved = std::max(moved, q * std::abs(change) / least);
            shift(k, v, change);
        }
    }

    /// Recompute the scores from scratch to remove the rounding of long steps that cancelled.
    /// `terms` is the magnitude of the terms.
    void rescore() {
        now.assign(scores_, scores_ + n * classes);
        terms.assign(n, 0.0);
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t v = 0; v < classes; ++v) {
                const double own = tau_[k * classes + v];
                for (std::size_t j = 0; own != 0 && j < n; ++j) {
                    const double term = gram_[k * n + j] * own;
                    now[j * classes + v] += term;
                    terms[j] += std::abs(term);
                }
            }
    }

    void shift(std::size_t k, std::size_t v, double change) {
        if (change == 0) return;
        tau_[k * classes + v] += change;
        for (std::size_t j = 0; j < n; ++j) now[j * classes + v] += gram_[k * n + j] * change;
    }

    /// Maximise over the non-zero taus by Newton steps, each complete or truncated at a bound,
    /// which is then removed. Return false if there is no maximum.
    bool climb() {
        for (std::size_t left = 2 * ways.size() + 2; left > 0; --left) {
            if (ways.size() < 2 || ways.size() > most_ways) return true;
            pose(ways.size());
            const double longest = aim();
            const Stop stop = first_stop();
            if (longest == infinity && stop.length == infinity) return false;
            walk(std::min(longest, stop.length));
            if (longest <= stop.length) return true;
            if (stop.down != classes) {  // exactly zero; the sum of the example's taus is unchanged
                const double rest = tau_[stop.k * classes + stop.down];
                shift(stop.k, stop.down, -rest);
                shift(stop.k, label(stop.k), rest);
            }
            list_ways();
        }
        return true;
    }

    /// Compute the Newton direction and return its useful length: infinity if the dual has no
    /// curvature.
    double aim() {
        factor.of(matrix.data(), ways.size(), members);
        factor.solve(slope.data(), direction.data());
        const std::size_t astray =
            factor.worst_residual(std::max(1e-10, 4 * precision), noise.data());
        if (astray != factor.none) factor.null_direction(astray, direction.data());
        for (std::size_t i = 0; i < ways.size(); ++i) direction[i] /= lengths[i];
        return astray == factor.none ? 1.0 : infinity;
    }

    void walk(double length) {
        for (std::size_t i = 0; i < ways.size(); ++i) {
            shift(ways[i].k, ways[i].up, length * direction[i]);
            shift(ways[i].k, ways[i].down, -length * direction[i]);
        }
    }

    /// Return whether their number is the same as after the last sweep, which means that the
    /// support classes are stable.
    bool list_ways() {
        const std::size_t before = ways.size();
        ways.clear();
        for (std::size_t k = 0; k < n; ++k) {
            const double* own = tau_ + k * classes;
            const std::size_t y = label(k);
            if (!(own[y] > 0)) continue;
            const bool capped = own[y] >= rules_[k].cap * (1 - 1e-12);
            std::size_t up = capped ? classes : y;
            for (std::size_t v = 0; v < classes; ++v) {
                if (v == y || own[v] == 0) continue;
                if (up == classes)
                    up = v;  // absorbs the changes of the others
                else
                    ways.push_back({k, up, v, capped});
            }
        }
        return ways.size() == before;
    }

    /// Compute the curvature between all pairs and the slope of the dual along each.
    void pose(std::size_t m) {
        matrix.resize(m * m);
        for (auto* v : {&slope, &direction, &noise}) v->resize(m);
        members.resize(m);
        for (std::size_t i = 0; i < m; ++i) {
            const Way& a = ways[i];
            const double* s = now.data() + a.k * classes;
            const double ridge = a.capped ? 0 : rules_[a.k].ridge,
                         margin = a.capped ? 0 : rules_[a.k].margin;
            members[i] = i;
            slope[i] = margin - s[a.up] + s[a.down] - ridge * tau_[a.k * classes + label(a.k)];
            noise[i] = rules_[a.k].margin + std::abs(s[a.up]) + std::abs(s[a.down]);
            for (std::size_t j = 0; j <= i; ++j) {
                const Way& b = ways[j];
                const int common =
                    (a.up == b.up) + (a.down == b.down) - (a.up == b.down) - (a.down == b.up);
                matrix[i * m + j] = gram_[a.k * n + b.k] * common + (a.k == b.k ? ridge : 0);
            }
        }
        to_unit_diagonal(m);
    }

    void to_unit_diagonal(std::size_t m) {
        lengths.resize(m);
        for (std::size_t i = 0; i < m; ++i) {
            lengths[i] = std::sqrt(matrix[i * m + i]);
            slope[i] /= lengths[i];
            noise[i] /= lengths[i];
        }
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j <= i; ++j) matrix[i * m + j] /= lengths[i] * lengths[j];
    }

    /// Return the first bound or cap that the direction reaches.
    Stop first_stop() const {
        Stop stop{infinity, 0, classes};
        const auto meet = [&](double length, std::size_t k, std::size_t down) {
            if (length < stop.length) stop = {std::max(length, 0.0), k, down};
        };
        for (std::size_t i = 0; i < ways.size();) {
            const Way& first = ways[i];
            const double* own = tau_ + first.k * classes;
            double total = 0;
            for (; i < ways.size() && ways[i].k == first.k; ++i) {
                total += direction[i];
                if (direction[i] < 0) meet(own[ways[i].down] / direction[i], first.k, ways[i].down);
            }
            if (total > 0 && first.capped)
                meet(-own[first.up] / total, first.k, first.up);
            else if (total > 0)
                meet((rules_[first.k].cap - own[first.up]) / total, first.k, classes);
        }
        return stop;
    }

    static constexpr std::size_t most_ways = 1024;  ///< beyond this number, sweeps are cheaper

    std::size_t n = 0, classes = 0;
    const double* gram_ = nullptr;
    const double* scores_ = nullptr;
    const Target* targets_ = nullptr;
    const Rule* rules_ = nullptr;
    double* tau_ = nullptr;
    double moved = 0;           ///< largest change of a sweep; up to 1 it is rounding
    std::vector<double> now;    ///< scores with the current tau
    std::vector<double> terms;  ///< magnitude of the terms of an example's scores
    std::vector<double> block;  ///< the new coefficients of one example
    std::vector<Way> ways;
    std::vector<double> matrix, slope, noise, direction, lengths;
    std::vector<std::size_t> members;
    PivotedCholesky factor;
    Ranking ranking;
};

}  // namespace aggro
