// Class sums, and steps that start from weights pulled to the class means.
#pragma once
#include <cmath>
#include <limits>

#include "linear/effective_weights.hpp"
#include "linear/scores.hpp"

namespace aggro {

template <class T, class Row, bool Single, bool Diagonal>
class ClassMeans {
  public:
    ClassMeans(Model<T>& model, Scratch<T>& scratch)
        : m(model), s(scratch), space(model, scratch), scores(model, scratch) {}

    bool open() const { return !Single && m.shape.sums > 0 && !m.counters.frozen; }

    /// Add the example to the sums of its classes; the weights that depend on those sums do not
    /// change. Return true if the update of the row's weights is left to the next step.
    bool join(const MeasuredRow<Row>& row, const Target& y, double weight) {
        const auto member = [&](std::size_t c) { return y.sign(sum_class(c)) > 0; };
        if (!m.means.emphasis.empty()) weight *= m.means.emphasis[0];
        read_sums(row.stretch);
        accumulate(m, weight, row.stretch * row.stretch * row.squared, s.sums.data(), member);
        if (!std::isfinite(m.means.total.norm))
            throw BadExample("the norm of its class sum overflows; scale the features");
        const double grown = weight * row.stretch;
        for (std::size_t c = 0; c < m.shape.sums; ++c)
            s.plain[m.shape.outputs + c] = static_cast<T>(member(c) ? grown : 0);
        if (m.shape.total) s.plain[m.total_column()] = static_cast<T>(grown);
        if (!m.lazy_means()) {
            space.add_sums(row.x);
            space.add(row.x, s.plain);
            clear(s.plain);
            return false;
        }
        fold_before_adding(m, weight, member);
        for (std::size_t k = 0; k < m.shape.outputs; ++k) {
            const Mixture& mix = m.mix[k];
            const bool own = member(m.own_sum[k]);
            s.plain[k] = static_cast<T>(-(own ? mix.own : mix.rest) * grown / mix.scale);
            if (m.shape.averages())
                s.plain[m.columns + k] =
                    static_cast<T>(-(own ? mix.own_sum : mix.rest_sum) * grown -
                                   mix.scale_sum * static_cast<double>(s.plain[k]));
        }
        return true;
    }

    /// Read the products of the last row with the class sums.
    void read_sums(double stretch) {
        for (std::size_t c = 0; c < s.sums.size(); ++c)
            s.sums[c] = m.shape.outputs + c < m.columns
                            ? stretch * static_cast<double>(s.dot[m.shape.outputs + c])
                            : 0;
    }

    /// Move the group to its centre and update `scores` accordingly.
    void centre(std::size_t index, const MeasuredRow<Row>& row) {
        const Group& g = m.groups[index];
        if (m.shape.queue > 1) {
            queue_centre(m, index);
            space.read(row.x, false);
            return scores.of_last(row);
        }
        const double gamma = g.gamma, share = 1 / (1 + gamma);
        if (m.counters.frozen) read_sums(row.stretch);
        for (std::size_t k = g.first; k < g.first + g.count; ++k) {
            const Pull pull = pull_of(m, k);
            Mixture& mix = m.mix[k];
            const double own = s.sums[m.own_sum[k]];
            const double rest = m.shape.total ? s.sums[m.shape.sums] - own : 0;
            const double mean = pull.own * own + pull.rest * rest;
            const double pulled = m.shape.intercept ? gamma * pull.bias : 0;
            s.scores[k] = share * (s.scores[k] + gamma * mean + pulled);
            m.bias[k] = share * (m.bias[k] + pulled);
            if (!(std::abs(m.bias[k]) <= std::numeric_limits<T>::max()))
                throw BadExample("its class mean makes the intercept overflow; scale the features");
            mix.scale *= share;
            mix.own = share * (mix.own + gamma * pull.own);
            mix.rest = share * (mix.rest + gamma * pull.rest);
        }
    }

  private:
    /// Return the class of a class sum. With one margin, only positive examples are summed.
    std::size_t sum_class(std::size_t c) const {
        return m.shape.sums == 1 ? m.groups[0].positive : c;
    }

    Model<T>& m;
    Scratch<T>& s;
    RowOps<T, Row, Single, Diagonal> space;
    Scores<T, Row, Single> scores;
};

}  // namespace aggro
