// Exact solution of a small box-constrained concave problem: the dual of a mini-batch with one
// constraint per example (docs/algorithms.md, "Mini-batches").
//
//   maximise  linear't - sum_k epsilon_k |t_k| - 1/2 t'Qt     subject to  lower <= t <= upper
//
// This is an active-set method: coordinate ascent finds the active set, Newton steps on the free
// coordinates find the maximum. Q may be singular (more examples than features, duplicates).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "losses/slack.hpp"
#include "qp/batch_cholesky.hpp"

namespace aggro {

class BoxDual {
  public:
    std::vector<double> Q, linear, epsilon, lower, upper;
    std::vector<double> terms;  ///< magnitude of the terms whose difference is `linear`
    std::vector<double> t;      ///< the solution
    /// Tolerance of the KKT conditions relative to the terms that cancel; smaller violations are
    /// rounding.
    double accuracy = exact;
    static constexpr double exact = 1e-10;

    void resize(std::size_t count) {
        size = count;
        Q.resize(size * size);
        for (auto* v : {&linear, &epsilon, &lower, &upper, &terms, &t, &length, &gradient, &noise,
                        &pull, &direction, &target})
            v->resize(size);
        free.resize(size);
    }

    /// Fill `t`; return false if the maximum is infinite because the constraints contradict each
    /// other.
    bool solve() {
        scale();
        std::fill(t.begin(), t.end(), 0.0);
        gradient = linear;
        if (bounded()) find_face();
        const std::size_t patience = 100 + 10 * size;
        for (std::size_t round = 0; round < patience; ++round) {
            measure();
            const Climb climb = newton();
            if (climb == Climb::endless) return false;
            if (climb == Climb::cut) continue;
            measure();
            if (optimal()) break;
            sweep();
        }
        for (std::size_t k = 0; k < size; ++k) t[k] /= length[k];
        return true;
    }

  private:
    enum class Climb { full, cut, endless };

    static double soft(double v, double width) {
        return v > width ? v - width : v < -width ? v + width : 0.0;
    }

    /// Scale Q to a unit diagonal, so that the null space becomes visible. Examples of length zero
    /// have no step.
    void scale() {
        for (std::size_t k = 0; k < size; ++k) {
            const double q = Q[k * size + k];
            const bool moves = q >= std::numeric_limits<double>::min();
            length[k] = moves ? std::sqrt(q) : 1;
            if (!moves) lower[k] = upper[k] = 0;
            linear[k] /= length[k];
            epsilon[k] /= length[k];
            terms[k] /= length[k];
            lower[k] *= length[k];
            upper[k] *= length[k];
        }
        for (std::size_t j = 0; j < size; ++j) {
            for (std::size_t k = 0; k < size; ++k) Q[j * size + k] /= length[j] * length[k];
            Q[j * size + j] = 1;
        }
    }

    bool bounded() const {
        for (std::size_t k = 0; k < size; ++k)
            if (lower[k] > -infinity || upper[k] < infinity || epsilon[k] > 0) return true;
        return false;
    }

    /// Run coordinate ascent until the set of free coordinates is stable.
    void find_face() {
        constexpr std::size_t enough = 40;
        for (std::size_t k = 0; k < size; ++k) free[k] = 2;  // unknown
        for (std::size_t pass = 0; pass < enough; ++pass) {
            sweep();
            bool rests = true;
            for (std::size_t k = 0; k < size; ++k) {
                const char now = is_free(k);
                rests = rests && now == free[k];
                free[k] = now;
            }
            if (rests) return;
        }
    }

    /// Take one exact step along each coordinate. The first sweep from zero is sequential PA.
    void sweep() {
        for (std::size_t k = 0; k < size; ++k) {
            const double best =
                std::clamp(soft(t[k] + gradient[k], epsilon[k]), lower[k], upper[k]);
            const double step = best - t[k];
            if (step == 0) continue;
            t[k] = best;
            const double* row = Q.data() + k * size;
            for (std::size_t j = 0; j < size; ++j) gradient[j] -= step * row[j];
        }
    }

    bool is_free(std::size_t k) const {
        return lower[k] < t[k] && t[k] < upper[k] && (t[k] != 0 || epsilon[k] == 0);
    }

    /// Bounds of the smooth piece of the objective around coordinate k: |t| has a kink at zero.
    double piece_lower(std::size_t k) const { return epsilon[k] > 0 && t[k] > 0 ? 0.0 : lower[k]; }
    double piece_upper(std::size_t k) const { return epsilon[k] > 0 && t[k] < 0 ? 0.0 : upper[k]; }

