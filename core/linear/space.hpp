// The verbs of a row on a model: look at it, measure it, step along it. One output or many lanes,
// Euclidean or diagonal: the only things the loops over features can tell apart.
#pragma once
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "linear/share.hpp"
#include "rows/lanes.hpp"

namespace aggro {

/// Working memory of one pass, allocated once: one entry per lane, or per output.
template <class T>
struct Scratch {
    std::vector<T> dot, length, coef, plain, trail_coef, trail_plain, kappa, fade;
    std::vector<double> scores, means, tau, sums;
    std::vector<std::size_t> active;
    std::vector<T> values;
    Ranking ranking;
    Rule priced;                 ///< the rule of a group at the weight of an example
    Share share;                 ///< what is learned with it
    Journal* journal = nullptr;  ///< where threads write what they see; null for one alone
    Counters counters;           ///< of a thread; one alone uses the model's

    explicit Scratch(const Model<T>& m)
        : dot(m.lanes),
          length(m.lanes),
          coef(m.lanes),
          plain(m.lanes),
          trail_coef(m.lanes),
          trail_plain(m.lanes),
          kappa(m.lanes),
          fade(m.lanes),
          scores(m.shape.outputs),
          means(m.shape.outputs),
          tau(m.shape.outputs),
          sums(m.shape.sums + 1),
          share(whole(m)) {}
};

template <class T>
inline void clear(std::vector<T>& lanes) {
    std::fill(lanes.begin(), lanes.end(), T(0));
}

/// A row that was looked at. It is `stretch` times x: 1 but for rows whose squared length would
/// overflow.
template <class Row>
struct Seen {
    const Row& x;
    double squared = 0;  ///< ||x||^2; a length that underflows counts as zero
    double stretch = 1;
};

/// Fills `values` with those of the row, divided by the largest, which is returned.
template <class T, class Row>
[[gnu::noinline]] inline T shorten(const Row& x, std::vector<T>& values) {
    values.assign(x.values, x.values + x.size);
    T largest = 0;
    for (std::size_t k = 0; k < x.size; ++k) {
        const T v = values[k];
        if (!std::isfinite(v))
            throw BadExample("feature " + std::to_string(x.feature(k)) + " is " +
                             (std::isnan(v) ? "NaN" : "infinite (inf)"));
        largest = std::max(largest, std::abs(v));
    }
    for (T& v : values) v /= largest;
    return largest;
}

template <class T, class Row, bool Single, bool Diagonal>
class Space {
  public:
    Space(Model<T>& model, Scratch<T>& scratch)
        : m(model),
          s(scratch),
          stride(model.weights.stride()),
          first(scratch.share.first),
          lanes(scratch.share.lanes) {}

    /// Looks at a row: its products with all lanes and its squared length.
    [[gnu::always_inline]] Seen<Row> look(const Row& x) {
        const double squared = read(x);
        if (!(squared <= std::numeric_limits<T>::max())) return look_shortened(x);
        return {x, squared < std::numeric_limits<T>::min() ? 0 : squared};
    }

    /// x' Sigma x with the constant feature, in units of the row (x / stretch); Euclidean or
    /// diagonal.
    double length(std::size_t k, const Seen<Row>& row) const {
        const double v = Diagonal ? static_cast<double>(s.length[k]) : row.squared;
        return row.stretch * v + (m.shape.intercept ? m.bias_variance[k] / row.stretch : 0);
    }

    /// Fills `dot` (and, in a diagonal metric, `length`) for all lanes; returns ||x||^2.
    double read(const Row& x) {
        const T* w = m.weights.data();
        if constexpr (Single && !Diagonal) {
            const Glance<T> seen = glance(x, w);
            s.dot[0] = seen.dot;
            return static_cast<double>(seen.length);
        } else if constexpr (Single) {
            return look_in_pairs(x, w);
        } else {
            dot_lanes(x, w + first, stride, lanes, s.dot.data() + first);
            if constexpr (Diagonal)
                length_lanes(x, m.variance() + first, stride, lanes, s.length.data() + first);
            return static_cast<double>(squared_length(x));
        }
    }

    /// Measures the row again, where the metric has changed since it was looked at.
    void measure(const Row& x) {
        if constexpr (Single)
            look_in_pairs(x, m.weights.data());
        else
            length_lanes(x, m.variance() + first, stride, lanes, s.length.data() + first);
    }

    /// Moves every lane of `target` by coef * Sigma x + plain * x. Spoils `coef`.
    void step(const Row& x, T* target, std::size_t target_stride, std::vector<T>& coef,
              const std::vector<T>& plain) {
        const bool sums = m.shape.sums > 0;
        if constexpr (!Diagonal) {
            for (std::size_t l = 0; sums && l < m.lanes; ++l) coef[l] += plain[l];
            add(x, target, target_stride, coef);
        } else {
            if (sums) add(x, target, target_stride, plain);
            add_scaled(x, target, target_stride, coef);
        }
    }

