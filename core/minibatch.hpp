// The same step for several examples together: one dual problem per batch and group.
#pragma once
#include "batch.hpp"
#include "learn.hpp"

namespace aggro {

/// One example of a batch.
template <class Row>
struct Member {
    Row x;
    Target y;
    double weight;
};

template <class T, class Row, bool Single, bool Diagonal>
class LearnBatch : public Learn<T, Row, Single, Diagonal> {
    using Base = Learn<T, Row, Single, Diagonal>;
    using Base::m;
    using Base::s;
    using Base::space;

  public:
    LearnBatch(Model<T>& model, Scratch<T>& scratch) : Base(model, scratch) {}

    /// Learns the examples as one batch: every margin is asked for at once.
    void operator()(const std::vector<Member<Row>>& batch) {
        if (batch.empty()) return;
        meet_all(batch);
        const std::size_t n = batch.size(), outputs = m.shape.outputs;
        taus.assign(n * outputs, 0.0);
        kappas.assign(n * m.groups.size(), 0.0);
        gram_known = false;
        for (std::size_t g = 0; g < m.groups.size(); ++g) learn_group(g, batch);
        if (m.shape.metric != Metric::full) apply(batch);
        m.counters.examples += static_cast<std::int64_t>(n);
        this->average_round(static_cast<std::int64_t>(n));
    }

    /// The example of the batch that was looked at last, for complaints.
    std::size_t current() const { return at; }

  private:
    /// Predicts every example before any is learned, and lets it join its class means.
    void meet_all(const std::vector<Member<Row>>& batch) {
        const std::size_t outputs = m.shape.outputs;
        scores.resize(batch.size() * outputs);
        absent.resize(batch.size());
        for (std::size_t j = 0; j < batch.size(); ++j) {
            const auto& [x, y, weight] = batch[j];
            at = j;
            look_strictly(x);
            absent[j] = this->squared == 0 && !m.shape.intercept;
            this->predict();
            this->record(x, y);
            if (m.shape.spreads > 0) this->measure_targets(y);
            if (m.unit.open()) this->measure_unit(y);
            std::copy(s.scores.begin(), s.scores.end(),
                      scores.begin() + static_cast<std::ptrdiff_t>(j * outputs));
            if (m.shape.sums == 0 || m.counters.frozen) continue;
            this->meet(x, y, weight);
            this->step(x);
            emphasise(m);
        }
    }

    void look_strictly(const Row& x) {
        this->look(x);
        if (this->size != 1)
            throw BadExample(
                "its norm overflows, which a mini-batch cannot handle; scale the features");
    }

    void learn_group(std::size_t index, const std::vector<Member<Row>>& batch) {
        const Group& g = m.groups[index];
        const bool hard = g.rule.cap == infinity && g.rule.ridge == 0;
        bool suffered = false, acts = false;
        for (std::size_t j = 0; j < batch.size(); ++j) {
            const Verdict verdict = judge_at(g, batch[j], j);
            at = j;
            this->count(index, verdict);
            suffered |=
                (verdict.suffers || g.always) && !(hard && absent[j]);  // which cannot be met
            acts |= verdict.moves && !absent[j];
        }
        const bool pulls = (g.gamma > 0 || m.shape.queue > 1) && suffered;
        if (!pulls && !acts) return;
        if (m.shape.reservoir > 0) offer(m, index);
        if (pulls) centre_all(index, batch);
        solve(index, batch);
        count_updates(index, batch.size(), pulls);
        if (m.shape.metric == Metric::full) apply_full(index, batch);
    }

    Verdict judge_at(const Group& g, const Member<Row>& example, std::size_t j) {
        const double* at = scores.data() + j * m.shape.outputs + g.first;
        const auto rounding = rounding_of<T>(
            example.x.size, [&](std::size_t k) { return this->reach(g.first + k, example.x); });
        return judge(
            g, this->widened(g, g.rule), example.y, at, [] { return 1.0; }, rounding,
            s.tau.data() + g.first, s.ranking);
    }

    /// Moves the group to its centre and reads the scores there.
    void centre_all(std::size_t index, const std::vector<Member<Row>>& batch) {
        const Group& g = m.groups[index];
        this->look(batch[0].x);
        if (m.shape.sums > 0) this->read_sums();
        this->centre(index, batch[0].x);
        for (std::size_t j = 0; j < batch.size(); ++j) {
            this->look(batch[j].x);
            this->predict();
            for (std::size_t k = g.first; k < g.first + g.count; ++k)
                scores[j * m.shape.outputs + k] = s.scores[k];
        }
    }

