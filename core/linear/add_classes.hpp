// Adding classes: a model with more outputs continues from another one.
#pragma once
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "linear/effective_weights.hpp"

namespace aggro {

/// How the outputs of a model change when classes are added. `position[c]` is the new number of the
/// old class c; `change` is the matrix, with one row per new output, that maps the old outputs of
/// one model to the new ones. Each row has at most one nonzero entry.
struct NewClasses {
    std::vector<std::size_t> position;
    std::vector<double> change;
};

/// Transfer the state of `from` to `to`, a fresh model with the same features and settings and more
/// classes. `from` must be folded.
template <class T>
class AddClasses {
  public:
    AddClasses(Model<T>& new_model, Model<T>& old_model, const NewClasses& new_classes)
        : to(new_model),
          from(old_model),
          position(new_classes.position),
          models(to.shape.models),
          had(from.shape.outputs / models),
          has(to.shape.outputs / models),
          groups_before(from.groups_per_model()),
          groups(to.groups_per_model()) {
        if (from.shape.models != models || from.shape.features != to.shape.features ||
            new_classes.change.size() != had * has)
            throw std::invalid_argument("these models have another shape");
        for (std::size_t k = 0; k < has; ++k)
            for (std::size_t c = 0; c < had; ++c)
                if (const double factor = new_classes.change[k * had + c]; factor != 0)
                    for (std::size_t i = 0; i < models; ++i)
                        moves.push_back({i * has + k, i * had + c, factor});
    }

    /// Add the second class. The model has learned the first class as positive, so if that class is
    /// now the first of the two, only the sign changes.
    void add_second() {
        copy_arrays([](const char*, Per) { return true; });
        to.full = from.full;
        resolve_first_class(to);
        if (position[0] == 0) turn();
    }

    /// Add classes after the second; they start with zero weights.
    void add_further() {
        add_weights();
        add_biases();
        add_variances();
        if (to.means.count.size() > 0) add_sums();
        add_groups();
        copy_arrays([](const char* name, Per per) {
            const bool sums =
                std::strncmp(name, "class_", 6) == 0 && std::strcmp(name, "class_emphasis") != 0;
            return !sums && (per == Per::model || per == Per::feature || per == Per::shared);
        });
        if (from.shape.one_class) resolve_first_class(to);
        to.record.memory = from.record.memory;
    }

  private:
    struct Move {
        std::size_t to, from;
        double factor;
    };

    /// Copy the arrays that both models have, by name.
    template <class Wanted>
    void copy_arrays(Wanted&& wanted) {
        from.visit([&](const char* name, Per per, auto* source, std::size_t size) {
            using Values = decltype(source);
            if (size == 0 || !wanted(name, per)) return;
            to.visit([&](const char* other, Per, auto* target, std::size_t capacity) {
                if constexpr (std::is_same_v<Values, decltype(target)>)
                    if (capacity == size && std::strcmp(name, other) == 0)
                        std::copy_n(source, size, target);
            });
        });
        to.record.memory = from.record.memory;
    }

    /// Keep the record that matches the position of the known class. A score of zero predicts the
    /// first class, so ties were mistakes unless the known class is the first.
    void resolve_first_class(Model<T>& m) const {
        if (position[0] != 0) return;
        const Record& swapped = from.swapped;
        for (std::size_t i = 0; i < models; ++i)
            m.group_counts.mistakes[i * m.groups_per_model()] -=
                static_cast<std::int64_t>(from.record.mistakes[i] - swapped.mistakes[i]);
        m.record.mistakes = swapped.mistakes;
        m.record.recent_mistakes = swapped.recent_mistakes;
        m.record.chosen_mistakes = swapped.chosen_mistakes;
        m.record.drift = swapped.drift;
    }

    /// Negate every output, which is exact. The class sum now belongs to the positive class, which
    /// has no examples yet.
    void turn() {
        const auto negate = [](auto* values, std::size_t size) {
            for (std::size_t i = 0; i < size; ++i) values[i] = 0 - values[i];
        };
        for (std::size_t j = 0; j < to.shape.features; ++j) {
            T* cell = to.weights.row(j);
            negate(cell, to.shape.outputs);
            if (to.shape.averages()) negate(cell + to.columns, to.shape.outputs);
            if (to.shape.sums == 0) continue;
            cell[to.shape.outputs] = 0;
            if (to.sum_rest.stride() > 0) to.sum_rest.row(j)[0] = 0;
        }
        for (Block<T>* block : {&to.ring, &to.pool, &to.pool_mean})
            negate(block->data(), block->size());
        for (auto* values :
             {&to.bias, &to.bias_sum, &to.ring_bias, &to.pool_bias, &to.pool_mean_bias})
            negate(values->data(), values->size());
        for (Mixture& mix : to.mix)
            mix = {mix.scale,     0 - mix.rest,     0 - mix.own,
                   mix.scale_sum, 0 - mix.rest_sum, 0 - mix.own_sum};
        for (auto* values : {&to.means.count, &to.means.norm, &to.means.cross})
            std::fill(values->begin(), values->end(), 0.0);
    }

