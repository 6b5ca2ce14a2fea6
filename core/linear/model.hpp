// The state of a linear model: weights, metric, class sums, averages, counters.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/block.hpp"
#include "constraints/evaluate.hpp"
#include "linear/c_scale.hpp"
#include "linear/shape.hpp"
#include "rows/lanes.hpp"

namespace aggro {

/// Sums of the examples of each class. Output k is pulled towards the mean of its class minus the
/// mean of the others.
struct Means {
    Aligned<double> count, norm, cross;  ///< weight, ||S||^2 and <S, S_total> of each class
    Aligned<double> emphasis;  ///< weight of the next example; grows, so that old ones fade
    struct Total {
        double count = 0, norm = 0;
    } total;
};

/// What one line of an array of the state represents.
enum class Per {
    column,   ///< features; a line starts with one value per output
    slot,     ///< features; a line has the outputs of several classifiers
    feature,  ///< features; all outputs share it
    output,   ///< outputs, or the outputs of several classifiers
    mixture,  ///< outputs; each has the numbers of its `Mixture`
    group,
    matrix,  ///< one array per group: the triangle of a full metric
    model,
    shared,  ///< by all models
    cell     ///< features, in memory only: a line has the sections of `Model::weights`
};

/// The kind of an array of the state: what a line represents, and how models that continued one
/// start are merged (see merge.hpp).
struct Kind {
    /// One letter for each number, the last one for all that follow. '+': a sum. '~': a sum in
    /// which the past fades. '^': the maximum. '=': equal in all models, or arbitrary. '.': part of
    /// the lines of features, computed from other arrays, or not mergeable.
    using Rules = const char*;

    Per per;
    Rules rules;

    Kind(Per per, Rules rules) : per(per), rules(rules) {}
    operator Per() const { return per; }
    /// Return the rule of a number.
    char rule(std::size_t i) const {
        const std::size_t last = std::char_traits<char>::length(rules) - 1;
        return rules[std::min(i, last)];
    }
};

/// w_k = scale * u_k + own_k * S_k + rest_k * (S_total - S_k), where u_k and the sums are columns.
/// A pull to the class means changes three numbers instead of d weights, so it costs O(nnz).
struct Mixture {
    double scale = 1, own = 0, rest = 0;
    double scale_sum = 0, own_sum = 0, rest_sum = 0;  ///< the same, summed over averaged rounds
};

/// Interface of an object to notify before the weights of all features change at once.
struct SweepListener {
    virtual void before_sweep() = 0;

  protected:
    ~SweepListener() = default;
};

template <class T>
struct Model {
    Shape shape;
    std::size_t columns = 0;  ///< outputs, class sums and total, padded unless packed: see `shift`
    Block<T> weights;         ///< per feature a cell of up to three sections of columns
    Block<T> sum_rest;        ///< rounding error of the class sums, if T is float
    Block<T> ring;            ///< the last `queue` classifiers
    Block<T> pool;            ///< the classifiers in the reservoir
    Block<T> pool_mean;
    Aligned<double> bias_prior;  ///< 0 until the first row, if it depends on that row
    Block<T>
        update_counts;  ///< updates of each weight; a diagonal metric has its precision instead
    Aligned<double> bias, bias_variance, bias_sum, ring_bias, pool_bias, pool_mean_bias;
    Aligned<double> pool_key;
    Aligned<double> bias_update_counts;
    Aligned<Mixture> mix;              ///< one per output
    std::vector<std::size_t> own_sum;  ///< class sum of output k
    std::vector<FullMetric<T>> full;   ///< one per group
    std::vector<Group> groups;
    GroupCounts group_counts;  ///< of each group
    Record record;             ///< of each model
    Record swapped;            ///< the record if the known class becomes the first: see `one_class`
    std::vector<std::size_t> model_of;                      ///< model of each group
    Aligned<std::int64_t> ring_fill, ring_next, pool_fill;  ///< one per group
    Means means;
    Sizes sizes;      ///< of the features
    Moments targets;  ///< of the targets, if epsilon is in units of their spread
    CScale unit;      ///< of C, in a model selection
    Counters counters;
    std::int64_t average_from = 0;          ///< examples to see before averaging begins
    std::vector<SweepListener*> listeners;  ///< notified before the weights of all features change
    double* ensemble_out = nullptr;         ///< output for its part of the next ensemble prediction

