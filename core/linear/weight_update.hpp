// Weight updates: each tau becomes a coefficient of its output, and one pass over the row applies
// them all.
#pragma once
#include <cmath>
#include <limits>

#include "linear/effective_weights.hpp"
#include "linear/row_ops.hpp"

namespace aggro {

/// Convert the step tau of output k into a coefficient to be applied later.
template <class T>
[[gnu::always_inline]] inline void set_coef(const Model<T>& m, Scratch<T>& s, std::size_t k,
                                            double tau) {
    const Mixture& mix = m.mix[k];
    s.coef[k] = static_cast<T>(divided(tau, mix.scale));
    if (!std::isfinite(s.coef[k]))
        throw BadExample("its step overflows; scale the features or the target");
    if (m.shape.averages())
        s.coef[m.columns + k] = static_cast<T>(divided(-mix.scale_sum * tau, mix.scale));
}

/// Update a group in a full metric: move every feature along the image Sigma x just computed.
template <class T>
[[gnu::noinline]] inline void move_along_image(Model<T>& m, Scratch<T>& s, std::size_t index) {
    const Group& g = m.groups[index];
    const Aligned<T>& g_image = m.full[index].image();
    const DenseRow<T> image{g_image.data(), m.shape.features};
    for (std::size_t k = g.first; k < g.first + g.count; ++k) {
        set_coef(m, s, k, s.tau[k]);
        if (m.shape.intercept)
            m.bias[k] += s.tau[k] * static_cast<double>(g_image[m.shape.features]);
    }
    if (m.columns == 1)
        RowOps<T, DenseRow<T>, true, false>(m, s).add(image, s.coef);
    else
        RowOps<T, DenseRow<T>, false, false>(m, s).add(image, s.coef);
    clear(s.coef);
}

template <class T, class Row, bool Single, bool Diagonal>
class WeightUpdate {
  public:
    WeightUpdate(Model<T>& model, Scratch<T>& scratch)
        : m(model), s(scratch), space(model, scratch), part{scratch.share} {}

    /// Convert the tau of a group into coefficients of its outputs. The intercept moves at once,
    /// and in a full metric all weights do; return true if coefficients are left to apply.
    template <class Length>
    bool move(std::size_t index, double stretch, double kappa, Length&& length) {
        const Group& g = m.groups[index];
        if (m.shape.metric == Metric::full) {
            const double v = length() / stretch;
            move_along_image(m, s, index);
            m.full[index].shrink(kappa * stretch * stretch, v);
            return false;
        }
        for (std::size_t k = g.first; k < g.first + g.count; ++k) {
            set_coef(m, s, k, s.tau[k]);
            if (m.shape.intercept) m.bias[k] += divided(s.tau[k] * m.bias_variance[k], stretch);
            if (Diagonal) gain(k, kappa, stretch);
        }
        return true;
    }

    /// Convert the tau of all independent outputs; `kappa_of` is the gain of an output's metric.
    template <class Kappa>
    void move_outputs(double stretch, Kappa&& kappa_of) {
        const std::size_t n = part.end();
        const double constant = m.shape.intercept ? 1 / stretch : 0;
        AGGRO_VECTORISE
        for (std::size_t k = part.first(); k < n; ++k) {
            const double tau = s.tau[k];
            s.coef[k] = static_cast<T>(tau);
            m.bias[k] += tau * m.bias_variance[k] * constant;
        }
        T* const shifts = s.coef.data() + m.columns;
        if (m.shape.averages())
            for (std::size_t k = part.first(); k < n; ++k)
                shifts[k] = static_cast<T>(-m.mix[k].scale_sum * s.tau[k]);
        for (std::size_t k = part.first(); Diagonal && k < n; ++k) {
            gain(k, s.tau[k] != 0 ? kappa_of(k) : 0, stretch);
        }
    }

    /// Increase the precision of an output: of the intercept at once, of the weights in the next
    /// pass.
    void gain(std::size_t k, double kappa, double stretch) {
        s.kappa[k] = sharpness(kappa, stretch);
        if (m.shape.intercept) sharpen_bias(k, kappa);
    }

    /// Add the gains to the precision of all outputs in one pass over the row.
    void sharpen(const Row& x) {
        space.sharpen(x);
        clear(s.kappa);
    }

    /// Apply all coefficients in one pass over the row.
    void apply(const Row& x) {
        apply_steps(x);
        if (Diagonal && !m.sharpens_ahead()) sharpen(x);
    }

    /// Move the weights by their coefficients and clear these; the metric stays.
    [[gnu::always_inline]] void apply_steps(const Row& x) {
        if (m.update_counts.stride() > 0) count_steps(x);
        const bool sums = !Single && m.shape.sums > 0;
        if (sums) space.add_sums(x);
        space.step(x);
        clear(s.coef);
        if (sums) clear(s.plain);
    }

    /// Return the growth of the precision in units of the row; finite, so that zeros stay zero.
    static T sharpness(double kappa, double stretch) {
        return static_cast<T>(std::min(kappa * stretch * stretch,
                                       static_cast<double>(std::numeric_limits<T>::max())));
    }

    /// Increase the precision of the intercept after forgetting a share of it.
    void sharpen_bias(std::size_t k, double kappa) {
        if (kappa == 0) return;
        m.bias_variance[k] = m.sharpened(m.bias_variance[k], m.prior(k), kappa);
    }

  private:
    /// Count the update of each weight that moves; merging weighs models by these counts.
    [[gnu::noinline]] void count_steps(const Row& x) {
        s.active.clear();
        for (std::size_t k = part.first(); k < part.end(); ++k)
            if (s.coef[k] != T(0)) s.active.push_back(k);
        for (const std::size_t k : s.active) m.bias_update_counts[k] += 1;
        for (std::size_t i = 0; i < x.size; ++i) {
            if (x.values[i] == T(0)) continue;
            T* line = m.update_counts.row(x.feature(i));
            for (const std::size_t k : s.active) line[k] += T(1);
        }
    }

    Model<T>& m;
    Scratch<T>& s;
    RowOps<T, Row, Single, Diagonal> space;
    Part<Single> part;
};

}  // namespace aggro
