// The learning step for kernel models: f = sum_i a_i k(x_i, .), with a budget (docs/algorithms.md,
// "Kernels and budgets").
//
// The kernel values of a block of examples with all support vectors are computed together. Then the
// examples are learned one by one (or batch by batch) from their rows of kernel values, to which
// every new support vector adds a column. The intercept is the kernel k + 1: it counts in the norm,
// and is the sum of coefficients.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernel/block.hpp"
#include "kernel/budget.hpp"
#include "linear/model.hpp"
#include "qp/batch.hpp"
#include "rows/examples.hpp"

namespace aggro {

/// The immutable options of a model.
struct KernelShape {
    std::size_t features = 0, outputs = 1;
    KernelFunction kernel;
    bool intercept = true;
    bool average = false;    ///< predict with the mean over all rounds
    Vote vote = Vote::each;  ///< definition of a mistake
    std::size_t budget = 0;  ///< 0: none
    Forget forget = Forget::simple;

    double shift() const { return intercept ? 1.0 : 0.0; }
};

/// Counts of a model: predictions are evaluated before each example is learned.
struct KernelHistory {
    std::int64_t examples = 0, mistakes = 0, updates = 0;
    std::int64_t ties = 0;  ///< scores of zero, which predict the first of two classes
    double loss = 0;
};

/// The coefficients, the state of the budget and the history. The support vectors themselves are in
/// a separate store.
struct KernelModel {
    KernelShape shape;
    std::vector<Group> groups;
    Expansion expansion;
    Budget budget;
    KernelHistory history;
    bool frozen = false;  ///< rows are known already: mistakes are not counted

    KernelModel(const KernelShape& s, std::vector<Group> g)
        : shape(s),
          groups(std::move(g)),
          expansion(s.outputs, s.average),
          budget(s.budget, s.forget) {}
};

/// Learns blocks of examples.
template <class Store>
class KernelLearn {
  public:
    KernelLearn(KernelModel& model, Store& support)
        : m(model), e(model.expansion), store(support) {}

    void operator()(KernelBlock<Store>& block, std::size_t batch_size) {
        for (std::size_t first = 0; first < block.rows; first += batch_size)
            learn_batch(block, first, std::min(block.rows, first + batch_size));
    }

    std::size_t current = 0;    ///< current example of the block, for error messages
    double* margins = nullptr;  ///< output for the next scores of the predictor, or null

  private:
    /// Predict, evaluate the loss and step for the examples first .. last of a block.
    void learn_batch(KernelBlock<Store>& block, std::size_t first, std::size_t last) {
        const std::size_t count = last - first;
        if (scores.size() < count * e.stride) scores.resize(count * e.stride);
        taus.assign(count * e.stride, 0.0);
        for (std::size_t j = 0; j < count; ++j)
            predict(block, first + j, scores.data() + j * e.stride);
        for (std::size_t j = 0; j < count; ++j)
            write_down(block.targets[first + j], votes(block, first, j));
        for (const Group& g : m.groups) learn_group(g, block, first, count);
        step(block, first, count);
        m.history.examples += static_cast<std::int64_t>(count);
    }

    void predict(const KernelBlock<Store>& block, std::size_t r, double* s) {
        current = r;
        e.score(block.kernel(r), e.coefs.data(), s);
        const bool fine = std::all_of(s, s + e.outputs, [](double v) { return std::isfinite(v); });
        if (!fine || !std::isfinite(block.self[r]))
            throw BadExample("its kernel values overflow; scale the features");
    }

    /// Return the scores of the predictor: the last coefficients or their mean over all rounds. The
    /// loss is computed from the last coefficients.
    const double* votes(const KernelBlock<Store>& block, std::size_t first, std::size_t j) {
        const double* last = scores.data() + j * e.stride;
        if (!e.average || m.history.examples == 0) return last;
        vote.resize(e.stride);
        e.score(block.kernel(first + j), e.shifts.data(), vote.data());
        for (std::size_t k = 0; k < e.outputs; ++k)
            vote[k] = last[k] - vote[k] / static_cast<double>(m.history.examples);
        return vote.data();
    }

    /// Count the prediction of an example before it is learned.
    void write_down(const Target& target, const double* predicted) {
        if (!m.frozen) {
            m.history.mistakes += is_wrong(target, predicted);
            m.history.ties +=
                e.outputs == 1 && m.groups[0].task == Task::margin && predicted[0] == 0;
        }
        if (margins) margins = std::copy_n(predicted, e.outputs, margins);
    }

    /// Return whether the highest output, or any output, is wrong. Regressors make no mistakes.
    bool is_wrong(const Target& target, const double* s) const {
        if (gives_value(m.groups[0].task)) return false;
        if (m.shape.vote == Vote::argmax || picks_class(m.groups[0].task))
            return std::max_element(s, s + e.outputs) - s != target.label;
        return std::any_of(m.groups.begin(), m.groups.end(), [&](const Group& g) {
            return (s[g.first] > 0) != (target.sign(g.positive) > 0);
        });
    }

    void learn_group(const Group& g, KernelBlock<Store>& block, std::size_t first,
                     std::size_t count) {
        bool acts = false;
        for (std::size_t j = 0; j < count; ++j) acts |= evaluate_at(g, block, first, j).moves;
        if (!acts) return;
        if (count > 1) solve(g, block, first, count);
        for (std::size_t j = 0; j < count; ++j) m.history.updates += moves(j, g.first, g.count);
    }