    Model(const Shape& s, std::vector<Group> g, std::vector<std::size_t> own)
        : shape(s), own_sum(std::move(own)), groups(std::move(g)) {
        const std::size_t k = shape.outputs;
        for (const std::size_t kept : {shape.queue, shape.reservoir})
            check_memory(static_cast<double>(kept) * static_cast<double>(k) * sizeof(double),
                         std::to_string(kept) + " classifiers in a queue or reservoir",
                         "keep fewer of them");
        columns = packed() ? used_columns() : saved_columns();
        const std::size_t end = variance_section() + (diagonal() ? columns : 0);
        weights = Block<T>(end == 3 ? 4 : end);
        bias.assign(k, 0);
        if (shape.intercept && shape.intercept_scale == 0) bias_prior.assign(k, 0);
        bias_variance.assign(k, prior(0));
        mix.assign(k, {});
        means.count.assign(shape.sums, 0);
        means.norm.assign(shape.sums, 0);
        means.cross.assign(shape.sums, 0);
        if (sizeof(T) < sizeof(double) && shape.sums > 0)
            sum_rest = Block<T>(shape.sums + (shape.total ? 1 : 0));
        if (shape.forgetting > 0 && shape.sums > 0) means.emphasis.assign(1, 1.0);
        sizes.begin(shape.scale);
        if (shape.spreads > 0) targets.begin(shape.spreads);
        if (shape.models > 1) unit.begin(gives_value(groups[0].task));
        group_counts = GroupCounts(groups.size());
        record = Record(shape.models, shape.predictors());
        if (gives_value(groups[0].task)) record.distances.assign(shape.models, 0);
        if (shape.one_class) swapped = Record(shape.models, shape.predictors());
        if (shape.models > 1 && shape.outputs == shape.models && groups[0].task == Task::margin)
            record.allow_ensemble();
        for (std::size_t i = 0; i < groups.size(); ++i)
            model_of.push_back(i * shape.models / groups.size());
        if (shape.averages()) bias_sum.assign(k, 0);
        if (counts_updates()) {
            update_counts = Block<T>(padded<T>(k));
            bias_update_counts.assign(k, 0);
        }
        if (shape.queue > 1) {
            ring = Block<T>(shape.queue * k);
            ring_bias.assign(shape.queue * k, 0);
            ring_fill.assign(groups.size(), 0);
            ring_next.assign(groups.size(), 0);
        }
        if (shape.predictor == Predictor::reservoir) {
            pool = Block<T>(shape.reservoir * k);
            pool_mean = Block<T>(padded<T>(k));
            pool_bias.assign(shape.reservoir * k, 0);
            pool_mean_bias.assign(k, 0);
            pool_key.assign(shape.reservoir * groups.size(), 0);
            pool_fill.assign(groups.size(), 0);
        }
        const std::size_t features = shape.features;
        shape.features = 0;
        grow(features);
    }

    std::size_t groups_per_model() const {
        return shape.models == 1 ? groups.size()
                                 : groups.size() / shape.models;  // avoids a slow division
    }
    /// Prior variance of the intercept. The constant feature has the value s, and the weight is
    /// stored in units of s, so the intercept is the weight of a feature 1 with prior variance s².
    double prior(std::size_t k) const {
        const double square =
            bias_prior.empty() ? shape.intercept_scale * shape.intercept_scale : bias_prior[k];
        return square > 0 ? square : 1;
    }
    bool awaits_first_row(std::size_t k) const { return !bias_prior.empty() && bias_prior[k] == 0; }
    /// Return whether each weight has a variance: the inverse of its precision, or the square root
    /// of that.
    bool diagonal() const { return shape.metric == Metric::diagonal || adagrad(); }
    bool adagrad() const { return shape.metric == Metric::adagrad; }
    bool sharpens_ahead() const { return groups.front().rule.ahead > 0; }
    /// Return the variance of an intercept after replacing its prior 1 by `prior`.
    double begun(double variance, double prior) const {
        if (adagrad()) return prior / std::sqrt(1 + prior * (1 / (variance * variance) - 1));
        return 1 / (1 / variance - 1 + 1 / prior);
    }
    /// Return the variance of an intercept whose precision grows by kappa after forgetting a share.
    double sharpened(double variance, double prior, double kappa) const {
        const double share = variance / prior, inverse = adagrad() ? share * share : share;
        const double growth =
            1 + shape.forgetting * (inverse - 1) + kappa * together(prior * inverse);
        return variance / (adagrad() ? std::sqrt(growth) : growth);
    }
    bool counts_updates() const { return shape.mergeable && shape.metric == Metric::euclidean; }
    bool lazy_means() const { return shape.sums > 0 && shape.queue <= 1; }
    std::size_t total_column() const { return shape.outputs + shape.sums; }
    std::size_t used_columns() const { return total_column() + (shape.total ? 1 : 0); }
    /// Return the number of columns in a saved state, padded to whole vectors.
    std::size_t saved_columns() const { return padded<T>(used_columns()); }
    /// Return whether the shift follows the columns without padding: the model is too small for
    /// several threads, whose sections must not overlap.
    bool packed() const {
        constexpr std::size_t least = 512 / sizeof(T);
        return shape.averages() && !diagonal() && used_columns() > 1 && used_columns() < least;
    }