    /// Map the outputs of one line to the new outputs.
    template <class V>
    void move(const V* source, V* target) const {
        for (const Move& m : moves)
            target[m.to] = static_cast<V>(0.0 + m.factor * static_cast<double>(source[m.from]));
    }

    template <class V>
    void move_lines(const V* source, std::size_t size, V* target) const {
        for (const V* end = source + size; source < end;
             source += from.shape.outputs, target += to.shape.outputs)
            move(source, target);
    }

    void add_weights() {
        for (std::size_t j = 0; j < to.shape.features; ++j) {
            move(from.weights.row(j), to.weights.row(j));
            if (to.shape.averages())
                move(from.weights.row(j) + from.columns, to.weights.row(j) + to.columns);
        }
        for (std::size_t j = 0; j < from.pool_mean.rows(); ++j)
            move(from.pool_mean.row(j), to.pool_mean.row(j));
        for (auto block : {&Model<T>::ring, &Model<T>::pool})
            move_lines((from.*block).data(), (from.*block).size(), (to.*block).data());
        for (std::size_t j = 0; j < from.update_counts.rows(); ++j)
            for (const Move& m : moves)
                to.update_counts.row(j)[m.to] = from.update_counts.row(j)[m.from];
    }

    void add_biases() {
        for (auto values : {&Model<T>::bias, &Model<T>::bias_sum, &Model<T>::ring_bias,
                            &Model<T>::pool_bias, &Model<T>::pool_mean_bias})
            move_lines((from.*values).data(), (from.*values).size(), (to.*values).data());
        for (const Move& m : moves)
            if (!from.bias_update_counts.empty())
                to.bias_update_counts[m.to] = from.bias_update_counts[m.from];
        if (from.bias_prior.empty() || from.bias_prior[0] == 0) return;
        const double prior = from.bias_prior[0];  // all outputs have learned the same rows
        std::fill(to.bias_prior.begin(), to.bias_prior.end(), prior);
        std::fill(to.bias_variance.begin(), to.bias_variance.end(), prior);
        for (FullMetric<T>& metric : to.full) metric.set_intercept(prior);
    }

    /// Return, for each of `count` new outputs or groups of a model, the old one it continues. A
    /// shared one continues in all; independent ones belong to their class.
    std::vector<std::pair<std::size_t, std::size_t>> continued(std::size_t count,
                                                               std::size_t before, bool own) const {
        std::vector<std::pair<std::size_t, std::size_t>> pairs;
        for (std::size_t i = 0; i < models; ++i) {
            if (!own)
                for (std::size_t k = 0; k < count; ++k)
                    pairs.push_back({i * count + k, i * before});
            else
                for (std::size_t c = 0; c < position.size(); ++c)
                    pairs.push_back({i * count + position[c], i * before + (before == 1 ? 0 : c)});
        }
        return pairs;
    }
    bool independent() const { return groups > 1 && position.size() > 1; }

    void add_variances() {
        const auto pairs = continued(has, had, independent());
        for (const auto& [mine, old] : pairs) to.bias_variance[mine] = from.bias_variance[old];
        const std::size_t stride = to.weights.stride(), old_stride = from.weights.stride();
        for (std::size_t j = 0; to.diagonal() && j < to.shape.features; ++j)
            for (const auto& [mine, old] : pairs)
                to.variance()[j * stride + mine] = from.variance()[j * old_stride + old];
        if (to.full.empty()) return;
        for (const auto& [mine, old] : continued(groups, groups_before, independent()))
            to.full[mine] = from.full[old];
    }

