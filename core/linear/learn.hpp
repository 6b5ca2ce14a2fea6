// The algorithm: predict, suffer, step. One example at a time, every variant the same.
#pragma once
#include <cmath>
#include <limits>

#include "linear/centre.hpp"
#include "linear/independent.hpp"
#include "linear/record.hpp"
#include "linear/reservoir.hpp"
#include "linear/space.hpp"
#include "rows/examples.hpp"

namespace aggro {

template <class T, class Row, bool Single, bool Diagonal>
class Learn {
  public:
    Learn(Model<T>& model, Scratch<T>& scratch)
        : m(model),
          s(scratch),
          space(model, scratch),
          counters(alone() ? model.counters : scratch.counters),
          lanes(Single ? LaneRules() : LaneRules(model, scratch.share)) {}

    /// One example of the given weight. What it calls for each row is inlined: of a short row,
    /// calls would take a good part of the time.
    void operator()(const Row& given, const Target& y, double weight) {
        const Row& x = look(given);
        if (m.awaits_first_row(first())) size_intercept();
        predict();
        if (m.shape.spreads > 0) measure_targets(y);
        if (!Single && first() == 0 && m.unit.open()) measure_unit(y);
        if (Single || !lanes.models) record(x, y);
        if (sums() > 0 && !m.counters.frozen) meet(x, y, weight);
        if (!Single && lanes.usable) {
            learn_lanes(x, y, weight);
        } else {
            for (std::size_t g = first_group(); g < end_group(); ++g) learn_group(g, x, y, weight);
        }
        step(x);
        if (!Single) emphasise(m);
        ++counters.examples;
        ++entry;
        average_round(1);
    }

    /// Scores of the model's predictor, left in `scores`.
    void score(const Row& given) {
        const Row& x = look(given);
        predict();
        score_predictor(x);
    }

  protected:
    // A single lane rules out other outputs, class sums and groups: the compiler may know.
    std::size_t first() const { return Single ? 0 : s.share.first; }
    std::size_t end() const { return Single ? 1 : s.share.end; }
    std::size_t first_group() const { return Single ? 0 : s.share.first_group; }
    std::size_t end_group() const { return Single ? 1 : s.share.end_group; }
    std::size_t sums() const { return Single ? 0 : m.shape.sums; }
    bool alone() const { return Single || s.journal == nullptr; }

    /// Looks at a row: its products with all lanes and its squared length. A row whose squared
    /// length overflows comes back divided by its `size`; one that underflows counts as zero.
    const Row& look(const Row& x) {
        size = 1;
        measured = none;
        squared = space.look(x);
        if (squared < std::numeric_limits<T>::min()) squared = 0;
        return squared <= std::numeric_limits<T>::max() ? x : rescale(x);
    }

    /// The constant feature is a fifth as long as the first row that is not zero, and at most 1. A
    /// longer one would take most of a step on short rows.
    [[gnu::noinline]] void size_intercept() {
        if (squared == 0) return;
        const double scale = std::min(1.0, 0.2 * size * std::sqrt(squared)), prior = scale * scale;
        const auto begun = [&](double variance) { return 1 / (1 / variance - 1 + 1 / prior); };
        for (std::size_t k = first(); k < end(); ++k) {
            m.bias_variance[k] = begun(m.bias_variance[k]);
            m.bias_prior[k] = prior;
        }
        for (std::size_t g = first_group(); g < end_group() && !m.full.empty(); ++g)
            m.full[g].set_intercept(begun(m.full[g].intercept()));
    }

    /// Scores of the last weights for the row just looked at.
    void predict() {
        const std::size_t n = end();
        if (sums() == 0) {
            AGGRO_LANES
            for (std::size_t k = first(); k < n; ++k)
                s.scores[k] = size * static_cast<double>(s.dot[k]) + m.bias[k];
            return;
        }
        for (std::size_t k = first(); k < n; ++k)
            s.scores[k] = combine(k, m.mix[k].scale, m.mix[k].own, m.mix[k].rest) + m.bias[k];
    }

    /// Puts the scores of what predicts in the place of those of the last weights.
    void score_predictor(const Row& x) {
        if (!score_mean(x)) return;
        const std::size_t each = m.shape.outputs / m.shape.models;
        for (std::size_t k = first(); k < end(); ++k)
            if (best_rival(m.record, k / each) == 0) s.scores[k] = s.means[k];
    }

    /// Fills `means` with the scores of the average or the reservoir; false if there is none.
    bool score_mean(const Row& x) {
        if (m.shape.averages() && counters.averaged > 0) return score_average(x), true;
        if (m.shape.predictor == Predictor::reservoir) return score_reservoir(x), true;
        return false;
    }