    // A cell contains the columns of u and of the class sums; then, if weights are averaged, the
    // `shift` of each output; then, in a diagonal metric, as many columns of `variance`. One pass
    // over the features of a row therefore reads everything known about them.

    /// For each weight, the sum over all rounds of (mean - last weight), which turns the last
    /// weights into their mean. After rounds of total weight S, a step tau x changes it by -S tau
    /// x.
    T* shift() { return weights.data() + columns; }
    const T* shift() const { return weights.data() + columns; }
    std::size_t variance_section() const {
        if (packed()) return padded<T>(columns + shape.outputs);
        return shape.averages() ? 2 * columns : columns;
    }
    T* variance() { return weights.data() + variance_section(); }
    const T* variance() const { return weights.data() + variance_section(); }

    void announce_sweep() const {
        for (SweepListener* listener : listeners) listener->before_sweep();
    }

    /// Add features with weight zero and variance one; the result is exact. All memory is allocated
    /// before anything changes, so that the model is unchanged if there is too little.
    void grow(std::size_t features) {
        if (features <= shape.features && shape.features > 0) return;
        check_size(features);
        for (Block<T>* block : tables())
            if (block->stride() > 0) block->reserve(features);
        sizes.reserve(features);
        std::vector<FullMetric<T>> grown;
        for (std::size_t g = 0; shape.metric == Metric::full && g < groups.size(); ++g)
            grown.push_back(full.empty() ? FullMetric<T>(features, shape.intercept, prior(0))
                                         : full[g].grown(features));
        for (Block<T>* block : tables())
            if (block->stride() > 0) block->grow(features);
        sizes.grow(features);
        for (std::size_t j = shape.features; diagonal() && j < features; ++j)
            std::fill_n(weights.row(j) + variance_section(), columns, T(1));
        full = std::move(grown);
        shape.features = features;
    }

    /// Reset a feature to its initial state and remove it from the norms of the class means.
    void forget(std::size_t j) {
        leave_means(j);
        for (Block<T>* block : tables())
            if (block->stride() > 0) std::fill_n(block->row(j), block->stride(), T(0));
        if (diagonal()) std::fill_n(weights.row(j) + variance_section(), columns, T(1));
        sizes.forget(j);
        for (FullMetric<T>& metric : full) metric.forget(j);
    }

    /// Remove one feature from the norms and products of the class sums.
    void leave_means(std::size_t j) {
        if (shape.sums == 0) return;
        const T* sums = weights.row(j) + shape.outputs;
        const double total = shape.total ? static_cast<double>(sums[shape.sums]) : 0.0;
        for (std::size_t c = 0; c < shape.sums; ++c) {
            const auto sum = static_cast<double>(sums[c]);
            means.norm[c] = std::max(0.0, means.norm[c] - sum * sum);
            means.cross[c] -= sum * total;
        }
        means.total.norm = std::max(0.0, means.total.norm - total * total);
    }

    /// Stop sharing the memory of blocks with the original of a copy.
    void detach() {
        for (Block<T>* block : tables()) block->detach();
        listeners.clear();
    }

    /// Visit every array of the state as it is in memory: name, kind of its lines, values.
    template <class Visit>
    void visit(Visit&& use) {
        visit_each([&](const char* name, Kind kind, Numbers numbers, std::size_t size) {
            std::visit([&](auto* data) { use(name, kind, data, size); }, numbers);
        });
    }

    /// Visit the arrays in their saved form, with separate arrays for the sections of the cells:
    /// "weights" contains weights and variances, "average_shift" the shift. Changes to these copies
    /// are written back.
    template <class Visit>
    void visit_saved(Visit&& use) {
        visit([&](const char* name, Per per, auto* data, std::size_t size) {
            if (per != Per::cell) return use(name, per, data, size);
            if (!shape.averages()) return use(name, Per::column, data, size);
            visit_sections(use);
        });
    }

  private:
    using Numbers =
        std::conditional_t<std::is_same_v<T, double>, std::variant<double*, std::int64_t*>,
                           std::variant<T*, double*, std::int64_t*>>;
    using Visitor = std::function<void(const char*, Kind, Numbers, std::size_t)>;

