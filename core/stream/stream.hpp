// A model that learns one example at a time; its loops and working memory persist between calls.
#pragma once
#include <cmath>
#include <memory>
#include <span>
#include <variant>

#include "linear/minibatch.hpp"

namespace aggro {

/// A row of a stream: features in any order, each at most once.
using StreamRow = SparseRow<double, std::int32_t>;

// Streams use the model and the loops of sparse arrays: linear64.cpp compiles them for both.
#define AGGRO_STREAM_LOOPS(declared)                                                           \
    declared template struct Model<double>;                                                    \
    declared template class Learn<double, StreamRow, true, true>;                              \
    declared template class Learn<double, StreamRow, true, false>;                             \
    declared template class Learn<double, StreamRow, false, true>;                             \
    declared template class Learn<double, StreamRow, false, false>;                            \
    declared template class BatchStep<double, StreamRow>;                                      \
    declared template std::unique_ptr<BatchStep<double, StreamRow>> batch_step(Model<double>&, \
                                                                               Scratch<double>&);
AGGRO_STREAM_LOOPS(extern)

/// Examples of an incomplete mini-batch.
struct Waiting {
    std::vector<double> values, targets, weights;
    std::vector<std::int32_t> slots;
    std::vector<std::int64_t> labels, ends;
    bool extreme = false;  ///< the step of some of them may overflow

    std::size_t size() const { return ends.size(); }

    /// Number of targets of an example: one for each output of independent labels.
    std::size_t width() const { return ends.empty() ? 1 : targets.size() / size(); }

    void add(const StreamRow& x, std::int64_t label, std::span<const double> own, double weight) {
        values.insert(values.end(), x.values, x.values + x.size);
        slots.insert(slots.end(), x.indices, x.indices + x.size);
        ends.push_back(static_cast<std::int64_t>(values.size()));
        labels.push_back(label);
        targets.insert(targets.end(), own.begin(), own.end());
        weights.push_back(weight);
    }

    void drop_last() {
        const std::size_t width = this->width();
        ends.pop_back();
        labels.pop_back();
        targets.resize(width * ends.size());
        weights.pop_back();
        const std::size_t left = ends.empty() ? 0 : static_cast<std::size_t>(ends.back());
        values.resize(left);
        slots.resize(left);
    }

    /// Give each example the targets of other labels: target k becomes that of label `from[k]`.
    void relabel(const std::vector<std::size_t>& from) {
        std::vector<double> all;
        for (std::size_t i = 0; i < size(); ++i)
            for (const std::size_t k : from) all.push_back(targets[i * width() + k]);
        targets = std::move(all);
    }

    std::vector<Member<StreamRow>> members() const {
        std::vector<Member<StreamRow>> batch;
        std::size_t begin = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            const auto end = static_cast<std::size_t>(ends[i]);
            const StreamRow x{values.data() + begin, slots.data() + begin, end - begin};
            batch.push_back(
                {x, {labels[i], labels[i] < 0 ? &targets[i * width()] : nullptr}, weights[i]});
            begin = end;
        }
        return batch;
    }
};

/// Values beyond these may overflow during a step; within them no step can fail.
struct Limits {
    static constexpr double value = 1e30, squared = 1e60, score = 1e60, shortest = 1e-60,
                            stored = 1e200;
};

/// A learning loop, with a check that its step cannot overflow.
template <bool Single, bool Diagonal>
class StreamLoop {
  public:
    StreamLoop(Model<double>& model, Scratch<double>& scratch)
        : s(scratch), one(model, scratch), space(model, scratch), scores(model, scratch) {}

    void operator()(const StreamRow& x, const Target& y, double weight) { one(x, y, weight); }
    void score(const StreamRow& x) { one.score(x); }

    /// Learn the row that was just given to `cannot_overflow`, whose products are known.
    void learn_checked(const StreamRow& x, const Target& y, double weight) {
        one.learn({x, squared, 1}, y, weight);
    }

    /// Return whether all products of the row with the model are far from overflow.
    bool cannot_overflow(const StreamRow& x) {
        const MeasuredRow<StreamRow> row = space.measure_row(x, true);
        squared = row.squared;
        scores.of_last(row);
        bool fine = row.stretch == 1;
        for (double dot : s.dot) fine &= std::abs(dot) <= Limits::score;
        for (double score : s.scores) fine &= std::abs(score) <= Limits::score;
        for (double v : s.length) fine &= v == 0 || v >= Limits::shortest;
        return fine;
    }

