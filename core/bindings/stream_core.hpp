// A stream learner with its lock: learns and predicts dicts, one at a time.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "guard.hpp"
#include "linear/add_classes.hpp"
#include "stream_state.hpp"

namespace aggro {

namespace nb = nanobind;

/// A model with its lock; a failing call leaves it unchanged.
class Stream {
  public:
    Stream(bool regression, const Bounds& bounds) : regression_(regression), bounds_(bounds) {}

    // -- learning and predicting --------------------------------------------------------------

    /// Learn an example; if margins are recorded, Python does both.
    void learn_or_record(nb::handle self, nb::handle x, nb::handle y, double weight) {
        if (records_margins)
            self.attr("_learn_and_record")(x, y, weight);
        else
            learn(self, x, y, weight);
    }

    void learn(nb::handle self, nb::handle x, nb::handle y, double weight) {
        const Writer writer(*this);
        reading_.read(x, known_.features, bounds_.buckets());
        if (!(weight >= 0) || std::isinf(weight))
            throw nb::value_error("w must be zero or more, and finite: it multiplies C.");
        double target = 0;
        std::int64_t label = -1;
        if (regression_)
            target = number_of(y, [] { return std::string("y"); });
        else
            label = known_.classes.find(y, Vocabulary::hash_of(y));
        if (weight == 0) return;
        check_norm(self);
        const bool new_class = !regression_ && label < 0;
        if (known_.selects()) return learn_in_selection(self, y, label, target, weight);
        if (!new_class && cannot_fail(target, weight)) return take_in(label, target, weight);
        all_or_nothing(new_class && known_.classes.size() > 0, [&] {
            if (new_class) label = add_class(self, y);
            known_.waiting.extreme = true;
            take_in(label, target, weight);
        });
    }

    nb::object predict(nb::handle self, nb::handle x) {
        Reader reader(*this);
        const StreamRow row = reader.read(x);
        const std::size_t classes = known_.classes.size();
        if (classes == 0 && !regression_) return nb::none();
        std::vector<double> kept;
        const std::span<const double> scores = scores_of(self, row, kept);
        if (regression_) return nb::float_(scores[0]);
        const auto best = classes == 2
                              ? std::ptrdiff_t{scores[0] > 0}
                              : std::max_element(scores.begin(), scores.end()) - scores.begin();
        return nb::borrow(known_.classes.name(static_cast<std::size_t>(best)));
    }

    /// Return the classes and the scores of the outputs under one lock.
    nb::tuple margins(nb::handle self, nb::handle x) {
        Reader reader(*this);
        std::vector<double> kept;
        const std::span<const double> found = scores_of(self, reader.read(x), kept);
        const std::vector<double> scores(found.begin(), found.end());
        return nb::make_tuple(classes(), scores);
    }

    /// Return the contribution of each item of x to the scores: items x outputs.
    nb::ndarray<nb::numpy, double> contributions(nb::handle self, const nb::dict& x) {
        Reader reader(*this);
        std::vector<double> sums, without;
        if (known_.selects()) scores_of(self, {}, without);
        const std::size_t outputs =
            known_.selects() ? without.size() : known_.model->model.shape.outputs;
        for (const auto& [name, value] : x) {
            nb::dict item;
            item[name] = value;
            const StreamRow row = reader.read(item);
            std::vector<double> added(outputs);
            if (known_.selects()) {
                scores_of(self, row, added);
                for (std::size_t k = 0; k < outputs; ++k) added[k] -= without[k];
            } else {
                known_.add_contributions(row, added.data());
            }
            sums.insert(sums.end(), added.begin(), added.end());
        }
        return to_numpy(std::move(sums), {x.size(), outputs});
    }

    void flush(nb::handle self) {
        const Writer writer(*this);
        if (!known_.selects()) return all_or_nothing(false, [&] { known_.learn_waiting(); });
        if (known_.waiting.size() == 0) return;
        const std::int64_t before = examples();
        const nb::object selection = known_.selection;
        try {
            learn_rows(self, {});
        } catch (...) {
            if (examples() != before)
                known_.waiting = {};
            else
                known_.selection = selection;
            throw;
        }
        known_.waiting = {};
    }

    // -- models of another shape ---------------------------------------------------------------

