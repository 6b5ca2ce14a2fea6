// Merging models that continued one start: what each has learned since, as numbers that add up.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "linear/effective_weights.hpp"

namespace aggro {

/// The lines of a change, one for each feature that changed, and one for the intercept.
///
/// What one model has learned has these numbers for each output: the change of the weight; with
/// averages, the change of its mean over the averaged rounds; and the update count, or the
/// precision gained. A sum has votes instead: the change times the update count and the plain
/// change, of the weight and of the mean; the update count; the number of models with one; and the
/// gain of the table. Other numbers follow, which merge by the rules of `Kind`; in addition, 'n'
/// begins the rows, the mean and the sum of squared distances of a sample.
struct ChangeLayout {
    std::size_t outputs = 0;
    bool averages = false;
    std::string rules;  ///< of the numbers after those of the outputs

    std::size_t learned() const { return averages ? 3 : 2; }  ///< numbers of an output
    std::size_t votes() const { return averages ? 7 : 5; }    ///< numbers of an output in a sum
    std::size_t line() const { return outputs * learned() + rules.size(); }
    std::size_t sum_line() const { return outputs * votes() + rules.size(); }
};

/// Changed features in rising order, -1 for the intercept, and their lines.
struct ChangeTable {
    std::vector<std::int64_t> touched;
    std::vector<double> lines;
};

/// What one or several models have learned since their start, without the lines.
struct Since {
    double models = 1;
    double examples = 0;
    double averaged = 0;  ///< weight of the rounds that joined the average
};

/// Add the moments of one sample to those of another (Chan, Golub, LeVeque).
inline void add_moments(double* sample, const double* other) {
    const double total = sample[0] + other[0], apart = other[1] - sample[1];
    if (!(total > 0)) return;
    const double share = other[0] / total;
    sample[2] += other[2] + sample[0] * share * apart * apart;
    sample[1] += share * apart;
    sample[0] = total;
}

/// Write the moments of the rows since the start.
inline void moments_between(const double* start, const double* end, double* out) {
    const double rows = end[0] - start[0];
    const double mean = rows > 0 ? (end[0] * end[1] - start[0] * start[1]) / rows : 0;
    const double apart = mean - start[1];
    const double between = end[0] > 0 ? start[0] * rows / end[0] * apart * apart : 0;
    out[0] = rows;
    out[1] = mean;
    out[2] = std::max(end[2] - start[2] - between, 0.0);
}

/// Write the change of numbers with these rules; `fading` is what is left of fading sums.
inline void subtract(const std::string& rules, double fading, const double* start,
                     const double* end, double* out) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const char rule = rules[i];
        if (rule == 'n') {
            moments_between(start + i, end + i, out + i);
            i += 2;
        } else {
            const double before = rule == '+' ? start[i] : rule == '~' ? fading * start[i] : 0;
            out[i] = end[i] - before;
        }
    }
}

/// Add a change of numbers with these rules to another, or to the numbers at the start.
inline void add(const std::string& rules, double* sum, const double* other) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (rules[i] == 'n') {
            add_moments(sum + i, other + i);
            i += 2;
        } else if (rules[i] == '^') {
            sum[i] = std::max(sum[i], other[i]);
        } else if (rules[i] != '=') {
            sum[i] += other[i];
        }
    }
}

/// Write the line of one model's change, of this influence, as a line of a sum.
inline void add_votes(const ChangeLayout& layout, const double* line, double weight, double* sum) {
    for (std::size_t k = 0; k < layout.outputs; ++k, line += layout.learned()) {
        const double gained = line[layout.learned() - 1], count = weight * std::max(gained, 0.0);
        for (std::size_t i = 0; i + 1 < layout.learned(); ++i) {
            *sum++ = count * line[i];
            *sum++ = weight * line[i];
        }
        *sum++ = count;
        *sum++ = count > 0;
        *sum++ = gained;
    }
    std::copy_n(line, layout.rules.size(), sum);
}

