// The same step for a mini-batch: one dual problem per batch and group.
#pragma once
#include <memory>

#include "linear/batch_gram.hpp"
#include "linear/learn.hpp"
#include "qp/batch.hpp"

namespace aggro {

/// The algorithm. The loops over features are in `LearnBatch`.
template <class T, class Row>
class BatchStep {
  public:
    BatchStep(Model<T>& model, Scratch<T>& scratch)
        : m(model), s(scratch), score(model, scratch), statistics(model, scratch), gram(model) {}

    virtual ~BatchStep() = default;

    /// Learn the examples as one batch: constrain all their margins at once.
    [[gnu::noinline]] void operator()(const std::vector<Member<Row>>& batch) {
        if (batch.empty()) return;
        predict_all(batch);
        const std::size_t n = batch.size(), outputs = m.shape.outputs;
        taus.assign(n * outputs, 0.0);
        kappas.assign(n * m.groups.size(), 0.0);
        gram.forget();
        if (m.sharpens_ahead()) sharpen_ahead(batch);
        for (std::size_t g = 0; g < m.groups.size(); ++g) learn_group(g, batch);
        if (m.shape.metric != Metric::full) apply(batch);
        statistics.finish(static_cast<std::int64_t>(n));
    }

    /// Return the last example that was read, for error messages.
    std::size_t current() const { return at; }

  protected:
    /// Compute the products of a row with all columns.
    virtual MeasuredRow<Row> measure_row(const Row& x) = 0;
    /// Compute the scores of the mean weights; return false if there are none.
    virtual bool score_by_mean(const MeasuredRow<Row>& row, double averaged) = 0;
    /// Add an example to the class means, unless they are frozen.
    virtual void join(const Member<Row>& example) = 0;
    /// Move a group to its centre.
    virtual void centre(std::size_t index, const MeasuredRow<Row>& row) = 0;
    /// Move all outputs along the row by their tau; the metric stays.
    virtual void step(const Row& x) = 0;
    /// Increase the precision of a diagonal metric along the row by the kappa of each group.
    virtual void sharpen(const Row& x, const double* kappas) = 0;

    Model<T>& m;
    Scratch<T>& s;

    /// Measure a row; throw if its squared length overflows.
    MeasuredRow<Row> measure_strictly(const Row& x) {
        const MeasuredRow<Row> row = measure_row(x);
        if (row.stretch != 1)
            throw BadExample(
                "its norm overflows, which a mini-batch cannot handle; scale the features");
        return row;
    }

  private:
    /// Predict every example before any is learned or added to its class means.
    void predict_all(const std::vector<Member<Row>>& batch) {
        const std::size_t outputs = m.shape.outputs;
        scores.resize(batch.size() * outputs);
        absent.resize(batch.size());
        const BatchStart* start = batch_start();
        for (std::size_t j = 0; j < batch.size(); ++j) {
            const auto& [x, y, weight] = batch[at = j];
            const MeasuredRow<Row> row = measure_strictly(x);
            if (m.awaits_first_row(0)) statistics.measure_intercept(row);
            absent[j] = row.squared == 0 && !m.shape.intercept;
            score.of_last(row);
            if (statistics.records_examples())
                statistics.record(y, weight, score_by_mean(row, statistics.averaged()), start);
            statistics.measure(row, y);
            std::copy(s.scores.begin(), s.scores.end(),
                      scores.begin() + static_cast<std::ptrdiff_t>(j * outputs));
        }
        for (std::size_t j = 0; j < batch.size(); ++j) join(batch[at = j]);
    }

    /// Return a copy of the records before the batch, or null if there is only one predictor.
    const BatchStart* batch_start() {
        if (m.shape.models == 1 && m.shape.predictors() == 1) return nullptr;
        before.record = m.record;
        before.swapped = swapped_record(m);
        return &before;
    }

    void learn_group(std::size_t index, const std::vector<Member<Row>>& batch) {
        const Group& g = m.groups[index];
        const bool hard = g.rule.cap == infinity && g.rule.ridge == 0;
        bool pulled = false, acts = false;
        for (std::size_t j = 0; j < batch.size(); ++j) {
            const Outcome outcome = evaluate_at(g, batch[j], j);
            at = j;
            statistics.count(index, batch[j].weight, outcome);
            pulled |=
                (outcome.violated || g.always) && !(hard && absent[j]);  // an infeasible constraint
            acts |= outcome.moves && !absent[j];
        }
        const bool pulls = (g.gamma > 0 || m.shape.queue > 1) && pulled;
        if (!pulls && !acts) return;
        if (m.shape.reservoir > 0) offer(m, index);
        if (pulls) centre_all(index, batch);
        solve(index, batch);
        count_updates(index, batch.size(), pulls);
        if (m.shape.metric == Metric::full) apply_full(index, batch);
    }