    /// Diagonal metric: the precision of every lane grows by kappa * x^2, after a share of what it
    /// was above one is forgotten: 1/v becomes 1 + (1 - forgetting) (1/v - 1) + kappa x^2.
    void sharpen(const Row& x) {
        T* variance = m.variance();
        if constexpr (Single) {
            const T kappa = s.kappa[0];
            const auto fade = static_cast<T>(kappa != 0 ? m.shape.forgetting : 0);
            const bool root = m.root();
            for (std::size_t k = 0; k < x.size; ++k) {
                T& v = variance[x.feature(k) * stride];
                const T square = x.values[k] * x.values[k], used = square > T(0) ? fade : T(0);
                const T inverse = root ? v * v : v;  // of the precision
                const T growth = T(1) + used * (inverse - T(1)) + kappa * square * inverse;
                if (v > T(0)) v /= root ? std::sqrt(growth) : growth;  // zero stays zero
            }
        } else {
            for (std::size_t l = first; l < first + lanes; ++l)
                s.fade[l] = static_cast<T>(s.kappa[l] != 0 ? m.shape.forgetting : 0);
            shrink_lanes(x, variance + first, stride, lanes, s.kappa.data() + first,
                         s.fade.data() + first, m.root());
        }
    }

    /// target_j[l] += x_j coef[l], touching only the lanes that move when they are few.
    void add(const Row& x, T* target, std::size_t target_stride, const std::vector<T>& coef) {
        if constexpr (Single) {
            if (coef[0] != T(0)) add_one(x, target, target_stride, coef[0]);
        } else {
            std::size_t moving = 0;
            for (std::size_t l = first; l < first + lanes; ++l) moving += coef[l] != T(0);
            if (moving == 0) return;
            if (moving * 64 >= lanes * sizeof(T))
                return add_lanes(x, target + first, target_stride, lanes, coef.data() + first);
            s.active.clear();
            for (std::size_t l = first; l < first + lanes; ++l)
                if (coef[l] != T(0)) s.active.push_back(l);
            for (std::size_t k = 0; k < x.size; ++k) {
                T* lane = target + x.feature(k) * target_stride;
                for (std::size_t l : s.active) lane[l] += x.values[k] * coef[l];
            }
        }
    }

    /// Adds to the class sums what waits for them in `plain`, where rounding would wear them out.
    void add_sums(const Row& x) {
        if constexpr (std::is_same_v<T, float>)
            for (std::size_t c = 0; c < m.sum_rest.stride(); ++c) {
                const std::size_t l = m.shape.outputs + c;
                if (s.plain[l] != 0)
                    add_exactly(x, m.weights.data() + l, m.weights.stride(), m.sum_rest.data() + c,
                                m.sum_rest.stride(), static_cast<double>(s.plain[l]));
                s.plain[l] = 0;
            }
    }

  private:
    /// The same for a row whose squared length overflows: it is divided by its largest value.
    [[gnu::noinline]] Seen<Row> look_shortened(const Row& x) {
        const T largest = shorten(x, s.values);
        shortened = x;
        shortened.values = s.values.data();
        return {shortened, read(shortened), static_cast<double>(largest)};
    }

    double look_in_pairs(const Row& x, const T* w) {
        constexpr std::size_t bytes = 2 * sizeof(T), chains = 4;  // several chains hide latency
        Vector<T, bytes> sums[chains] = {};
        const auto take = [&](std::size_t k, auto& sum) __attribute__((always_inline)) {
            const T v = x.values[k];
            sum += load<T, bytes>(w + 2 * x.feature(k)) * Vector<T, bytes>{v, v * v};
        };
        std::size_t k = 0;
        for (; k + chains <= x.size; k += chains)
            for (std::size_t c = 0; c < chains; ++c) take(k + c, sums[c]);
        for (; k < x.size; ++k) take(k, sums[0]);
        const auto sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        s.dot[0] = sum[0];
        s.length[0] = sum[1];
        return static_cast<double>(squared_length(x));
    }

    void add_scaled(const Row& x, T* target, std::size_t target_stride,
                    const std::vector<T>& coef) {
        const T* variance = m.variance();
        if constexpr (Single) {
            for (std::size_t k = 0; k < x.size; ++k)
                target[x.feature(k) * target_stride] +=
                    coef[0] * together(x.values[k] * variance[x.feature(k) * stride]);
        } else {
            add_scaled_lanes(x, target + first, target_stride, variance + first, stride, lanes,
                             coef.data() + first);
        }
    }

    Model<T>& m;
    Scratch<T>& s;
    std::size_t stride, first, lanes;
    Row shortened{};  ///< the row just looked at, where its squared length would overflow
};

}  // namespace aggro