    template <class Visit>
    void visit_sections(Visit&& use) {
        const std::size_t behind = variance_section(), saved = saved_columns(),
                          width = diagonal() ? 2 * saved : saved;
        std::vector<T> table(shape.features * width), shift_table(shape.features * saved);
        const auto copy = [&](bool out) {
            const auto move = [&](T* line, std::size_t count, T* copied) {
                out ? std::copy_n(line, count, copied) : std::copy_n(copied, count, line);
            };
            for (std::size_t j = 0; j < shape.features; ++j) {
                T* cell = weights.row(j);
                move(cell, columns, table.data() + j * width);
                move(cell + columns, shape.outputs, shift_table.data() + j * saved);
                if (diagonal()) move(cell + behind, columns, table.data() + j * width + saved);
            }
        };
        copy(true);
        use("weights", Per::column, table.data(), table.size());
        use("average_shift", Per::column, shift_table.data(), shift_table.size());
        copy(false);
    }

    /// Visit all arrays of the state; compiled once for all visitors.
    void visit_each(const Visitor& visit) {
        visit("weights", {Per::cell, "."}, weights.data(), weights.size());
        visit("class_sum_rest", {Per::feature, "."}, sum_rest.data(), sum_rest.size());
        visit("ring", {Per::slot, "."}, ring.data(), ring.size());
        visit("pool", {Per::slot, "."}, pool.data(), pool.size());
        visit("pool_mean", {Per::column, "."}, pool_mean.data(), pool_mean.size());
        visit("update_counts", {Per::column, "."}, update_counts.data(), update_counts.size());
        using Doubles = std::tuple<const char*, Kind, Aligned<double>*>;
        for (auto [name, kind, array] : std::initializer_list<Doubles>{
                 {"bias", {Per::output, "."}, &bias},
                 {"bias_prior", {Per::output, "^"}, &bias_prior},
                 {"bias_variance", {Per::output, "."}, &bias_variance},
                 {"bias_sum", {Per::output, "."}, &bias_sum},
                 {"ring_bias", {Per::output, "."}, &ring_bias},
                 {"pool_bias", {Per::output, "."}, &pool_bias},
                 {"pool_mean_bias", {Per::output, "."}, &pool_mean_bias},
                 {"pool_key", {Per::group, "."}, &pool_key},
                 {"bias_update_counts", {Per::output, "."}, &bias_update_counts},
                 {"class_weight_seen", {Per::shared, "+"}, &means.count},
                 {"class_sum_norm", {Per::shared, "."}, &means.norm},
                 {"class_sum_cross", {Per::shared, "."}, &means.cross},
                 {"class_emphasis", {Per::shared, "."}, &means.emphasis},
                 {"scale_seen", {Per::feature, "."}, &sizes.seen},
                 {"scale_square", {Per::feature, "."}, &sizes.square},
                 {"scale_rows", {Per::shared, "."}, &sizes.moments.rows},
                 {"scale_mean", {Per::feature, "."}, &sizes.moments.mean},
                 {"scale_spread", {Per::feature, "."}, &sizes.moments.square},
                 {"target_rows", {Per::shared, "."}, &targets.rows},
                 {"target_mean", {Per::shared, "."}, &targets.mean},
                 {"target_spread", {Per::shared, "."}, &targets.square},
                 {"unit", {Per::shared, "++++="}, &unit.known},
                 {"loss", {Per::group, "+"}, &group_counts.loss},
                 {"model_mistakes", {Per::model, "+"}, &record.mistakes},
                 {"distances", {Per::model, "+"}, &record.distances},
                 {"recent_mistakes", {Per::model, "~"}, &record.recent_mistakes},
                 {"recent_loss", {Per::model, "~"}, &record.recent_loss},
                 {"ensemble_weight", {Per::model, "="}, &record.part},
                 {"margin_size", {Per::model, "~"}, &record.margin_size},
                 {"margin_loss", {Per::model, "~"}, &record.margin_loss},
                 {"swapped_mistakes", {Per::model, "+"}, &swapped.mistakes},
                 {"swapped_recent", {Per::model, "~"}, &swapped.recent_mistakes}})
            visit(name, kind, array->data(), array->size());
        visit_numbers<double>(visit, "mixture", {Per::mixture, "."}, mix.data(), mix.size());
        for (std::size_t g = 0; g < full.size(); ++g) {
            auto& lower = full[g].lower();
            visit(("full_" + std::to_string(g)).c_str(), {Per::matrix, "."}, lower.data(),
                  lower.size());
        }
        using Integers = std::tuple<const char*, Kind, Aligned<std::int64_t>*>;
        for (auto [name, kind, array] : std::initializer_list<Integers>{
                 {"ring_fill", {Per::group, "."}, &ring_fill},
                 {"ring_next", {Per::group, "."}, &ring_next},
                 {"pool_fill", {Per::group, "."}, &pool_fill},
                 {"mistakes", {Per::group, "+"}, &group_counts.mistakes},
                 {"updates", {Per::group, "+"}, &group_counts.updates},
                 {"last_update", {Per::group, "^"}, &group_counts.last_update}})
            visit(name, kind, array->data(), array->size());
        double totals[] = {record.recent_examples, record.chosen_mistakes, record.chosen_error};
        visit("record", {Per::shared, "~++"}, totals, 3);
        record.recent_examples = totals[0];
        record.chosen_mistakes = totals[1];
        record.chosen_error = totals[2];
        double weights[] = {record.recent_weight, record.recent_squares};
        visit("recent_weight", {Per::shared, "~"}, weights, 2);
        record.recent_weight = weights[0];
        record.recent_squares = weights[1];
        const std::size_t turns = shape.one_class ? 5 : 0;
        visit_drift("drift", {Per::shared, "++++^"}, record.drift, 5, visit);
        visit_drift("swapped_drift", {Per::shared, "+"}, swapped.drift, turns, visit);
        visit("swapped_chosen", {Per::shared, "+"}, &swapped.chosen_mistakes,
              shape.one_class ? 1 : 0);
        visit_numbers<double>(visit, "class_total", {Per::shared, "+."}, &means.total, 1);
        std::int64_t counts[] = {counters.examples, counters.averaged, counters.frozen,
                                 static_cast<std::int64_t>(counters.random)};
        visit("counters", {Per::shared, "++=."}, counts, 4);
        counters.examples = counts[0];
        counters.averaged = counts[1];
        counters.frozen = counts[2];
        counters.random = static_cast<std::uint64_t>(counts[3]);
        visit("late_weight", {Per::shared, "+"}, &counters.late_weight, shape.contested() ? 1 : 0);
    }