/// Return two sums as one.
inline ChangeTable add_sums(const ChangeLayout& layout, const ChangeTable& some,
                            const ChangeTable& others) {
    const std::size_t width = layout.sum_line(), votes = layout.outputs * layout.votes();
    ChangeTable sum;
    sum.touched.reserve(some.touched.size() + others.touched.size());
    sum.lines.reserve(some.lines.size() + others.lines.size());
    const auto take = [&](const ChangeTable& from, std::size_t i) {
        sum.touched.push_back(from.touched[i]);
        const double* line = from.lines.data() + i * width;
        sum.lines.insert(sum.lines.end(), line, line + width);
    };
    std::size_t i = 0, j = 0;
    while (i < some.touched.size() || j < others.touched.size()) {
        const bool first = j == others.touched.size() ||
                           (i < some.touched.size() && some.touched[i] < others.touched[j]);
        const bool both = !first && i < some.touched.size() && some.touched[i] == others.touched[j];
        if (!first && !both) {
            take(others, j++);
            continue;
        }
        take(some, i++);
        if (!both) continue;
        double* line = sum.lines.data() + sum.lines.size() - width;
        const double* other = others.lines.data() + j++ * width;
        for (std::size_t v = 0; v < votes; ++v) line[v] += other[v];
        add(layout.rules, line + votes, other + votes);
    }
    return sum;
}

/// How the changes of weights are applied.
struct Blend {
    double prior = 0;       ///< share of the precision at the start that counts as evidence, too
    double damping = 0;     ///< shortens changes by the share of models with updates, to this power
    double relaxation = 0;  ///< extends changes of n models by this share of 1 - 1 / n

    /// Return the common change: the mean by update counts, or the plain mean without any.
    double change(const double* votes, double count, double updating, double models,
                  double known) const {
        known *= prior;
        const double total = count + known;
        double mean = total > 0 ? (votes[0] + known * votes[1]) / total : votes[1] / models;
        const double some = std::max(updating, 1.0);
        if (damping > 0) mean *= std::pow(some / models, damping);
        return mean * (1 + relaxation * (1 - 1 / some));
    }
};

/// A model as lines of double precision. Its weights become explicit.
template <class T>
class ModelLines {
  public:
    explicit ModelLines(Model<T>& model) : m(model) {
        for (const Group& group : m.groups) fold(m, group);
        layout.outputs = m.shape.outputs;
        layout.averages = m.shape.averages();
        layout.rules.assign(sums(), '+');
        if (m.sizes.kind == Scale::online) layout.rules += "++";
        if (m.sizes.kind == Scale::standard) {
            layout.rules += "nms";
            rows = m.sizes.moments.rows[0];
        }
        m.visit([&](const char*, Kind kind, auto*, std::size_t size) {
            for (std::size_t i = 0; i < size; ++i)
                if (kind.rule(i) != '.') rules += kind.rule(i);
        });
        for (std::size_t k = 0; k < m.targets.mean.size(); ++k) rules += "nms";
    }

    ChangeLayout layout;
    std::string rules;  ///< of the numbers that belong to no feature

    /// Return what the model has learned since a start of the same shape.
    ChangeTable since(const ModelLines& start, double averaged) const {
        const std::size_t width = layout.line(), each = layout.learned();
        const bool full = m.shape.metric == Metric::full;
        std::vector<double> before(width), after(width), line(width);
        ChangeTable change;
        for (std::int64_t j = -1; j < static_cast<std::int64_t>(m.shape.features); ++j) {
            start.read(j, before.data());
            read(j, after.data());
            if (j >= 0 && !differ(before, after)) continue;
            for (std::size_t k = 0, at = 0; k < layout.outputs; ++k, at += each) {
                const double moved = after[at] - before[at];
                line[at] = full ? 0 : moved;  // merged with the matrix
                if (layout.averages) {
                    const double mean = (after[at + 1] - before[at + 1]) / averaged - before[at];
                    line[at + 1] = averaged > 0 ? mean : 0;
                }
                line[at + each - 1] = full ? 1 : after[at + each - 1] - before[at + each - 1];
            }
            const std::size_t rest = layout.outputs * each;
            subtract(layout.rules, 1, &before[rest], &after[rest], &line[rest]);
            change.touched.push_back(j);
            change.lines.insert(change.lines.end(), line.begin(), line.end());
        }
        return change;
    }