  private:
    Scratch<double>& s;
    Learn<double, StreamRow, Single, Diagonal> one;
    RowOps<double, StreamRow, Single, Diagonal> space;
    Scores<double, StreamRow, Single> scores;
    double squared = 0;
};

class StreamModel {
  public:
    StreamModel(const Shape& shape, std::vector<Group> groups, std::vector<std::size_t> own_sum,
                std::int64_t average_from, double memory)
        : model(shape, std::move(groups), std::move(own_sum)),
          scratch_(model),
          loop_(choose()),
          batch_(batch_step<double, StreamRow>(model, scratch_)),
          scaled_(model.sizes, model.shape.features) {
        model.average_from = average_from;
        model.record.memory = memory;
    }
    StreamModel(const StreamModel&) = delete;  // the loops refer to the model

    /// Scores of the predictor; valid until the next call.
    std::span<const double> scores(const StreamRow& x) {
        const StreamRow row = scaled_.apply(x);
        std::visit([&](auto& loop) { loop.score(row); }, loop_);
        return {scratch_.scores.data(), model.shape.outputs};
    }

    /// Learn an example; `checked` if `cannot_overflow` was just called with the same row.
    void learn(const StreamRow& x, const Target& y, double weight, bool checked) {
        if (checked && model.sizes.kind == Scale::none)
            return std::visit([&](auto& loop) { loop.learn_checked(x, y, weight); }, loop_);
        const StreamRow row = scaled_.learn(x);
        std::visit([&](auto& loop) { loop(row, y, weight); }, loop_);
    }

    void learn(std::vector<Member<StreamRow>> batch) {
        std::vector<Scaled<double, StreamRow>> scaled(batch.size(),
                                                      scaled_);  // the rows must stay valid
        for (std::size_t j = 0; j < batch.size(); ++j) batch[j].x = scaled[j].learn(batch[j].x);
        (*batch_)(batch);
    }

    bool cannot_overflow(const StreamRow& x) {
        const StreamRow row = scaled_.apply(x);
        return !extreme_ && !bold() &&
               std::visit([&](auto& loop) { return loop.cannot_overflow(row); }, loop_);
    }

    /// Return whether C or a similar option is so extreme that a step may overflow.
    bool bold() const {
        const Rule& rule = model.groups.front().rule;
        return rule.kappa > Limits::score || rule.ahead > Limits::score ||
               rule.lo > Limits::score || rule.phi > Limits::value;
    }

    /// Return whether the constraints are hard: contradictory examples of one batch then have
    /// unbounded steps.
    bool hard() const {
        const Rule& rule = model.groups.front().rule;
        return rule.cap == infinity && rule.ridge == 0;
    }

    /// Check for extreme numbers, after a step or a load that may have caused some. Return false if
    /// a number is not finite.
    bool survey() {
        double largest = 0;
        bool finite = true;
        model.visit([&](const char*, Per, auto* data, std::size_t size) {
            if constexpr (std::is_same_v<decltype(data), double*>)
                for (std::size_t i = 0; i < size; ++i) {
                    finite &= std::isfinite(data[i]);
                    largest = std::max(largest, std::abs(data[i]));
                }
        });
        extreme_ = largest > Limits::stored;
        return finite;
    }

    void take_extreme_from(const StreamModel& other) { extreme_ = other.extreme_; }

    std::unique_ptr<StreamModel> copy() {
        auto copy = std::make_unique<StreamModel>(model.shape, model.groups, model.own_sum,
                                                  model.average_from, model.record.memory);
        copy->model = model;
        copy->model.detach();
        copy->extreme_ = extreme_;
        return copy;
    }

    void forget(std::size_t slot) { model.forget(slot); }

    Model<double> model;

  private:
    using Loop = std::variant<StreamLoop<true, false>, StreamLoop<true, true>,
                              StreamLoop<false, false>, StreamLoop<false, true>>;

    Loop choose() {
        const bool single = model.columns == 1;
        if (single && !model.diagonal()) return StreamLoop<true, false>(model, scratch_);
        if (single) return StreamLoop<true, true>(model, scratch_);
        if (!model.diagonal()) return StreamLoop<false, false>(model, scratch_);
        return StreamLoop<false, true>(model, scratch_);
    }

    Scratch<double> scratch_;
    Loop loop_;
    std::unique_ptr<BatchStep<double, StreamRow>> batch_;
    Scaled<double, StreamRow> scaled_;
    bool extreme_ = false;  ///< a number of the model is close to overflow
};

}  // namespace aggro