    /// Replace the model by a single one, with the same classes if there are any.
    void rebuild(const nb::list& classes, const Shape& shape, std::vector<Group> groups,
                 std::vector<std::size_t> own_sum, std::int64_t average_from, double memory,
                 const nb::dict& arrays) {
        const Guard::Hold hold(guard_);
        auto model = std::make_unique<StreamModel>(shape, std::move(groups), std::move(own_sum),
                                                   average_from, memory);
        load(model->model, arrays);
        model->survey();
        Vocabulary names = vocabulary_of(classes);
        replace_model(std::move(model));
        known_.classes = std::move(names);
        known_.selection = nb::none();
        known_.waiting.extreme = true;
    }

    /// Replace the model by a model selection of the Python side.
    void select_models(const nb::list& classes, nb::object selection) {
        const Guard::Hold hold(guard_);
        Vocabulary names = vocabulary_of(classes);
        known_.classes = std::move(names);
        known_.selection = std::move(selection);
    }

    nb::object selection() {
        const Guard::Hold hold(guard_);
        return known_.selection;
    }
    void set_selection(nb::object selection) {
        const Guard::Hold hold(guard_);
        known_.selection = std::move(selection);
    }

    /// Add the first class; the model has an output for two classes already.
    void add_first_class(nb::handle label) {
        const Guard::Hold hold(guard_);
        known_.classes.add(label, Vocabulary::hash_of(label));
    }

    /// Renumber the classes and the labels of waiting examples.
    void renumber_classes(const nb::list& classes, const std::vector<std::size_t>& position) {
        const Guard::Hold hold(guard_);
        Vocabulary names = vocabulary_of(classes);
        for (const std::int64_t label : known_.waiting.labels)
            if (label >= static_cast<std::int64_t>(position.size()))
                throw nb::value_error(
                    "a class of a waiting example is missing from the new classes");
        for (std::int64_t& label : known_.waiting.labels)
            if (label >= 0)
                label = static_cast<std::int64_t>(position[static_cast<std::size_t>(label)]);
        known_.classes = std::move(names);
    }

    /// Add classes to the model; `position[c]` is the new number of class c.
    void add_classes(const nb::list& classes, std::vector<std::size_t> position,
                     std::vector<double> change, const Shape& shape, std::vector<Group> groups,
                     std::vector<std::size_t> own_sum, std::int64_t average_from, double memory) {
        const Guard::Hold hold(guard_);
        auto model = std::make_unique<StreamModel>(shape, std::move(groups), std::move(own_sum),
                                                   average_from, memory);
        aggro::add_classes(model->model, known_.model->model, {position, std::move(change)});
        model->take_extreme_from(*known_.model);
        renumber_classes(classes, position);
        replace_model(std::move(model));
    }

    void resume(const nb::list& names, const nb::dict& arrays) {
        const Guard::Hold hold(guard_);
        known_.resume(names, arrays, bounds_);
    }

    /// Return names, classes and arrays under one lock.
    nb::tuple dump(bool with_model) {
        const Guard::Hold hold(guard_);
        return nb::make_tuple(names(), classes(), known_.arrays(with_model));
    }

    nb::list names() {
        const Guard::Hold hold(guard_);
        return known_.features.list();
    }
    /// Return the slots of features that count as zero.
    std::vector<std::int32_t> ignored() {
        const Guard::Hold hold(guard_);
        return known_.features.all_ignored();
    }
    nb::list classes() {
        const Guard::Hold hold(guard_);
        return known_.classes.list();
    }

    nb::tuple progress() {
        const Guard::Hold hold(guard_);
        return known_.progress();
    }
    nb::tuple weights() {
        const Guard::Hold hold(guard_);
        return known_.weights();
    }

    std::int64_t examples() {
        const Guard::Hold hold(guard_);
        if (known_.selects()) return nb::cast<std::int64_t>(known_.selection.attr("examples"));
        return known_.model->model.counters.examples;
    }
    /// Return the number of examples learned or waiting.
    std::int64_t taken() {
        const Guard::Hold hold(guard_);
        return examples() + static_cast<std::int64_t>(known_.waiting.size());
    }
    std::size_t slots() {
        const Guard::Hold hold(guard_);
        return known_.model->model.shape.features;
    }

    StreamState copy_state() {
        const Guard::Hold hold(guard_);
        return known_.copy();
    }
    void restore_state(const StreamState& knowledge) {
        const Guard::Hold hold(guard_);
        known_ = knowledge.copy();
    }

    Guard& guard() { return guard_; }

    bool records_margins = false;  ///< record the margins of each example before learning it