    void score_average(const Row& x) {
        const double rounds = averaged_weight(m.shape, counters);
        dot_block(x, m.trail, s.coef);
        for (std::size_t k = first(); k < end(); ++k) {
            const Mixture& mix = m.mix[k];
            const double sum = combine(k, mix.scale_sum, mix.own_sum, mix.rest_sum) +
                               size * static_cast<double>(s.coef[k]) + m.bias_sum[k];
            s.means[k] = sum / rounds;
        }
        clear(s.coef);
    }

    void score_reservoir(const Row& x) {
        dot_block(x, m.pool_mean, s.coef);
        s.means = s.scores;  // until the reservoir holds a classifier
        for (std::size_t g = 0; g < m.groups.size(); ++g)
            for (std::size_t k = m.groups[g].first;
                 m.pool_fill[g] > 0 && k < m.groups[g].first + m.groups[g].count; ++k)
                s.means[k] = size * static_cast<double>(s.coef[k]) + m.pool_mean_bias[k];
        clear(s.coef);
    }

    void dot_block(const Row& x, const Block<T>& block, std::vector<T>& out) {
        if constexpr (Single)
            out[0] = glance(x, block.data()).dot;
        else
            dot_lanes(x, block.data() + first(), block.stride(),
                      std::min(s.share.lanes, block.stride()), out.data() + first());
    }

    /// Predict, suffer, step for one group: fills the coefficients of its lanes.
    [[gnu::always_inline]] void learn_group(std::size_t index, const Row& x, const Target& y,
                                            double weight) {
        const Group& g = m.groups[index];
        double* tau = s.tau.data() + g.first;
        const double* scores = s.scores.data() + g.first;
        const auto length = [&] { return this->length(index, x); };
        const auto rounding =
            rounding_of<T>(x.size, [this, &g, &x](std::size_t k) { return reach(g.first + k, x); });
        Verdict verdict = judge(g, price(g, weight), y, scores, length, rounding, tau, s.ranking);
        count(index, verdict);
        const bool pulls = g.gamma > 0 || m.shape.queue > 1;
        const bool moves = pulls && (verdict.suffers || g.always) && !infeasible(g, length);
        if (m.shape.reservoir > 0 && (verdict.moves || moves)) offer(m, index);
        if (moves) {
            centre(index, x);
            verdict = judge(g, price(g, weight / (1 + g.gamma)), y, scores, length, rounding, tau,
                            s.ranking);
        }
        if (!verdict.moves && !moves) return;
        ++m.tally.updates[index];
        m.tally.last_update[index] = counters.examples + 1;
        if (verdict.moves) move(index, x, verdict.kappa);
    }

    /// The same for independent outputs, all at once: the loops are over lanes.
    void learn_lanes(const Row& x, const Target& y, double weight) {
        const std::size_t n = end();
        const double constant = m.shape.intercept ? 1 / size : 0;
        AGGRO_LANES
        for (std::size_t k = first(); k < n; ++k) {
            const double v = Diagonal ? static_cast<double>(s.length[k]) : squared;
            lanes.length[k] = size * v + m.bias_variance[k] * constant;
        }
        const auto rounding =
            rounding_of<T>(x.size, [this, &x](std::size_t k) { return reach(k, x); });
        lanes.judge(y, s.scores.data(), weight, size, s.tau.data(), m.targets, rounding);
        const auto now = counters.examples + 1;
        std::int64_t moving = 0, overflows = 0;
        AGGRO_LANES
        for (std::size_t k = first(); k < n; ++k) {
            const double tau = s.tau[k];
            const std::int64_t moves = tau != 0;
            moving += moves;
            overflows += !(std::abs(tau) + lanes.loss[k] <= std::numeric_limits<T>::max());
            m.tally.loss[k] += lanes.loss[k];
            m.tally.mistakes[k] += static_cast<std::int64_t>(lanes.wrong[k]);
            m.tally.updates[k] += moves;
            m.tally.last_update[k] = moves ? now : m.tally.last_update[k];
        }
        if (overflows > 0)
            throw BadExample("its score or step overflows; scale the features or the target");
        if (!alone())
            write_journal();
        else if (counters.frozen)
            ;  // rows that were learned before are not judged
        else if (lanes.models)
            write_records(m.record, m.memory, lanes.wrong.data(), lanes.loss.data());
        else
            add_losses(m, lanes.loss.data());
        if (moving > 0) move_lanes(weight);
    }

