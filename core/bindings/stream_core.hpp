// A learner of a stream behind its lock: dicts in, predictions out, one at a time.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "guard.hpp"
#include "linear/add_classes.hpp"
#include "stream_state.hpp"

namespace aggro {

namespace nb = nanobind;

/// A model with its lock; errors leave it as it was.
class Stream {
  public:
    Stream(bool regression, const Bounds& bounds) : regression_(regression), bounds_(bounds) {}

    // -- the two verbs -----------------------------------------------------------------------

    /// Learns an example; where margins are recorded, Python's side does so around it.
    void learn_or_record(nb::handle self, nb::handle x, nb::handle y, double weight) {
        if (records_margins)
            self.attr("_learn_and_record")(x, y, weight);
        else
            learn(self, x, y, weight);
    }

    void learn(nb::handle self, nb::handle x, nb::handle y, double weight) {
        const Turn turn(*this);
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
        const bool first = known_.next_look < 0, stranger = !regression_ && label < 0;
        if (!first && !stranger && !look_is_due() && moderate(target, weight)) {
            take_in(label, target, weight);
        } else {
            all_or_nothing(stranger && known_.classes.size() > 0, [&] {
                look_if_due(self);  // the last look was interrupted
                if (first) self.attr("_begin_race")(x, y);
                if (stranger) label = admit(self, y);
                known_.waiting.extreme = true;
                take_in(label, target, weight);
            });
        }
        look_if_due(self);
    }

    nb::object predict(nb::handle x) {
        Look look(*this);
        const StreamRow row = look.read(x);
        if (known_.classes.size() == 0 && !regression_) return nb::none();
        const std::span<const double> scores = known_.model->scores(row);
        if (regression_) return nb::float_(scores[0]);
        std::size_t best = 0;
        if (known_.classes.size() == 2)
            best = scores[0] > 0;
        else
            best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                            scores.begin());
        return nb::borrow(known_.classes.name(best));
    }

    /// The classes and the scores of the outputs, of the same moment.
    nb::tuple margins(nb::handle x) {
        Look look(*this);
        const std::span<const double> found = known_.model->scores(look.read(x));
        const std::vector<double> scores(found.begin(), found.end());
        return nb::make_tuple(classes(), scores);
    }

    /// What each item of x adds to the scores of the outputs: items x outputs.
    nb::ndarray<nb::numpy, double> contributions(const nb::dict& x) {
        Look look(*this);
        const std::size_t outputs = known_.model->outputs();
        const std::vector<bool> averaged = predicts_by_mean(known_.model->model);
        std::vector<double> sums(x.size() * outputs);
        double* row = sums.data();
        for (const auto& [name, value] : x) {
            nb::dict item;
            item[name] = value;
            known_.add_contributions(look.read(item), averaged, row);
            row += outputs;
        }
        return to_numpy(std::move(sums), {x.size(), outputs});
    }

    void flush() {
        const Turn turn(*this);
        all_or_nothing(false, [&] { known_.learn_waiting(); });
    }

    // -- what was learned --------------------------------------------------------------------

    /// A model of another shape goes on, with the same classes if there are any yet.
    void rebuild(const nb::list& classes, const Shape& shape, std::vector<Group> groups,
                 std::vector<std::size_t> own_sum, std::int64_t average_from, double memory,
                 const nb::dict& arrays, std::vector<double> prices, std::int64_t next_look) {
        const Guard::Hold hold(guard_);
        auto model = std::make_unique<StreamModel>(shape, std::move(groups), std::move(own_sum),
                                                   average_from, memory);
        load(model->model, arrays);
        model->survey();
        Vocabulary names = vocabulary_of(classes);
        replace_model(std::move(model));
        known_.classes = std::move(names);
        known_.prices = std::move(prices);
        known_.next_look = next_look;
    }

    /// The first class: the model is one of two classes already.
    void add_first_class(nb::handle label) {
        const Guard::Hold hold(guard_);
        known_.classes.add(label, Vocabulary::hash_of(label));
    }

    /// The model goes on with more classes; `position[c]` is the new number of class c.
    void add_classes(const nb::list& classes, std::vector<std::size_t> position,
                     std::vector<double> change, const Shape& shape, std::vector<Group> groups,
                     std::vector<std::size_t> own_sum, std::int64_t average_from, double memory) {
        const Guard::Hold hold(guard_);
        auto model = std::make_unique<StreamModel>(shape, std::move(groups), std::move(own_sum),
                                                   average_from, memory);
        Vocabulary names = vocabulary_of(classes);
        for (const std::int64_t label : known_.waiting.labels)
            if (label >= static_cast<std::int64_t>(position.size()))
                throw nb::value_error("a class that waits has no new place");
        aggro::add_classes(model->model, known_.model->model, {position, std::move(change)});
        model->take_extreme_from(*known_.model);
        for (std::int64_t& label : known_.waiting.labels)
            if (label >= 0)
                label = static_cast<std::int64_t>(position[static_cast<std::size_t>(label)]);
        replace_model(std::move(model));
        known_.classes = std::move(names);
    }

    void resume(const nb::list& names, const nb::dict& arrays) {
        const Guard::Hold hold(guard_);
        known_.resume(names, arrays, bounds_);
    }

    /// Names, classes and arrays, of the same moment.
    nb::tuple dump() {
        const Guard::Hold hold(guard_);
        return nb::make_tuple(names(), classes(), known_.arrays());
    }