    static void visit_drift(const char* name, Kind kind, DriftRecord& drift, std::size_t size,
                            const Visitor& visit) {
        double sums[] = {drift.weight, drift.squared_weight, drift.loss, drift.squared_loss,
                         drift.scale};
        visit(name, kind, sums, size);
        drift = {sums[0], sums[1], sums[2], sums[3], sums[4]};
    }

    using Tables = std::array<Block<T>*, 6>;
    Tables tables() { return {&weights, &sum_rest, &ring, &pool, &pool_mean, &update_counts}; }

    /// Throw if a model with this number of features exceeds the memory of the machine.
    void check_size(std::size_t features) {
        const auto width = static_cast<double>(features), size = width + 1;
        double line = shape.scale == Scale::none ? 0 : 2 * sizeof(double);
        for (const Block<T>* block : tables())
            line += static_cast<double>(block->stride() * sizeof(T));
        const double matrices = shape.metric == Metric::full ? static_cast<double>(groups.size()) *
                                                                   size * size / 2 * sizeof(T)
                                                             : 0;
        const std::string named = std::to_string(features) + " features";
        if (matrices > 0)
            check_memory(matrices + width * line, "a full metric on " + named,
                         "use the diagonal metric or fewer features");
        check_memory(width * line, "a model of " + named, "use fewer features, or hash them");
        if (width > std::numeric_limits<std::int32_t>::max())  // the type of a feature's index
            throw std::invalid_argument("a linear model has at most 2147483647 features, but " +
                                        named + " are requested; hash them into fewer.");
    }

    /// Visit structs of plain numbers as one array. The array is a copy, because a pointer must not
    /// cross from one member to the next.
    template <class Number, class Struct>
    static void visit_numbers(const Visitor& visit, const char* name, Kind kind, Struct* structs,
                              std::size_t count) {
        static_assert(std::is_trivially_copyable_v<Struct> && sizeof(Struct) % sizeof(Number) == 0);
        std::vector<Number> numbers(count * (sizeof(Struct) / sizeof(Number)));
        if (count == 0) return visit(name, kind, numbers.data(), numbers.size());
        std::memcpy(numbers.data(), structs, count * sizeof(Struct));
        visit(name, kind, numbers.data(), numbers.size());
        std::memcpy(static_cast<void*>(structs), numbers.data(), count * sizeof(Struct));
    }
};

}  // namespace aggro
