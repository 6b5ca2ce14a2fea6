// Row operations on a model: products, squared lengths, steps. The loops over features have
// variants for one output or several, and for a Euclidean or diagonal metric.
#pragma once
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "linear/predict.hpp"
#include "linear/work_partition.hpp"
#include "rows/lanes.hpp"

namespace aggro {

/// Working memory of one pass, allocated once, with one entry per column or per output. `dot`,
/// `coef` and `plain` contain the columns of the weights, followed by those of their shift.
template <class T>
struct Scratch {
    std::vector<T> dot, length, coef, plain, kappa, fade;
    std::vector<double> scores, means, tau, sums;
    std::vector<std::size_t> active;
    std::vector<T> values;
    Ranking ranking;
    Rule scaled_C;               ///< the rule of a group at the weight of an example
    Share share;                 ///< the part of the model that is learned
    Journal* journal = nullptr;  ///< scores and losses of threads; null for one thread
    Counters counters;           ///< of a thread; a single thread uses the model's
    PredictingWeights<T> predicting;

    explicit Scratch(const Model<T>& m)
        : dot(m.variance_section()),
          length(m.columns),
          coef(m.variance_section()),
          plain(m.variance_section()),
          kappa(m.columns),
          fade(m.columns),
          scores(m.shape.outputs),
          means(m.shape.outputs),
          tau(m.shape.outputs),
          sums(m.shape.sums + 1),
          share(whole(m)) {}
};

template <class T>
inline void clear(std::vector<T>& columns) {
    std::fill(columns.begin(), columns.end(), T(0));
}

/// A row with its squared length. The row is `stretch` times x, where stretch is 1 unless the
/// squared length would overflow.
template <class Row>
struct MeasuredRow {
    const Row& x;
    double squared = 0;  ///< ||x||^2; a length that underflows counts as zero
    double stretch = 1;
};

/// Return value / stretch, without the latency of a division in the usual case stretch = 1.
inline double divided(double value, double stretch) {
    return stretch == 1 ? value : value / stretch;
}

/// Fill `values` with those of the row, divided by the largest; return the largest.
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
class RowOps {
  public:
    RowOps(Model<T>& model, Scratch<T>& scratch)
        : m(model),
          s(scratch),
          stride(model.weights.stride()),
          first(scratch.share.first),
          columns(scratch.share.columns),
          shifts(model.shape.averages()) {}

    /// Compute the products of a row with all outputs and its squared length; also those with the
    /// shift of the mean if `mean` is set or they cost nothing.
    [[gnu::always_inline]] MeasuredRow<Row> measure_row(const Row& x, bool mean) {
        const double squared = read(x, mean);
        if (!(squared <= std::numeric_limits<T>::max())) return read_shortened(x, mean);
        return {x, squared < std::numeric_limits<T>::min() ? 0 : squared};
    }

    /// Return x' Sigma x with the constant feature, in units of the row (x / stretch), for a
    /// Euclidean or diagonal metric.
    double length(std::size_t k, const MeasuredRow<Row>& row) const {
        const double v = Diagonal ? static_cast<double>(s.length[k]) : row.squared;
        return row.stretch * v + (m.shape.intercept ? divided(m.bias_variance[k], row.stretch) : 0);
    }

    /// Fill `dot` (and, in a diagonal metric, `length`) for all columns; return ||x||^2.
    double read(const Row& x, bool mean) {
        if constexpr (!Single) {
            each_span(mean, [&](std::size_t at, std::size_t count) {
                dot_lanes(x, StridedLanes<T>{m.weights.data() + at, stride}, count,
                          s.dot.data() + at);
            });
            if constexpr (Diagonal) measure(x);
            return static_cast<double>(squared_length(x));
        } else {
            return shifts ? read_cells<true>(x) : read_cells<false>(x);
        }
    }

    /// Recompute the squared lengths after a change of the metric.
    void measure(const Row& x) {
        if constexpr (Single)
            read(x, false);
        else
            length_lanes(x, m.variance() + first, stride, columns, s.length.data() + first);
    }

    /// Add coef * Sigma x + plain * x to every column. Overwrites `coef`.
    void step(const Row& x) {
        const bool sums = m.shape.sums > 0;
        if constexpr (!Diagonal) {
            for (std::size_t l = 0; sums && l < s.coef.size(); ++l) s.coef[l] += s.plain[l];
            add(x, s.coef);
        } else {
            if (sums) add(x, s.plain);
            add_scaled(x);
        }
    }