    /// Recompute the gradient, the slope of the objective and the magnitude of the cancelling
    /// terms.
    void measure() {
        gradient = linear;
        for (std::size_t k = 0; k < size; ++k)
            noise[k] = std::abs(linear[k]) + epsilon[k] + terms[k];
        for (std::size_t k = 0; k < size; ++k) {
            if (t[k] == 0) continue;
            const double* row = Q.data() + k * size;
            const double step = t[k], weight = std::abs(t[k]);
            for (std::size_t j = 0; j < size; ++j) {
                gradient[j] -= step * row[j];
                noise[j] += weight * std::abs(row[j]);
            }
        }
        for (std::size_t k = 0; k < size; ++k)
            pull[k] = t[k] == 0 ? soft(gradient[k], epsilon[k])
                                : gradient[k] - (t[k] > 0 ? epsilon[k] : -epsilon[k]);
    }

    bool optimal() const {
        for (std::size_t k = 0; k < size; ++k) {
            const bool inward = pull[k] > 0 ? t[k] < upper[k] : t[k] > lower[k];
            if (inward && std::abs(pull[k]) > accuracy * noise[k]) return false;
        }
        return true;
    }

    /// Step to the maximum over the free coordinates, or to the first bound in that direction.
    Climb newton() {
        members.clear();
        for (std::size_t k = 0; k < size; ++k)
            if (is_free(k)) members.push_back(k);
        if (members.empty()) return Climb::full;
        factor.of(Q.data(), size, members);
        factor.solve(pull.data(), direction.data());
        const std::size_t astray = factor.worst_residual(accuracy, noise.data());
        if (astray != factor.none) return follow_null_space(astray);

        bool inside = true;
        for (const std::size_t k : members) {
            target[k] = std::clamp(t[k] + direction[k], piece_lower(k), piece_upper(k));
            inside = inside && is_strictly_inside(k, target[k]);
        }
        if (!inside && !projection_is_better()) cut_at_first_bound(1);
        for (const std::size_t k : members) t[k] = target[k];
        return inside ? Climb::full : Climb::cut;
    }

    bool is_strictly_inside(std::size_t k, double value) const {
        return piece_lower(k) < value && value < piece_upper(k);
    }

    /// Follow a direction without curvature to a bound. Without a bound the batch is infeasible.
    Climb follow_null_space(std::size_t astray) {
        const double longest = factor.null_direction(astray, direction.data());
        const double way = cut_at_first_bound(longest);
        if (way == infinity || (way == longest && !bounded_along())) return Climb::endless;
        for (const std::size_t k : members) t[k] = target[k];
        return Climb::cut;
    }

    bool bounded_along() const {
        for (const std::size_t k : members)
            if (slack(k) < infinity) return true;
        return false;
    }

    /// Return how far coordinate k can move along the direction.
    double slack(std::size_t k) const {
        if (direction[k] == 0) return infinity;
        const double bound = direction[k] > 0 ? piece_upper(k) : piece_lower(k);
        return (bound - t[k]) / direction[k];
    }

    /// Set `target` to the end of the step and return its length.
    double cut_at_first_bound(double longest) {
        double way = longest;
        for (const std::size_t k : members) way = std::min(way, slack(k));
        if (way == infinity) return way;
        for (const std::size_t k : members) {
            const double bound = direction[k] > 0 ? piece_upper(k) : piece_lower(k);
            target[k] = slack(k) <= way ? bound : t[k] + way * direction[k];
        }
        return way;
    }

    /// Return whether clipping the full step improves more than stopping at its first bound.
    /// Clipping lets several coordinates reach their bounds at once.
    bool projection_is_better() const {
        double way = 1, ascent = 0, gain = 0;
        for (const std::size_t k : members) {
            way = std::min(way, slack(k));
            ascent += pull[k] * direction[k];
        }
        for (const std::size_t j : members) {
            double curve = 0;
            for (const std::size_t k : members) curve += Q[j * size + k] * (target[k] - t[k]);
            gain += (target[j] - t[j]) * (pull[j] - curve / 2);
        }
        return gain >= (way - way * way / 2) * ascent;
    }

    std::size_t size = 0;
    std::vector<double> length;  ///< square root of the diagonal; t is in these units until the end
    std::vector<double> gradient;  ///< linear - Qt
    std::vector<double> pull;      ///< slope of the objective, including the kink at zero
    std::vector<double> noise;     ///< sum of the magnitudes of the terms of the gradient
    std::vector<double> direction, target;
    std::vector<char> free;
    std::vector<std::size_t> members;
    PivotedCholesky factor;
};

}  // namespace aggro