  private:
    /// Locks the stream for one learning call, against other threads and against Python code that
    /// runs while names and values are read.
    class Writer {
      public:
        explicit Writer(Stream& stream) : hold_(stream.guard_), stream_(stream) {
            if (stream.busy_) reject_nested_call();
            stream.busy_ = true;
        }
        ~Writer() {
            stream_.reading_.fresh.clear();
            stream_.busy_ = false;
        }

      private:
        Guard::Hold hold_;
        Stream& stream_;
    };

    /// Locks the stream for one reading call. The call may be nested in another of the same thread,
    /// in a signal handler, and then uses memory of its own; it raises while slots are assigned.
    class Reader {
      public:
        explicit Reader(Stream& stream)
            : hold_(stream.guard_), stream_(stream), nested_(std::exchange(stream.busy_, true)) {
            if (stream.committing_) reject_nested_call();
        }
        ~Reader() {
            if (nested_) return;
            stream_.reading_.fresh.clear();
            stream_.busy_ = false;
        }

        StreamRow read(nb::handle x) {
            Reading& reading = nested_ ? own_ : stream_.reading_;
            reading.read(x, stream_.known_.features, stream_.bounds_.buckets());
            return reading.row();
        }

      private:
        Guard::Hold hold_;
        Stream& stream_;
        bool nested_;
        Reading own_;
    };

    [[noreturn]] static void reject_nested_call() {
        throw std::runtime_error("the names and values of x must not call the model");
    }

    /// Return whether learning the current example cannot fail half-way.
    bool cannot_fail(double target, double weight) {
        const bool full = known_.waiting.size() + 1 == bounds_.batch_size;
        if (bounds_.batch_size > 1 && (known_.model->hard() || (full && known_.waiting.extreme)))
            return false;
        const auto [largest, q] = reading_.magnitude();
        return largest <= Limits::value && std::abs(target) <= Limits::score &&
               (q == 0 || q >= Limits::shortest) && weight >= Limits::shortest &&
               weight <= Limits::score && known_.model->cannot_overflow(reading_.row());
    }

    /// Reject a row whose squared length overflows, which no mini-batch can learn: in a batch that
    /// waits it would make every later example fail.
    void check_norm(nb::handle self) {
        if (bounds_.batch_size == 1 || std::isfinite(reading_.magnitude().second)) return;
        if (!nb::cast<bool>(self.attr("_scales_rows")))
            throw nb::value_error(
                "this example cannot be learned: its norm overflows, which a mini-batch cannot "
                "handle; scale the features");
    }

    /// Run `body` and undo it if it raises. `replaces`: `body` replaces the model before it changes
    /// anything, so that the model itself can be kept instead of a copy.
    template <class Body>
    void all_or_nothing(bool replaces, Body&& body) {
        StreamState before = replaces ? known_.copy_without_model() : known_.copy();
        before_ = &before;
        try {
            body();
            if (!known_.model->survey())
                throw BadExample("the model overflows; scale the features or the target");
        } catch (const BadExample& bad) {
            undo();
            throw nb::value_error(
                (std::string("this example cannot be learned: ") + bad.what()).c_str());
        } catch (...) {
            undo();
            throw;
        }
        before_ = nullptr;
    }

    void undo() {
        StreamState& before = *std::exchange(before_, nullptr);
        if (!before.model) before.model = std::move(known_.model);  // it was not replaced yet
        known_ = std::move(before);
    }

    /// Replace the model; keep the first one that is replaced for `undo`.
    void replace_model(std::unique_ptr<StreamModel> model) {
        std::swap(known_.model, model);
        if (before_ && !before_->model) before_->model = std::move(model);
    }

    /// Add a new class; the Python side extends the model.
    std::int64_t add_class(nb::handle self, nb::handle label) {
        self.attr("_add_class")(label);
        return known_.classes.find(label, Vocabulary::hash_of(label));
    }

    /// Marks that slots are being assigned; comparing names may run Python code.
    class Committing {
      public:
        explicit Committing(bool& flag) : flag_(flag) { flag_ = true; }
        Committing(const Committing&) = delete;
        ~Committing() { flag_ = false; }

      private:
        bool& flag_;
    };

    Reading::Slots find_slots() {
        const Committing committing(committing_);
        return known_.find_slots(reading_, bounds_);
    }

    // -- a model selection ---------------------------------------------------------------------