    /// Return the loss of example j before the batch is learned, and the step for it alone.
    Outcome evaluate_at(const Group& g, const KernelBlock<Store>& block, std::size_t first,
                        std::size_t j) {
        const std::size_t at = j * e.stride + g.first, r = current = first + j;
        const auto rounding = rounding_of<double>(
            e.size(), [&](std::size_t k) { return reach(block, r, g.first + k); });
        const Outcome outcome = evaluate(
            g, g.rule.scaled_C(block.weights[r]), block.targets[r], scores.data() + at,
            [&] { return block.self[r]; }, rounding, taus.data() + at, ranking);
        if (!std::isfinite(outcome.loss))
            throw BadExample("its score overflows; scale the features or the target");
        m.history.loss += outcome.loss;
        return outcome;
    }

    /// Return the magnitude of the terms of a score, from their lengths: rounding of an inner
    /// product is magnified by a power or an exponential.
    double reach(const KernelBlock<Store>& block, std::size_t r, std::size_t k) const {
        constexpr double magnified = 8;
        const double* values = block.kernel(r);
        double total = 0;
        for (std::size_t i = 0; i < e.size(); ++i) {
            const double size = std::sqrt(std::abs(e.self[i] * block.self[r]));
            total += std::abs(e.coef(i)[k]) * std::max(size, std::abs(values[i]));
        }
        return magnified * total;
    }

    bool moves(std::size_t j, std::size_t from, std::size_t count) const {
        const double* tau = taus.data() + j * e.stride + from;
        return std::any_of(tau, tau + count, [](double t) { return t != 0; });
    }

    /// Compute the steps of a batch jointly.
    void solve(const Group& g, KernelBlock<Store>& block, std::size_t first, std::size_t count) {
        block.need_inner(m.shape.kernel, m.shape.shift());
        gram.resize(count * count);
        group_scores.resize(count * g.count), group_taus.resize(count * g.count);
        rules.clear();
        for (std::size_t j = 0; j < count; ++j) {
            rules.push_back(g.rule.scaled_C(block.weights[first + j]));
            for (std::size_t k = 0; k < count; ++k)
                gram[j * count + k] = block.inner(first + j, first + k);
            std::copy_n(scores.data() + j * e.stride + g.first, g.count,
                        group_scores.data() + j * g.count);
        }
        const auto reach_at = [&](std::size_t j, std::size_t k) {
            return reach(block, first + j, g.first + k);
        };
        const BatchProblem problem{count,
                                   gram.data(),
                                   group_scores.data(),
                                   block.targets.data() + first,
                                   rules.data(),
                                   reach_at,
                                   std::numeric_limits<double>::epsilon(),
                                   doubtful<double>,
                                   static_cast<double>(e.size())};
        step_batch(g, problem, group_taus.data(), work);
        for (std::size_t j = 0; j < count; ++j)
            std::copy_n(group_taus.data() + j * g.count, g.count,
                        taus.data() + j * e.stride + g.first);
    }

    /// Add the coefficients; examples with a step become support vectors, if they are not yet.
    void step(KernelBlock<Store>& block, std::size_t first, std::size_t count) {
        newcomers.clear();
        const auto rounds = static_cast<double>(m.history.examples);
        for (std::size_t j = 0; j < count; ++j) {
            const double* tau = taus.data() + j * e.stride;
            if (!moves(j, 0, e.outputs)) continue;
            current = first + j;
            for (std::size_t k = 0; k < e.outputs; ++k)
                if (!std::isfinite(tau[k]))
                    throw BadExample("its step overflows; scale the features or the target");
            const auto known = e.slots.find(block.ids[first + j]);
            if (known == e.slots.end())
                remember(block, first, first + j, tau, rounds);
            else
                e.add(known->second, tau, rounds),
                    newcomers.push_back({known->second, block.kernel(first + j)});
        }
        if (newcomers.empty()) return;
        if (m.budget.exceeded_by(e.size())) forget(block, first);
        m.budget.finish_batch(e);
    }

    void remember(KernelBlock<Store>& block, std::size_t first, std::size_t r, const double* tau,
                  double rounds) {
        m.budget.take_in(block.kernel(r), block.self[r]);
        const std::size_t slot = e.append(block.ids[r], block.self[r]);
        e.add(slot, tau, rounds);
        store.append(block.examples, r);
        block.need_inner(m.shape.kernel, m.shape.shift());
        block.add_column(slot, r, first);
        newcomers.push_back({slot, block.kernel(r)});
    }

    void forget(KernelBlock<Store>& block, std::size_t first) {
        m.budget.protect(newcomers, e);
        while (m.budget.exceeded_by(e.size())) {
            const std::size_t gone = m.budget.choose(e), last = e.size() - 1;
            for (const auto& [slot, share] : m.budget.shares) {
                if (!std::isfinite(share))
                    throw BadExample(
                        "the kernel is not positive, so that projection has no solution here; "
                        "use budget_strategy='oldest', or another kernel");
                e.transfer(gone, slot, share);
            }
            m.budget.removed(gone, e);
            e.remove(gone);
            store.remove(gone);
            block.move_column(last, gone, first);
        }
    }

    KernelModel& m;
    Expansion& e;
    Store& store;
    BatchWork work;
    Ranking ranking;
    std::vector<double> scores, taus;  ///< of a batch: examples x stride
    std::vector<double> vote;          ///< of one example
    std::vector<double> gram, group_scores, group_taus;
    std::vector<Rule> rules;
    std::vector<Newcomer> newcomers;
};

}  // namespace aggro