    /// Add the changes of all models.
    void apply(const ChangeTable& sum, const Since& since, const Blend& blend) {
        const std::size_t each = layout.learned(), votes = layout.votes();
        std::vector<double> line(layout.line());
        for (std::size_t j = 0; layout.averages && j < m.shape.features; ++j) {
            T* cell = m.weights.row(j);
            for (std::size_t k = 0; k < layout.outputs; ++k)
                cell[m.columns + k] = static_cast<T>(static_cast<double>(cell[m.columns + k]) +
                                                     since.averaged * static_cast<double>(cell[k]));
        }
        for (std::size_t k = 0; layout.averages && k < layout.outputs; ++k)
            m.bias_sum[k] += since.averaged * m.bias[k];
        const double* change = sum.lines.data();
        for (const std::int64_t j : sum.touched) {
            read(j, line.data());
            for (std::size_t k = 0, at = 0; k < layout.outputs; ++k, at += each, change += votes) {
                double& gained = line[at + each - 1];
                const double *counts = change + votes - 3, known = m.diagonal() ? gained : 0;
                line[at] += blend.change(change, counts[0], counts[1], since.models, known);
                if (layout.averages)
                    line[at + 1] += since.averaged *
                                    blend.change(change + 2, counts[0], counts[1], since.models, 0);
                gained += counts[2];
            }
            add(layout.rules, line.data() + layout.outputs * each, change);
            change += layout.rules.size();
            write(j, line.data());
        }
        renew_class_norms();
    }

    /// Return the numbers that belong to no feature.
    std::vector<double> shared() const {
        std::vector<double> numbers;
        m.visit([&](const char*, Kind kind, auto* data, std::size_t size) {
            for (std::size_t i = 0; i < size; ++i)
                if (kind.rule(i) != '.') numbers.push_back(static_cast<double>(data[i]));
        });
        for (std::size_t k = 0; k < m.targets.mean.size(); ++k)
            numbers.insert(numbers.end(),
                           {m.targets.rows[0], m.targets.mean[k], m.targets.square[k]});
        return numbers;
    }