    void solve(std::size_t index, const std::vector<Member<Row>>& batch) {
        const Group& g = m.groups[index];
        const std::size_t n = batch.size();
        measure(index, batch);
        rules.clear();
        targets.clear();
        group_scores.resize(n * g.count);
        group_taus.resize(n * g.count);
        for (std::size_t j = 0; j < n; ++j) {
            rules.push_back(this->widened(g, g.rule.priced(batch[j].weight / (1 + g.gamma))));
            targets.push_back(batch[j].y);
            for (std::size_t k = 0; k < g.count; ++k)
                group_scores[j * g.count + k] = scores[j * m.shape.outputs + g.first + k];
        }
        std::size_t terms = 0;
        for (const auto& example : batch) terms = std::max(terms, example.x.size);
        const auto reach = [&](std::size_t j, std::size_t k) {
            return this->reach(g.first + k, batch[j].x);
        };
        const BatchProblem problem{n,
                                   gram.data(),
                                   group_scores.data(),
                                   targets.data(),
                                   rules.data(),
                                   reach,
                                   std::numeric_limits<T>::epsilon(),
                                   doubtful<T>,
                                   static_cast<double>(terms)};
        if (!solve_batch(g, problem, group_taus.data(), work)) one_by_one(g, problem);
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t k = 0; k < g.count; ++k)
                taus[j * m.shape.outputs + g.first + k] = group_taus[j * g.count + k];
        for (std::size_t j = 0; j < n; ++j)
            kappas[j * m.groups.size() + index] = moves(g, j) ? rules[j].kappa : 0;
    }

    /// The Gram matrix x_j' Sigma x_k of the batch in the group's metric, constant feature
    /// included.
    void measure(std::size_t index, const std::vector<Member<Row>>& batch) {
        if (gram_known && m.shape.metric == Metric::euclidean) return;
        gram_known = true;
        const std::size_t n = batch.size();
        gram.resize(n * n);
        constexpr std::size_t few = 8;  // so few rows meet in pairs faster than on a board
        if (Row::dense || m.shape.metric == Metric::full || n <= few)
            return measure_images(index, batch);
        number_features(batch);
        for (std::size_t first = 0; first < n; first += width) measure_board(index, batch, first);
    }

    /// Numbers the features of the batch one after another, so that its board stays in the cache.
    /// Numbers of earlier batches lie below `base` and need no clearing.
    void number_features(const std::vector<Member<Row>>& batch) {
        std::size_t entries = 0;
        for (const auto& example : batch) entries += example.x.size;
        if (number.size() < m.shape.features || base > (1 << 30))
            number.assign(m.shape.features, base = 0);
        base += used + 1;
        used = 0;
        numbers.resize(entries);
        std::int32_t *name = numbers.data(), *known = number.data(), next = base;
        const std::int32_t first = base;
        for (const auto& example : batch) {
            const Row x = example.x;
            for (std::size_t k = 0; k < x.size; ++k) {
                // `fresh` is all ones for a new feature: a branch could not be foretold
                const std::int32_t old = known[x.feature(k)], fresh = -(old < first);
                const std::int32_t now = old ^ ((old ^ next) & fresh);
                known[x.feature(k)] = now;
                next -= fresh;
                *name++ = now - first;
            }
        }
        used = next - base;
    }

    /// Sparse rows: up to `width` of them are laid out side by side, one lane each, so that every
    /// other row meets them all in one walk.
    void measure_board(std::size_t index, const std::vector<Member<Row>>& batch,
                       std::size_t first) {
        const std::size_t n = batch.size(), count = std::min(width, n - first),
                          lane = m.groups[index].first;
        const double constant = m.shape.intercept ? m.bias_variance[lane] : 0;
        board.assign(static_cast<std::size_t>(used) * width, T(0));
        const std::int32_t* names = numbers.data();
        for (std::size_t j = 0; j < first + count; names += batch[j++].x.size)
            for (std::size_t k = 0; j >= first && k < batch[j].x.size; ++k)
                board[static_cast<std::size_t>(names[k]) * width + j - first] =
                    batch[j].x.values[k];
        T products[width];
        names = numbers.data();
        for (std::size_t k = 0; k < n; names += batch[k++].x.size) {
            if (k < first) continue;
            const Row scaled = in_metric(batch[k].x, lane);
            const SparseRow<T, std::int32_t> x{scaled.values, names, scaled.size};
            dot_lanes(x, board.data(), width, width, products);
            for (std::size_t j = 0; j < count; ++j)
                gram[k * n + first + j] = gram[(first + j) * n + k] =
                    static_cast<double>(products[j]) + constant;
        }
    }

    /// The row times the variances of the metric.
    Row in_metric(const Row& x, std::size_t lane) {
        if constexpr (!Diagonal) return x;
        s.values.resize(x.size);
        for (std::size_t k = 0; k < x.size; ++k)
            s.values[k] = x.values[k] * m.variance()[x.feature(k) * m.weights.stride() + lane];
        Row scaled = x;
        scaled.values = s.values.data();
        return scaled;
    }

    void measure_images(std::size_t index, const std::vector<Member<Row>>& batch) {
        const std::size_t n = batch.size();
        for (std::size_t j = 0; j < n; ++j) {
            const double constant = write_image(index, batch[j].x);
            for (std::size_t k = 0; k <= j; ++k)
                gram[j * n + k] = gram[k * n + j] =
                    static_cast<double>(glance(batch[k].x, image.data()).dot) + constant;
            if (!Row::dense && m.shape.metric != Metric::full) write(batch[j].x, nullptr);
        }
    }