    /// Update Newton's metric before the step, by the squared loss of each example.
    void sharpen_ahead(const std::vector<Member<Row>>& batch) {
        const std::size_t groups = m.groups.size();
        std::vector<double> gains(groups);
        for (std::size_t j = 0; j < batch.size(); ++j) {
            for (std::size_t i = 0; i < groups; ++i) {
                const Group& g = m.groups[i];
                const Outcome outcome = evaluate_at(g, batch[j], j);
                const Rule rule = g.rule.scaled_C(batch[j].weight / (1 + g.gamma));
                gains[i] = outcome.moves && !absent[j] ? rule.gain(outcome.loss) : 0;
            }
            sharpen(batch[j].x, gains.data());
        }
    }

    Outcome evaluate_at(const Group& g, const Member<Row>& example, std::size_t j) {
        const double* at = scores.data() + j * m.shape.outputs + g.first;
        const MeasuredRow<Row> row{example.x};
        const auto rounding = rounding_of<T>(
            example.x.size, [&](std::size_t k) { return reach(m, row, g.first + k); });
        return evaluate(
            g, rule_for(m, g, 1, 1, s.scaled_C), example.y, at, [] { return 1.0; }, rounding,
            s.tau.data() + g.first, s.ranking);
    }

    /// Move the group to its centre and compute the scores there.
    void centre_all(std::size_t index, const std::vector<Member<Row>>& batch) {
        const Group& g = m.groups[index];
        centre(index, measure_row(batch[0].x));
        for (std::size_t j = 0; j < batch.size(); ++j) {
            score.of_last(measure_row(batch[j].x));
            for (std::size_t k = g.first; k < g.first + g.count; ++k)
                scores[j * m.shape.outputs + k] = s.scores[k];
        }
    }

    void solve(std::size_t index, const std::vector<Member<Row>>& batch) {
        const Group& g = m.groups[index];
        const std::size_t n = batch.size();
        gram.measure(index, batch);
        rules.clear();
        targets.clear();
        group_scores.resize(n * g.count);
        group_taus.resize(n * g.count);
        for (std::size_t j = 0; j < n; ++j) {
            rules.push_back(rule_for(m, g, batch[j].weight / (1 + g.gamma), 1, s.scaled_C));
            targets.push_back(batch[j].y);
            for (std::size_t k = 0; k < g.count; ++k)
                group_scores[j * g.count + k] = scores[j * m.shape.outputs + g.first + k];
        }
        std::size_t terms = 0;
        for (const auto& example : batch) terms = std::max(terms, example.x.size);
        const auto reach_at = [&](std::size_t j, std::size_t k) {
            return reach(m, MeasuredRow<Row>{batch[j].x}, g.first + k);
        };
        const BatchProblem problem{n,
                                   gram.data(),
                                   group_scores.data(),
                                   targets.data(),
                                   rules.data(),
                                   reach_at,
                                   std::numeric_limits<T>::epsilon(),
                                   doubtful<T>,
                                   static_cast<double>(terms)};
        step_batch(g, problem, group_taus.data(), work);
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t k = 0; k < g.count; ++k)
                taus[j * m.shape.outputs + g.first + k] = group_taus[j * g.count + k];
        for (std::size_t j = 0; j < n; ++j)
            kappas[j * m.groups.size() + index] = moves(g, j) ? rules[j].kappa : 0;
    }

    void count_updates(std::size_t index, std::size_t n, bool pulled) {
        const Group& g = m.groups[index];
        std::int64_t moved = 0;
        for (std::size_t j = 0; j < n; ++j) moved += moves(g, j);
        m.group_counts.updates[index] += std::max<std::int64_t>(moved, pulled);
        m.group_counts.last_update[index] = m.counters.examples + static_cast<std::int64_t>(n);
    }

    bool moves(const Group& g, std::size_t j) const {
        const double* tau = taus.data() + j * m.shape.outputs + g.first;
        return std::any_of(tau, tau + g.count, [](double t) { return t != 0; });
    }