    /// Add the class sums in full precision, in the order of the new classes, and their norms.
    void add_sums() {
        const bool pair = position.size() == 2;  // first sum = total - other sum
        const double all = from.means.total.count;
        for (std::size_t c = 0; c < position.size(); ++c)
            to.means.count[position[c]] = !pair    ? from.means.count[c]
                                          : c == 0 ? all - from.means.count[0]
                                                   : from.means.count[0];
        to.means.total.count = 0;
        for (const double count : to.means.count) to.means.total.count += count;
        to.means.total.norm = 0;
        std::fill(to.means.norm.begin(), to.means.norm.end(), 0.0);
        std::fill(to.means.cross.begin(), to.means.cross.end(), 0.0);
        std::vector<double> sums(to.shape.sums + 1);
        for (std::size_t j = 0; j < to.shape.features; ++j) {
            std::fill(sums.begin(), sums.end(), 0.0);
            double& total = sums.back();
            for (std::size_t c = 0; c < position.size(); ++c) {
                const double value = !pair    ? sum_at(j, c)
                                     : c == 0 ? sum_at(j, 1) - sum_at(j, 0)
                                              : sum_at(j, 0);
                sums[position[c]] = value;
                total += value;
            }
            write_sums(j, sums);
            for (std::size_t c = 0; c < to.shape.sums; ++c) {
                to.means.norm[c] += sums[c] * sums[c];
                to.means.cross[c] += total * sums[c];
            }
            to.means.total.norm += total * total;
        }
    }

    double sum_at(std::size_t j, std::size_t c) const {
        const double rest =
            from.sum_rest.stride() > 0 ? static_cast<double>(from.sum_rest.row(j)[c]) : 0;
        return static_cast<double>(from.weights.row(j)[from.shape.outputs + c]) + rest;
    }

    void write_sums(std::size_t j, const std::vector<double>& sums) {
        T* cell = to.weights.row(j) + to.shape.outputs;
        for (std::size_t c = 0; c < to.shape.sums + (to.shape.total ? 1 : 0); ++c) {
            cell[c] = static_cast<T>(sums[c]);
            if (to.sum_rest.stride() > 0)
                to.sum_rest.row(j)[c] = static_cast<T>(sums[c] - static_cast<double>(cell[c]));
        }
    }

    /// Add the counts of a model's groups to its first group, and copy the other arrays to the
    /// groups that continue them.
    void add_groups() {
        for (std::size_t i = 0; i < models; ++i) {
            for (std::size_t g = i * groups_before; g < (i + 1) * groups_before; ++g) {
                to.group_counts.mistakes[i * groups] += from.group_counts.mistakes[g];
                to.group_counts.updates[i * groups] += from.group_counts.updates[g];
                to.group_counts.loss[i * groups] += from.group_counts.loss[g];
            }
            const auto begin = from.group_counts.last_update.begin() +
                               static_cast<std::ptrdiff_t>(i * groups_before);
            std::fill_n(
                to.group_counts.last_update.begin() + static_cast<std::ptrdiff_t>(i * groups),
                groups,
                *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(groups_before)));
        }
        const std::size_t keys = to.shape.reservoir;
        for (const auto& [mine, old] : continued(groups, groups_before, independent())) {
            to.group_counts.last_update[mine] = from.group_counts.last_update[old];
            for (auto places : {&Model<T>::ring_fill, &Model<T>::ring_next, &Model<T>::pool_fill})
                if (!(from.*places).empty()) (to.*places)[mine] = (from.*places)[old];
            if (!from.pool_key.empty())
                std::copy_n(from.pool_key.data() + old * keys, keys,
                            to.pool_key.data() + mine * keys);
        }
    }

    Model<T>&to, &from;
    const std::vector<std::size_t>& position;
    std::size_t models, had, has, groups_before, groups;
    std::vector<Move> moves;
};

/// Continue `from` in `to`, a fresh model with more classes; `from` is not changed.
template <class T>
void add_classes(Model<T>& to, Model<T>& from, const NewClasses& classes) {
    if (from.shape.one_class && to.shape.outputs == to.shape.models)
        return AddClasses<T>(to, from, classes).add_second();
    const auto written_out = [](const Mixture& mix) {
        return mix.scale == 1 && mix.own == 0 && mix.rest == 0;
    };
    if (!from.shape.averages() && std::all_of(from.mix.begin(), from.mix.end(), written_out))
        return AddClasses<T>(to, from, classes).add_further();
    Model<T> folded = from;
    folded.detach();
    for (const Group& group : folded.groups) fold(folded, group);
    AddClasses<T>(to, folded, classes).add_further();
}

}  // namespace aggro