    /// Sigma x in `image`; returns what the constant feature adds to every product with it.
    double write_image(std::size_t index, const Row& x) {
        const std::size_t lane = m.groups[index].first;
        image.resize(m.shape.features);
        if (m.shape.metric == Metric::full) {
            m.full[index].look(x, 1.0);
            const auto& full = m.full[index].image();
            std::copy_n(full.begin(), m.shape.features, image.begin());
            return m.shape.intercept ? static_cast<double>(full[m.shape.features]) : 0;
        }
        const Row scaled = in_metric(x, lane);
        write(x, scaled.values);
        return m.shape.intercept ? m.bias_variance[lane] : 0;
    }

    /// The image at the row's features becomes these values, or zero again.
    void write(const Row& x, const T* values) {
        for (std::size_t k = 0; k < x.size; ++k) image[x.feature(k)] = values ? values[k] : T(0);
    }

    void count_updates(std::size_t index, std::size_t n, bool pulled) {
        const Group& g = m.groups[index];
        std::int64_t moved = 0;
        for (std::size_t j = 0; j < n; ++j) moved += moves(g, j);
        m.tally.updates[index] += std::max<std::int64_t>(moved, pulled);
        m.tally.last_update[index] = m.counters.examples + static_cast<std::int64_t>(n);
    }

    bool moves(const Group& g, std::size_t j) const {
        const double* tau = taus.data() + j * m.shape.outputs + g.first;
        return std::any_of(tau, tau + g.count, [](double t) { return t != 0; });
    }

    /// Contradictory hard examples cannot all be met: they are taken one after another, each from
    /// where the ones before have moved the scores.
    void one_by_one(const Group& g, const BatchProblem& problem) {
        const std::size_t n = targets.size();
        for (std::size_t j = 0; j < n; ++j) {
            double* at = group_scores.data() + j * g.count;
            for (std::size_t i = 0; i < j; ++i)
                for (std::size_t k = 0; k < g.count; ++k)
                    at[k] += gram[j * n + i] * group_taus[i * g.count + k];
            judge(
                g, rules[j], targets[j], at, [&] { return gram[j * n + j]; }, problem.rounding(j),
                group_taus.data() + j * g.count, s.ranking);
        }
    }

    /// Steps along every example in the metric the batch began with, then sharpens the metric.
    void apply(const std::vector<Member<Row>>& batch) {
        for (std::size_t j = 0; j < batch.size(); ++j) {
            if (!load_taus(j)) continue;
            for (std::size_t k = 0; k < m.shape.outputs; ++k) {
                this->set_coef(k, s.tau[k]);
                if (m.shape.intercept) m.bias[k] += s.tau[k] * m.bias_variance[k];
            }
            this->step_only(batch[j].x);
        }
        if constexpr (Diagonal)
            for (std::size_t j = 0; j < batch.size(); ++j) sharpen(j, batch[j].x);
    }

    bool load_taus(std::size_t j) {
        const double* tau = taus.data() + j * m.shape.outputs;
        std::copy_n(tau, m.shape.outputs, s.tau.begin());
        return std::any_of(tau, tau + m.shape.outputs, [](double t) { return t != 0; });
    }

    void sharpen(std::size_t j, const Row& x) {
        for (std::size_t i = 0; i < m.groups.size(); ++i) {
            const Group& g = m.groups[i];
            const double kappa = kappas[j * m.groups.size() + i];
            for (std::size_t k = g.first; k < g.first + g.count; ++k) {
                s.kappa[k] = this->sharpness(kappa);
                this->sharpen_bias(k, kappa);
            }
        }
        space.sharpen(x);
        this->clear(s.kappa);
    }

    /// The full metric: all images are taken before the matrix changes.
    void apply_full(std::size_t index, const std::vector<Member<Row>>& batch) {
        const Group& g = m.groups[index];
        FullMetric<T>& sigma = m.full[index];
        for (std::size_t j = 0; j < batch.size(); ++j) {
            if (!moves(g, j)) continue;
            load_taus(j);
            sigma.look(batch[j].x, 1.0);
            this->move_along_image(index);
        }
        for (std::size_t j = 0; j < batch.size(); ++j)
            if (moves(g, j)) sigma.shrink(rules[j].kappa, sigma.look(batch[j].x, 1.0));
    }

    static constexpr std::size_t width = 64 / sizeof(T);
    BatchWork work;
    std::vector<T> board;  ///< rows of the batch side by side, `width` lanes for each feature
    std::vector<std::int32_t> number, numbers;  ///< of each feature, and of each entry of the batch
    std::int32_t base = 0, used = 0;
    bool gram_known = false;
    std::size_t at = 0;
    std::vector<char> absent;  ///< rows without length
    std::vector<T> image;
    std::vector<double> scores, taus, kappas, gram, group_scores, group_taus;
    std::vector<Rule> rules;
    std::vector<Target> targets;
};

}  // namespace aggro