    /// State to restore if an example cannot be learned.
    struct Before {
        nb::object selection;
        Vocabulary classes;
        std::vector<std::int64_t> labels;
        std::int64_t examples;
    };

    /// Learn an example in Python; names and classes are added after success. If an interrupt comes
    /// after the rows were learned, the example counts.
    void learn_in_selection(nb::handle self, nb::handle y, std::int64_t label, double target,
                            double weight) {
        const bool new_class = !regression_ && label < 0;
        Before before{known_.selection, {}, {}, examples()};
        if (new_class) before.classes = known_.classes, before.labels = known_.waiting.labels;
        const Reading::Slots found = find_slots();
        Waiting& waiting = known_.waiting;
        const std::size_t waited = waiting.size();
        bool full = false;
        try {
            if (new_class) label = add_class(self, y);
            waiting.add(reading_.row(), label, target, weight);
            full = waiting.size() == bounds_.batch_size;
            if (full || !found.replaced.empty()) learn_rows(self, found.replaced, full);
        } catch (...) {
            if (full && examples() != before.examples) {
                keep(before, found, full);
                throw;
            }
            if (waiting.size() > waited) waiting.drop_last();
            if (new_class) known_.classes = before.classes, waiting.labels = before.labels;
            known_.selection = before.selection;
            throw;
        }
        keep(before, found, full);
    }

    void keep(const Before& before, const Reading::Slots& found, bool learned) {
        if (learned) known_.waiting = {};
        known_.take_slots(reading_, found, bounds_);
        if (known_.selection.is(before.selection)) return;
        for (nb::handle slot : known_.selection.attr("ignored"))
            known_.features.ignore(nb::cast<std::int32_t>(slot));
    }

    /// Forget the features of replaced slots, and learn the waiting rows, in Python.
    void learn_rows(nb::handle self, const std::vector<std::int32_t>& replaced, bool full = true) {
        const Waiting& w = known_.waiting;
        if (!full) return void(self.attr("_forget")(replaced));
        std::vector<std::int64_t> starts{0};
        starts.insert(starts.end(), w.ends.begin(), w.ends.end());
        const bool weighted = std::any_of(w.weights.begin(), w.weights.end(),
                                          [](double weight) { return weight != 1; });
        const auto array = [](auto values) -> nb::object {
            const std::size_t size = values.size();
            return nb::cast(to_numpy(std::move(values), {size}));
        };
        self.attr("_learn_rows")(array(w.values), array(w.slots), array(std::move(starts)),
                                 regression_ ? array(w.targets) : array(w.labels),
                                 weighted ? array(w.weights) : nb::none(), replaced);
    }

    /// Return the scores of the predictor; those of a model selection are stored in `kept`.
    std::span<const double> scores_of(nb::handle self, const StreamRow& row,
                                      std::vector<double>& kept) {
        if (!known_.selects()) return known_.model->scores(row);
        const std::vector<double> values(row.values, row.values + row.size);
        const std::vector<std::int32_t> slots(row.indices, row.indices + row.size);
        kept = nb::cast<std::vector<double>>(
            self.attr("_scores")(to_numpy(values, {row.size}), to_numpy(slots, {row.size})));
        return kept;
    }

    // -- a single model ------------------------------------------------------------------------

    void take_in(std::int64_t label, double target, double weight) {
        {
            const Committing committing(committing_);
            known_.assign_slots(reading_, bounds_);
        }
        const StreamRow x = reading_.row();
        if (bounds_.batch_size == 1)
            return known_.model->learn(x, {label, regression_ ? &target : nullptr}, weight);
        known_.waiting.add(x, label, target, weight);
        if (known_.waiting.size() == bounds_.batch_size) known_.learn_waiting();
    }

    bool regression_;
    Bounds bounds_;
    StreamState known_;
    Reading reading_;
    Guard guard_;
    StreamState* before_ = nullptr;  ///< state to restore if the example cannot be learned
    bool busy_ = false;              ///< a call of this thread is using `reading_`
    bool committing_ = false;        ///< slots are being assigned
};

/// Locks a stream for several calls of one thread.
class StreamLock {
  public:
    explicit StreamLock(Guard& guard) : guard_(guard) {}
    StreamLock(const StreamLock&) = delete;
    void enter() { hold_.emplace(guard_); }
    void leave() { hold_.reset(); }

  private:
    Guard& guard_;
    std::optional<Guard::Hold> hold_;
};

}  // namespace aggro