    void write_journal() {
        const std::size_t n = end() - first();
        std::copy_n(lanes.loss.data() + first(), n, s.journal->losses(entry) + first());
        if (lanes.models)
            std::copy_n(lanes.wrong.data() + first(), n, s.journal->votes(entry) + first());
    }

    /// Turns all tau into coefficients.
    void move_lanes(double weight) {
        const std::size_t n = end();
        const double constant = m.shape.intercept ? 1 / size : 0;
        AGGRO_LANES
        for (std::size_t k = first(); k < n; ++k) {
            const double tau = s.tau[k];
            s.coef[k] = static_cast<T>(tau);
            m.bias[k] += tau * m.bias_variance[k] * constant;
        }
        if (m.trail.stride() > 0)
            for (std::size_t k = first(); k < n; ++k)
                s.trail_coef[k] = static_cast<T>(-m.mix[k].scale_sum * s.tau[k]);
        for (std::size_t k = first(); Diagonal && k < n; ++k) {
            const double kappa = s.tau[k] != 0 ? lanes.kappa_of(k, weight) : 0;
            s.kappa[k] = sharpness(kappa);
            if (m.shape.intercept) sharpen_bias(k, kappa);
        }
        pending = true;
    }

    /// The growth of the precision in units of the row; never infinite, for its zeros' sake.
    T sharpness(double kappa) const {
        return static_cast<T>(
            std::min(kappa * size * size, static_cast<double>(std::numeric_limits<T>::max())));
    }

    /// The precision of the intercept grows, and a share of what it was is forgotten.
    void sharpen_bias(std::size_t k, double kappa) {
        if (kappa == 0) return;
        double& v = m.bias_variance[k];
        v /= 1 + m.shape.forgetting * (v / m.prior(k) - 1) + kappa * v;
    }

    /// What was lost before learning.
    void count(std::size_t index, const Verdict& verdict) {
        if (!std::isfinite(verdict.loss))
            throw BadExample("its score overflows; scale the features or the target");
        m.tally.loss[index] += verdict.loss;
        m.tally.mistakes[index] += verdict.wrong;
        if (!alone())
            s.journal->losses(entry)[index] = verdict.loss;
        else if (m.groups[index].task != Task::tube && !counters.frozen)
            add_loss(m.record, m.model_of[index], verdict.loss);
    }

    const Rule& price(const Group& g, double weight) {
        if (weight == 1 && size == 1 && m.shape.spreads == 0) return g.rule;
        return priced = widened(g, g.rule.priced(weight).rescaled(size));
    }

    /// The rule with its tube in units of the targets' spread, where that is asked for.
    [[gnu::noinline]] Rule widened(const Group& g, Rule rule) const {
        if (m.shape.spreads > 0) rule.epsilon *= m.targets.deviation(g.positive);
        return rule;
    }

    [[gnu::noinline]] void measure_targets(const Target& y) {
        ++m.targets.rows[0];
        for (std::size_t c = 0; c < m.shape.spreads; ++c) m.targets.meet(c, y.values[c]);
    }

    /// Lets the row just looked at, and its targets, count in the unit of C.
    [[gnu::noinline]] void measure_unit(const Target& y) {
        m.unit.meet_row(squared, size, m.shape.intercept ? m.prior(first()) : 0);
        if (m.groups[0].task != Task::tube) return;
        for (std::size_t g = 0; g < m.groups_per_model(); ++g)
            m.unit.meet_answer(y.values[m.groups[g].positive]);
    }

    /// A hard constraint on a row of zeros cannot be met: leave everything as it is.
    template <class Length>
    bool infeasible(const Group& g, Length&& length) const {
        return g.rule.cap == infinity && g.rule.ridge == 0 && length() == 0;
    }

    /// x' Sigma x with the constant feature, in units of the row (x / size).
    [[gnu::always_inline]] double length(std::size_t index, const Row& x) {
        const std::size_t k = m.groups[index].first;
        if (m.shape.metric == Metric::full) {
            if (measured != index) full_length = size * m.full[index].look(x, size);
            measured = index;
            return full_length;
        }
        const double v = Diagonal ? static_cast<double>(s.length[k]) : squared;
        return size * v + (m.shape.intercept ? m.bias_variance[k] / size : 0);
    }

    /// <scale u_k + own S_k + rest (S_total - S_k), x> for the row just looked at.
    double combine(std::size_t k, double scale, double own, double rest) const {
        double value = scale * static_cast<double>(s.dot[k]);
        if (own != 0 || rest != 0) {
            const auto sum = static_cast<double>(s.dot[m.shape.outputs + m.own_sum[k]]);
            value += own * sum;
            if (m.shape.total) value += rest * (static_cast<double>(s.dot[m.total_lane()]) - sum);
        }
        return size * value;
    }

