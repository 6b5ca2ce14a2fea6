// The parts of a stream learner with their lock: replaced, copied, and undone.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "guard.hpp"
#include "linear/add_classes.hpp"
#include "linear/select.hpp"
#include "stream_state.hpp"

namespace aggro {

namespace nb = nanobind;

/// The state of a stream: whole parts of it are replaced and copied under its lock.
class StreamParts {
  public:
    StreamParts(bool regression, const Bounds& bounds) : regression_(regression), bounds_(bounds) {}

    // -- models of another shape ---------------------------------------------------------------

    /// Replace the model by a single one, with the same classes if there are any.
    void rebuild(const nb::list& classes, const Shape& shape, std::vector<Group> groups,
                 std::vector<std::size_t> own_sum, std::int64_t average_from, double memory,
                 const nb::dict& arrays) {
        const Change change(*this);
        auto model = std::make_unique<StreamModel>(shape, std::move(groups), std::move(own_sum),
                                                   average_from, memory);
        load(model->model, arrays);
        model->survey();
        Vocabulary names = vocabulary_of(classes);
        replace_model(std::move(model));
        std::swap(known_.classes, names);
        known_.selection = nb::none();
        known_.several = shape.vote == Vote::all;
        known_.waiting.extreme = true;
    }

    /// Replace the model by a model selection of the Python side.
    void select_models(const nb::list& classes, nb::object selection) {
        const Change change(*this);
        Vocabulary names = vocabulary_of(classes);
        known_.several = nb::cast<bool>(selection.attr("several"));
        std::swap(known_.classes, names);
        known_.selection = std::move(selection);
    }

    nb::object selection() {
        const GilLock::Hold hold(lock_);
        return known_.selection;
    }
    void set_selection(nb::object selection) {
        const Change change(*this);
        known_.selection = std::move(selection);
    }

    /// Add the first class; the model has an output for two classes already.
    void add_first_class(nb::handle label) {
        const Change change(*this);
        known_.classes.add(label, Vocabulary::hash_of(label));
    }

    /// Renumber the classes and the labels of waiting examples.
    void renumber_classes(const nb::list& classes, const std::vector<std::size_t>& position) {
        const Change change(*this);
        Vocabulary names = vocabulary_of(classes);
        for (const std::int64_t label : known_.waiting.labels)
            if (label >= static_cast<std::int64_t>(position.size()))
                throw nb::value_error(
                    "a class of a waiting example is missing from the new classes");
        for (std::int64_t& label : known_.waiting.labels)
            if (label >= 0)
                label = static_cast<std::int64_t>(position[static_cast<std::size_t>(label)]);
        std::swap(known_.classes, names);
    }

    /// Add classes to the model; `position[c]` is the new number of class c.
    void add_classes(const nb::list& classes, std::vector<std::size_t> position,
                     std::vector<double> mapping, const Shape& shape, std::vector<Group> groups,
                     std::vector<std::size_t> own_sum, std::int64_t average_from, double memory) {
        const Change change(*this);
        auto model = std::make_unique<StreamModel>(shape, std::move(groups), std::move(own_sum),
                                                   average_from, memory);
        aggro::add_classes(model->model, known_.model->model, {position, std::move(mapping)});
        model->take_extreme_from(*known_.model);
        renumber_classes(classes, position);
        replace_model(std::move(model));
    }

    /// Continue with other labels, in the outputs `from` of the present model.
    void relabel(const nb::list& classes, const std::vector<std::size_t>& from) {
        const Change change(*this);
        Vocabulary names = vocabulary_of(classes);
        known_.waiting.relabel(from);
        std::swap(known_.classes, names);
    }

    /// Continue the single model with other labels: see `relabel`.
    void add_labels(const nb::list& classes, const std::vector<std::size_t>& from,
                    const Shape& shape, std::vector<Group> groups, std::vector<std::size_t> own_sum,
                    std::int64_t average_from, double memory) {
        const Change change(*this);
        auto model = std::make_unique<StreamModel>(shape, std::move(groups), std::move(own_sum),
                                                   average_from, memory);
        continue_models(model->model, known_.model->model, {0}, from);
        model->take_extreme_from(*known_.model);
        relabel(classes, from);
        replace_model(std::move(model));
    }