    /// Add the changes of all models to the numbers that belong to no feature.
    void apply_shared(const std::vector<double>& change, const Since& since) {
        std::vector<double> numbers = shared();
        const double fading = fading_of(since);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (rules[i] == '~') numbers[i] *= fading;
            if (rules[i] == '=' || rules[i] == '^') numbers[i] = change[i];
        }
        add(rules, numbers.data(), change.data());
        const double* number = numbers.data();
        m.visit([&](const char*, Kind kind, auto* data, std::size_t size) {
            using V = std::remove_pointer_t<decltype(data)>;
            for (std::size_t i = 0; i < size; ++i)
                if (kind.rule(i) != '.') data[i] = static_cast<V>(*number++);
        });
        for (std::size_t k = 0; k < m.targets.mean.size(); ++k, number += 3) {
            m.targets.rows[0] = number[0];
            m.targets.mean[k] = number[1];
            m.targets.square[k] = number[2];
        }
    }

    /// Return the share of the recent record at the start that is left.
    double fading_of(const Since& since) const {
        return std::pow(m.record.memory, since.examples / std::max(since.models, 1.0));
    }

  private:
    std::size_t sums() const { return m.shape.sums + (m.shape.total ? 1 : 0); }

    /// Return whether two lines differ. The mean of an equal weight follows from the weight.
    bool differ(const std::vector<double>& some, const std::vector<double>& others) const {
        for (std::size_t i = 0; i < some.size(); ++i) {
            const bool mean = layout.averages && i < 3 * layout.outputs && i % 3 == 1;
            if (!mean && some[i] != others[i]) return true;
        }
        return false;
    }

    void read(std::int64_t feature, double* line) const {
        const std::size_t each = layout.learned();
        if (feature < 0) {
            std::fill_n(line, layout.line(), 0.0);
            for (std::size_t k = 0; k < layout.outputs; ++k, line += each) {
                line[0] = m.bias[k];
                if (layout.averages) line[1] = m.bias_sum[k];
                if (m.counts_updates()) line[each - 1] = m.bias_update_counts[k];
                if (m.diagonal()) line[each - 1] = bias_precision(k);
            }
            return;
        }
        const auto j = static_cast<std::size_t>(feature);
        const T *cell = m.weights.row(j), *variance = cell + m.variance_section();
        for (std::size_t k = 0; k < layout.outputs; ++k, line += each) {
            line[0] = static_cast<double>(cell[k]);
            if (layout.averages) line[1] = static_cast<double>(cell[m.columns + k]);
            line[each - 1] = 0;
            if (m.counts_updates()) line[each - 1] = static_cast<double>(m.update_counts.row(j)[k]);
            if (m.diagonal()) line[each - 1] = inverse(static_cast<double>(variance[k]));
        }
        for (std::size_t c = 0; c < sums(); ++c)
            *line++ = static_cast<double>(cell[layout.outputs + c]) +
                      (m.sum_rest.stride() > 0 ? static_cast<double>(m.sum_rest.row(j)[c]) : 0.0);
        if (m.sizes.kind == Scale::online) {
            line[0] = m.sizes.seen[j];
            line[1] = m.sizes.square[j];
        } else if (m.sizes.kind == Scale::standard) {
            line[0] = rows;
            line[1] = m.sizes.moments.mean[j];
            line[2] = m.sizes.moments.square[j];
        }
    }

    void write(std::int64_t feature, const double* line) {
        const std::size_t each = layout.learned();
        if (feature < 0) {
            for (std::size_t k = 0; k < layout.outputs; ++k, line += each) {
                m.bias[k] = line[0];
                if (layout.averages) m.bias_sum[k] = line[1];
                if (m.counts_updates()) m.bias_update_counts[k] = line[each - 1];
                set_bias_precision(k, m.diagonal() ? line[each - 1] : 1);
            }
            return;
        }
        const auto j = static_cast<std::size_t>(feature);
        T *cell = m.weights.row(j), *variance = cell + m.variance_section();
        for (std::size_t k = 0; k < layout.outputs; ++k, line += each) {
            cell[k] = static_cast<T>(line[0]);
            if (layout.averages) cell[m.columns + k] = static_cast<T>(line[1]);
            if (m.counts_updates()) m.update_counts.row(j)[k] = static_cast<T>(line[each - 1]);
            if (m.diagonal()) variance[k] = static_cast<T>(variance_of(line[each - 1]));
        }
        for (std::size_t c = 0; c < sums(); ++c, ++line) {
            T& sum = cell[layout.outputs + c];
            sum = static_cast<T>(*line);
            if (m.sum_rest.stride() > 0)
                m.sum_rest.row(j)[c] = static_cast<T>(*line - static_cast<double>(sum));
        }
        if (m.sizes.kind == Scale::online) {
            m.sizes.seen[j] = line[0];
            m.sizes.square[j] = line[1];
        } else if (m.sizes.kind == Scale::standard) {
            m.sizes.moments.rows[0] = line[0];
            m.sizes.moments.mean[j] = line[1];
            m.sizes.moments.square[j] = line[2];
        }
    }

    double inverse(double variance) const {
        return 1 / (m.adagrad() ? variance * variance : variance);
    }
    double variance_of(double precision) const {
        return 1 / (m.adagrad() ? std::sqrt(precision) : precision);
    }

    // Intercepts have the precision for a prior variance of one: each model had a first row of its
    // own, and the prior must not be counted once for each of them.
    double bias_prior(std::size_t k) const { return m.bias_prior.empty() ? 1 : m.prior(k); }
    double bias_precision(std::size_t k) const {
        const double prior = bias_prior(k);
        return (inverse(m.bias_variance[k] / prior) - 1) / prior + 1;
    }
    void set_bias_precision(std::size_t k, double precision) {
        if (!m.diagonal() && m.bias_prior.empty()) return;
        const double prior = bias_prior(k);
        m.bias_variance[k] = prior * variance_of(1 + (precision - 1) * prior);
    }

    /// Compute the norms and products of the class sums.
    void renew_class_norms() {
        if (m.shape.sums == 0) return;
        for (auto* values : {&m.means.norm, &m.means.cross})
            std::fill(values->begin(), values->end(), 0.0);
        m.means.total.norm = 0;
        std::vector<double> line(layout.line());
        const double* own = line.data() + layout.outputs * layout.learned();
        for (std::size_t j = 0; j < m.shape.features; ++j) {
            read(static_cast<std::int64_t>(j), line.data());
            double total = m.shape.total ? own[m.shape.sums] : 0;
            for (std::size_t c = 0; !m.shape.total && c < m.shape.sums; ++c) total += own[c];
            for (std::size_t c = 0; c < m.shape.sums; ++c) {
                m.means.norm[c] += own[c] * own[c];
                m.means.cross[c] += total * own[c];
            }
            m.means.total.norm += total * total;
        }
    }

    Model<T>& m;
    double rows = 0;  ///< in the moments of the features, before changes are applied
};

}  // namespace aggro