    nb::list names() {
        const Guard::Hold hold(guard_);
        return known_.features.list();
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
    Records records() {
        const Guard::Hold hold(guard_);
        return known_.records();
    }
    std::size_t chosen() {
        const Guard::Hold hold(guard_);
        return known_.model->chosen();
    }

    std::int64_t examples() {
        const Guard::Hold hold(guard_);
        return known_.model->model.counters.examples;
    }
    /// Examples that were learned or wait.
    std::int64_t taken() {
        const Guard::Hold hold(guard_);
        return examples() + static_cast<std::int64_t>(known_.waiting.size());
    }
    std::size_t slots() {
        const Guard::Hold hold(guard_);
        return known_.model->model.shape.features;
    }
    /// The C of each lane: what the model was built with.
    nb::tuple prices() {
        const Guard::Hold hold(guard_);
        return nb::tuple(nb::cast(known_.prices));
    }
    std::vector<double> unit() {
        const Guard::Hold hold(guard_);
        const auto& known = known_.model->model.unit.known;
        return {known.begin(), known.end()};
    }
    std::int64_t next_look() {
        const Guard::Hold hold(guard_);
        return known_.next_look;
    }
    void set_next_look(std::int64_t examples) {
        const Guard::Hold hold(guard_);
        known_.next_look = examples;
    }

    Knowledge remember() {
        const Guard::Hold hold(guard_);
        return known_.copy();
    }
    void recall(const Knowledge& knowledge) {
        const Guard::Hold hold(guard_);
        known_ = knowledge.copy();
    }

    Guard& guard() { return guard_; }

    bool records_margins = false;  ///< the margins of each example, before it is learned

  private:
    /// The turn of one call that learns: it keeps other threads out, and the code of names and
    /// values that are being read.
    class Turn {
      public:
        explicit Turn(Stream& stream) : hold_(stream.guard_), stream_(stream) {
            if (stream.busy_) refuse();
            stream.busy_ = true;
        }
        ~Turn() {
            stream_.reading_.fresh.clear();
            stream_.busy_ = false;
        }

      private:
        Guard::Hold hold_;
        Stream& stream_;
    };

    /// One call that looks at the model. It may come amid another of the same thread, from a signal
    /// handler, and then reads into memory of its own; but not while features find their slots.
    class Look {
      public:
        explicit Look(Stream& stream)
            : hold_(stream.guard_), stream_(stream), nested_(std::exchange(stream.busy_, true)) {
            if (stream.settling_) refuse();
        }
        ~Look() {
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

    [[noreturn]] static void refuse() {
        throw std::runtime_error("the names and values of x must not use the model themselves");
    }

    /// True if learning what was read cannot fail half-way.
    bool moderate(double target, double weight) {
        const bool full = known_.waiting.size() + 1 == bounds_.batch_size;
        if (bounds_.batch_size > 1 && (known_.model->hard() || (full && known_.waiting.extreme)))
            return false;
        const auto [largest, q] = reading_.magnitude();
        return largest <= Limits::value && std::abs(target) <= Limits::score &&
               (q == 0 || q >= Limits::shortest) && weight >= Limits::shortest &&
               weight <= Limits::score && known_.model->moderate(reading_.row());
    }

    /// Runs `body` and undoes it if it raises. `replaces`: it replaces the model before it changes
    /// anything, so that the model itself can be kept instead of a copy.
    template <class Body>
    void all_or_nothing(bool replaces, Body&& body) {
        Knowledge before = replaces ? known_.copy_without_model() : known_.copy();
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
        Knowledge& before = *std::exchange(before_, nullptr);
        if (!before.model) before.model = std::move(known_.model);  // it was not replaced yet
        known_ = std::move(before);
    }

    /// Goes on with another model; the first that is replaced is kept to be put back.
    void replace_model(std::unique_ptr<StreamModel> model) {
        std::swap(known_.model, model);
        if (before_ && !before_->model) before_->model = std::move(model);
    }

    bool look_is_due() { return known_.next_look > 0 && examples() >= known_.next_look; }
    void look_if_due(nb::handle self) {
        if (look_is_due()) self.attr("_look")();
    }

    /// A class never seen: the Python side says what the model looks like with it.
    std::int64_t admit(nb::handle self, nb::handle label) {
        self.attr("_admit")(label);
        return known_.classes.find(label, Vocabulary::hash_of(label));
    }

    void take_in(std::int64_t label, double target, double weight) {
        settle();
        const StreamRow x = reading_.row();
        if (bounds_.batch_size == 1)
            return known_.model->learn(x, {label, regression_ ? &target : nullptr}, weight);
        known_.waiting.add(x, label, target, weight);
        if (known_.waiting.size() == bounds_.batch_size) known_.learn_waiting();
    }

    /// Gives slots to new features. Their names may be compared, by code of their own.
    void settle() {
        settling_ = true;
        try {
            known_.settle(reading_, bounds_);
        } catch (...) {
            settling_ = false;
            throw;
        }
        settling_ = false;
    }

    bool regression_;
    Bounds bounds_;
    Knowledge known_;
    Reading reading_;
    Guard guard_;
    Knowledge* before_ = nullptr;  ///< what is put back if the example cannot be learned
    bool busy_ = false;            ///< a call of this thread is using `reading_`
    bool settling_ = false;        ///< what is known is between two examples
};

/// Keeps other threads out of a stream for several calls.
class Door {
  public:
    explicit Door(Guard& guard) : guard_(guard) {}
    Door(const Door&) = delete;
    void enter() { hold_.emplace(guard_); }
    void leave() { hold_.reset(); }

  private:
    Guard& guard_;
    std::optional<Guard::Hold> hold_;
};

}  // namespace aggro