    void resume(const nb::list& names, const nb::dict& arrays) {
        const Change change(*this);
        known_.resume(names, arrays, bounds_);
    }

    /// Return names, classes and arrays under one lock.
    nb::tuple dump(bool with_model) {
        const GilLock::Hold hold(lock_);
        return nb::make_tuple(names(), classes(), known_.arrays(with_model));
    }

    nb::list names() {
        const GilLock::Hold hold(lock_);
        return known_.features.list();
    }
    /// Return the slots of features that count as zero.
    std::vector<std::int32_t> ignored() {
        const GilLock::Hold hold(lock_);
        return known_.features.all_ignored();
    }
    nb::list classes() {
        const GilLock::Hold hold(lock_);
        return known_.classes.list();
    }

    bool several() {
        const GilLock::Hold hold(lock_);
        return known_.several;
    }

    nb::tuple progress() {
        const GilLock::Hold hold(lock_);
        return known_.progress();
    }
    nb::tuple weights() {
        const GilLock::Hold hold(lock_);
        return known_.weights();
    }

    std::int64_t examples() {
        const GilLock::Hold hold(lock_);
        if (known_.selects()) return nb::cast<std::int64_t>(known_.selection.attr("examples"));
        return known_.model->model.counters.examples;
    }
    /// Return the number of examples learned or waiting.
    std::int64_t taken() {
        const GilLock::Hold hold(lock_);
        return examples() + static_cast<std::int64_t>(known_.waiting.size());
    }
    std::size_t slots() {
        const GilLock::Hold hold(lock_);
        return known_.model->model.shape.features;
    }

    StreamState copy_state() {
        const GilLock::Hold hold(lock_);
        return known_.copy();
    }
    void restore_state(const StreamState& knowledge) {
        const Change change(*this);
        StreamState copy = knowledge.copy();
        std::swap(known_, copy);
    }

    /// Return whether Python has given a model.
    bool begun() const { return known_.model || known_.selects(); }

    GilLock& lock() { return lock_; }

    bool records_margins = false;  ///< record the margins of each example before learning it

  protected:
    /// Sets a flag of the thread that has the lock.
    class Flag {
      public:
        explicit Flag(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
        Flag(const Flag&) = delete;
        ~Flag() { flag_ = before_; }

      private:
        bool& flag_;
        bool before_;
    };

    /// Locks the stream to replace parts of it; raises while a call reads them.
    class Change {
      public:
        explicit Change(StreamParts& parts) : hold_(parts.lock_) {
            if (parts.searching_) reject_nested_call();
        }

      private:
        GilLock::Hold hold_;
    };

    [[noreturn]] static void reject_nested_call() {
        throw std::runtime_error("the names and values of x must not call the model");
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
        std::swap(known_, before);
    }

    /// Replace the model; keep the first one that is replaced for `undo`.
    void replace_model(std::unique_ptr<StreamModel> model) {
        std::swap(known_.model, model);
        if (before_ && !before_->model) before_->model = std::move(model);
    }

    bool regression_;
    Bounds bounds_;
    StreamState known_;
    GilLock lock_;
    bool searching_ = false;  ///< names or labels are being compared, which may run Python code
    StreamState* before_ = nullptr;  ///< state to restore if the example cannot be learned
};

/// Locks a stream for several calls of one thread.
class StreamLock {
  public:
    explicit StreamLock(GilLock& lock) : lock_(lock) {}
    StreamLock(const StreamLock&) = delete;
    void enter() { hold_.emplace(lock_); }
    void leave() { hold_.reset(); }

  private:
    GilLock& lock_;
    std::optional<GilLock::Hold> hold_;
};

}  // namespace aggro