    /// Update a diagonal metric: the precision of every column grows by kappa * x^2, after a share
    /// of its excess over one is forgotten: 1/v becomes 1 + (1 - forgetting) (1/v - 1) + kappa x^2.
    void sharpen(const Row& x) {
        T* variance = m.variance();
        if constexpr (Single) {
            const T kappa = s.kappa[0];
            const auto fade = static_cast<T>(kappa != 0 ? m.shape.forgetting : 0);
            const bool root = m.adagrad();
            for (std::size_t k = 0; k < x.size; ++k) {
                T& v = variance[x.feature(k) * stride];
                const T square = x.values[k] * x.values[k], used = square > T(0) ? fade : T(0);
                const T inverse = root ? v * v : v;  // inverse of the precision
                const T growth = T(1) + used * (inverse - T(1)) + kappa * square * inverse;
                if (v > T(0)) v /= root ? std::sqrt(growth) : growth;  // zero stays zero
            }
        } else {
            for (std::size_t l = first; l < first + columns; ++l)
                s.fade[l] = static_cast<T>(s.kappa[l] != 0 ? m.shape.forgetting : 0);
            shrink_lanes(x, variance + first, stride, columns, s.kappa.data() + first,
                         s.fade.data() + first, m.adagrad());
        }
    }

    /// Add x_j coef[l] to column l of feature j; if few columns move, only those are written.
    void add(const Row& x, const std::vector<T>& coef) {
        if constexpr (Single) {
            if (coef[0] == T(0)) return;
            return shifts ? add_to_cells<2>(x, m.weights.data(), coef.data())
                          : add_to_cells<1>(x, m.weights.data(), coef.data());
        } else {
            s.active.clear();
            const std::size_t averaged = shifts ? m.shape.outputs : 0;
            for (std::size_t l = first; l < first + columns; ++l)
                if (coef[l] != T(0) || (l < averaged && coef[m.columns + l] != T(0)))
                    s.active.push_back(l);
            if (s.active.empty()) return;
            if (s.active.size() * 64 >= columns * sizeof(T))
                return each_span(true, [&](std::size_t at, std::size_t count) {
                    add_lanes(x, m.weights.data() + at, stride, count, coef.data() + at);
                });
            for (std::size_t k = 0; k < x.size; ++k) {
                T* cell = m.weights.row(x.feature(k));
                for (const std::size_t l : s.active) cell[l] += x.values[k] * coef[l];
                for (const std::size_t l : s.active)
                    if (l < averaged) cell[m.columns + l] += x.values[k] * coef[m.columns + l];
            }
        }
    }

    /// Add the coefficients in `plain` to the class sums without losing float precision.
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
    /// Call use(first column, count) for the columns of this share and, if requested, of their
    /// shift; in one call if they are adjacent.
    template <class Use>
    [[gnu::always_inline]] void each_span(bool mean, Use&& use) {
        const bool both = mean && shifts;
        if (both && columns == m.columns) return use(0, m.variance_section());
        use(first, padded<T>(columns));
        if (both) use(m.columns + first, columns);
    }

    /// Read a row whose squared length overflows, divided by its largest value.
    [[gnu::noinline]] MeasuredRow<Row> read_shortened(const Row& x, bool mean) {
        const T largest = shorten(x, s.values);
        shortened = x;
        shortened.values = s.values.data();
        return {shortened, read(shortened, mean), static_cast<double>(largest)};
    }

    /// Compute all products of a model with one output.
    template <bool shift>
    double read_cells(const Row& x) {
        const auto found = products(x, Cells<T, shift, Diagonal>{m.weights.data()});
        if constexpr (shift || Diagonal) {
            s.dot[0] = found.sums[0];
            if constexpr (shift) s.dot[1] = found.sums[1];
            if constexpr (Diagonal) s.length[0] = found.sums[shift ? 2 : 1];
        } else {
            s.dot[0] = found.sums;
        }
        return static_cast<double>(found.squared);
    }

    void add_scaled(const Row& x) {
        if constexpr (Single) {
            return shifts ? add_scaled_to_cells<2>(x, m.weights.data(), s.coef.data())
                          : add_scaled_to_cells<1>(x, m.weights.data(), s.coef.data());
        } else {
            const T* variance = m.variance();
            const auto walk = [&](std::size_t at) {
                add_scaled_lanes(x, m.weights.data() + at + first, stride, variance + first, stride,
                                 columns, s.coef.data() + at + first);
            };
            walk(0);
            if (shifts) walk(m.columns);
        }
    }

    Model<T>& m;
    Scratch<T>& s;
    std::size_t stride, first, columns;
    bool shifts;      ///< weights are averaged
    Row shortened{};  ///< the last row whose squared length would overflow
};

}  // namespace aggro