    /// The size of the terms that make score k of the row just looked at.
    [[gnu::noinline]] double reach(std::size_t k, const Row& x) const {
        const auto lane = [&](std::size_t l) {
            return reach_of(x, m.weights.data() + l, m.weights.stride());
        };
        const Mixture& mix = m.mix[k];
        const double own = std::abs(mix.own), rest = std::abs(mix.rest);
        double total = std::abs(mix.scale) * lane(k);
        if (own + rest > 0) total += (own + rest) * lane(m.shape.outputs + m.own_sum[k]);
        if (rest > 0 && m.shape.total) total += rest * lane(m.total_lane());
        return size * total + std::abs(m.bias[k]);
    }

    /// The example joins the sums of its classes; the weights made of those sums stay the same.
    void meet(const Row& x, const Target& y, double weight) {
        const auto member = [&](std::size_t c) { return y.sign(sum_class(c)) > 0; };
        if (!m.means.emphasis.empty()) weight *= m.means.emphasis[0];
        read_sums();
        absorb(m, weight, size * size * squared, s.sums.data(), member);
        if (!std::isfinite(m.means.total.norm))
            throw BadExample("the norm of its class sum overflows; scale the features");
        const double grown = weight * size;
        for (std::size_t c = 0; c < m.shape.sums; ++c)
            s.plain[m.shape.outputs + c] = static_cast<T>(member(c) ? grown : 0);
        if (m.shape.total) s.plain[m.total_lane()] = static_cast<T>(grown);
        if (!m.lazy_means()) {
            add_sums(x);
            space.add(x, m.weights.data(), m.weights.stride(), s.plain);
            return clear(s.plain);
        }
        for (std::size_t k = 0; k < m.shape.outputs; ++k) {
            const Mixture& mix = m.mix[k];
            const bool own = member(m.own_sum[k]);
            s.plain[k] = static_cast<T>(-(own ? mix.own : mix.rest) * grown / mix.scale);
            s.trail_plain[k] = static_cast<T>(-(own ? mix.own_sum : mix.rest_sum) * grown -
                                              mix.scale_sum * static_cast<double>(s.plain[k]));
        }
        pending = true;
    }

    /// Adds to the class sums what waits for them, where rounding would wear them out.
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

    /// The class that a class sum belongs to: one margin counts its positives only.
    std::size_t sum_class(std::size_t c) const {
        return m.shape.sums == 1 ? m.groups[0].positive : c;
    }

    void read_sums() {
        for (std::size_t c = 0; c < s.sums.size(); ++c)
            s.sums[c] = m.shape.outputs + c < m.lanes
                            ? size * static_cast<double>(s.dot[m.shape.outputs + c])
                            : 0;
    }