    /// Step along every example in the metric before the batch, then update the metric.
    void apply(const std::vector<Member<Row>>& batch) {
        for (std::size_t j = 0; j < batch.size(); ++j)
            if (load_taus(j)) step(batch[j].x);
        for (std::size_t j = 0; m.diagonal() && !m.sharpens_ahead() && j < batch.size(); ++j)
            sharpen(batch[j].x, kappas.data() + j * m.groups.size());
    }

    bool load_taus(std::size_t j) {
        const double* tau = taus.data() + j * m.shape.outputs;
        std::copy_n(tau, m.shape.outputs, s.tau.begin());
        return std::any_of(tau, tau + m.shape.outputs, [](double t) { return t != 0; });
    }

    /// Apply the steps in a full metric: all images are computed before the matrix changes.
    void apply_full(std::size_t index, const std::vector<Member<Row>>& batch) {
        const Group& g = m.groups[index];
        FullMetric<T>& sigma = m.full[index];
        for (std::size_t j = 0; j < batch.size(); ++j) {
            if (!moves(g, j)) continue;
            load_taus(j);
            sigma.squared_length(batch[j].x, 1.0);
            move_along_image(m, s, index);
        }
        for (std::size_t j = 0; j < batch.size(); ++j)
            if (moves(g, j)) sigma.shrink(rules[j].kappa, sigma.squared_length(batch[j].x, 1.0));
    }

    Scores<T, Row, false> score;
    Statistics<T, false> statistics;
    BatchGram<T, Row> gram;
    BatchWork work;
    BatchStart before;
    std::size_t at = 0;
    std::vector<char> absent;  ///< rows of length zero
    std::vector<double> scores, taus, kappas, group_scores, group_taus;
    std::vector<Rule> rules;
    std::vector<Target> targets;
};

/// The loops over features: one output or several, Euclidean or diagonal.
template <class T, class Row, bool Single, bool Diagonal>
class LearnBatch final : public BatchStep<T, Row> {
  public:
    LearnBatch(Model<T>& model, Scratch<T>& scratch)
        : BatchStep<T, Row>(model, scratch),
          space(model, scratch),
          scores(model, scratch),
          means(model, scratch),
          update(model, scratch) {}

  private:
    using BatchStep<T, Row>::m;
    using BatchStep<T, Row>::s;

    MeasuredRow<Row> measure_row(const Row& x) override { return space.measure_row(x, true); }

    bool score_by_mean(const MeasuredRow<Row>& row, double averaged) override {
        return scores.of_mean(row, averaged);
    }

    void join(const Member<Row>& example) override {
        if (!means.open()) return;
        const MeasuredRow<Row> row = this->measure_strictly(example.x);
        if (means.join(row, example.y, example.weight)) update.apply(example.x);
        emphasise(m);
    }

    void centre(std::size_t index, const MeasuredRow<Row>& row) override {
        if (m.shape.sums > 0) means.read_sums(row.stretch);
        means.centre(index, row);
    }

    void step(const Row& x) override {
        for (std::size_t k = 0; k < m.shape.outputs; ++k) {
            set_coef(m, s, k, s.tau[k]);
            if (m.shape.intercept) m.bias[k] += s.tau[k] * m.bias_variance[k];
        }
        update.apply_steps(x);
    }

    void sharpen(const Row& x, const double* kappas) override {
        if constexpr (!Diagonal) return;
        for (std::size_t i = 0; i < m.groups.size(); ++i) {
            const Group& g = m.groups[i];
            for (std::size_t k = g.first; k < g.first + g.count; ++k) update.gain(k, kappas[i], 1);
        }
        update.sharpen(x);
    }

    RowOps<T, Row, Single, Diagonal> space;
    Scores<T, Row, Single> scores;
    ClassMeans<T, Row, Single, Diagonal> means;
    WeightUpdate<T, Row, Single, Diagonal> update;
};

/// Return the step for batches of this type of row and this model.
template <class T, class Row>
inline std::unique_ptr<BatchStep<T, Row>> batch_step(Model<T>& m, Scratch<T>& scratch) {
    std::unique_ptr<BatchStep<T, Row>> step;
    with_loops<LearnBatch, T, Row>(m, scratch, [&](const auto& loops) {
        step = std::make_unique<std::decay_t<decltype(loops)>>(m, scratch);
    });
    return step;
}

}  // namespace aggro