    /// Moves the group to its centre and makes `scores` those of the centre.
    void centre(std::size_t index, const Row& x) {
        const Group& g = m.groups[index];
        if (m.shape.queue > 1) {
            queue_centre(m, index);
            space.look(x);
            return predict();
        }
        const double gamma = g.gamma, share = 1 / (1 + gamma);
        if (m.counters.frozen) read_sums();
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

    /// Turns the group's tau into coefficients of its lanes.
    void move(std::size_t index, const Row& x, double kappa) {
        const Group& g = m.groups[index];
        if (m.shape.metric == Metric::full) {
            const double v = length(index, x) / size;
            move_along_image(index);
            measured = none;
            return m.full[index].shrink(kappa * size * size, v);
        }
        for (std::size_t k = g.first; k < g.first + g.count; ++k) {
            set_coef(k, s.tau[k]);
            if (Diagonal) s.kappa[k] = sharpness(kappa);
            if (!m.shape.intercept) continue;
            m.bias[k] += s.tau[k] * m.bias_variance[k] / size;
            if (Diagonal) sharpen_bias(k, kappa);
        }
        pending = true;
    }

    void set_coef(std::size_t k, double tau) {
        s.coef[k] = static_cast<T>(tau / m.mix[k].scale);
        if (!std::isfinite(s.coef[k]))
            throw BadExample("its step overflows; scale the features or the target");
        if (m.trail.stride() > 0)
            s.trail_coef[k] = static_cast<T>(-m.mix[k].scale_sum * tau / m.mix[k].scale);
    }

    /// The full metric moves every feature of one group, along the image Sigma x just computed.
    void move_along_image(std::size_t index) {
        const Group& g = m.groups[index];
        const Aligned<T>& g_image = m.full[index].image();
        const DenseRow<T> image{g_image.data(), m.shape.features};
        for (std::size_t k = g.first; k < g.first + g.count; ++k) {
            set_coef(k, s.tau[k]);
            if (m.shape.intercept)
                m.bias[k] += s.tau[k] * static_cast<double>(g_image[m.shape.features]);
        }
        space.add(image, m.weights.data(), m.weights.stride(), s.coef);
        if (m.trail.stride() > 0) space.add(image, m.trail.data(), m.lanes, s.trail_coef);
        clear(s.coef);
        clear(s.trail_coef);
    }

    /// Applies all coefficients in one walk over the row.
    void step(const Row& x) {
        if (!pending) return;
        pending = false;
        step_only(x);
        if constexpr (Diagonal) {
            space.sharpen(x);
            clear(s.kappa);
        }
        if (Single || !m.lazy_means()) return;
        for (const Group& g : m.groups) fold_if_worn(m, g);
    }

    /// Moves the lanes by their coefficients, and forgets these.
    [[gnu::always_inline]] void step_only(const Row& x) {
        if (m.news.stride() > 0) count_news(x);
        if (m.trail.stride() > 0) {
            space.step(x, m.trail.data(), m.lanes, s.trail_coef, s.trail_plain);
            clear(s.trail_coef);
            clear(s.trail_plain);
        }
        if (sums() > 0) add_sums(x);
        space.step(x, m.weights.data(), m.weights.stride(), s.coef, s.plain);
        clear(s.coef);
        if (sums() > 0) clear(s.plain);
    }

    /// Counts the step for each weight that it moves: what a merge goes by.
    [[gnu::noinline]] void count_news(const Row& x) {
        s.active.clear();
        for (std::size_t k = first(); k < end(); ++k)
            if (s.coef[k] != T(0)) s.active.push_back(k);
        for (const std::size_t k : s.active) m.bias_news[k] += 1;
        for (std::size_t i = 0; i < x.size; ++i) {
            if (x.values[i] == T(0)) continue;
            T* line = m.news.row(x.feature(i));
            for (const std::size_t k : s.active) line[k] += T(1);
        }
    }

    static void clear(std::vector<T>& lanes) { std::fill(lanes.begin(), lanes.end(), T(0)); }

    /// Judges what the model predicts before it learns the example. The loss is another matter:
    /// it is suffered by the last weights, which learn from it.
    [[gnu::always_inline]] void record(const Row& x, const Target& y) {
        if (counters.frozen) return;  // a row that was learned before is no fair test
        const double* last = s.scores.data();
        const bool mean = m.shape.predictor != Predictor::last && score_mean(x);
        const Votes votes{mean ? s.means.data() : last, last};
        if (alone()) return write_record(m, votes, y);
        for (std::size_t rival = 0; rival < m.shape.rivals(); ++rival)
            std::copy_n(votes[rival] + first(), end() - first(),
                        s.journal->votes(entry, rival) + first());
    }

    void average_round(std::int64_t rounds) {
        if (m.trail.stride() == 0 || counters.examples <= m.average_from) return;
        const double n = count_rounds(m.shape, counters, rounds);
        for (std::size_t k = first(); k < end(); ++k) {
            Mixture& mix = m.mix[k];
            mix.scale_sum += n * mix.scale;
            mix.own_sum += n * mix.own;
            mix.rest_sum += n * mix.rest;
            m.bias_sum[k] += n * m.bias[k];
        }
    }

    [[gnu::noinline]] const Row& rescale(const Row& x) {
        s.values.assign(x.values, x.values + x.size);
        T largest = 0;
        for (std::size_t k = 0; k < x.size; ++k) {
            const T v = s.values[k];
            if (!std::isfinite(v))
                throw BadExample("feature " + std::to_string(x.feature(k)) + " is " +
                                 (std::isnan(v) ? "NaN" : "infinite (inf)"));
            largest = std::max(largest, std::abs(v));
        }
        for (T& v : s.values) v /= largest;
        size = static_cast<double>(largest);
        scaled = x;
        scaled.values = s.values.data();
        squared = space.look(scaled);
        return scaled;
    }

    Model<T>& m;
    Scratch<T>& s;
    Space<T, Row, Single, Diagonal> space;
    Counters& counters;
    LaneRules lanes;
    std::size_t entry = 0;  ///< examples learned, each an entry of the journal
    double size = 1;        ///< the row is size * x; 1 but for rows of extreme norm
    double squared = 0;     ///< ||x||^2
    Row scaled{};           ///< x / size, where that was needed
    Rule priced;            ///< the group's rule at this example's weight
    bool pending = false;   ///< some coefficient waits to be applied
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t measured = none;  ///< the group whose full metric has seen this row
    double full_length = 0;
};

}  // namespace aggro
