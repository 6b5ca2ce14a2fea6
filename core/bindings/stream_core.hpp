// A stream learner with its lock: learns and predicts dicts, one at a time.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "stream_parts.hpp"

namespace aggro {

namespace nb = nanobind;

/// A model with its lock; a failing call leaves it unchanged.
class Stream : public StreamParts {
  public:
    using StreamParts::StreamParts;

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
        const bool is_set = !regression_ && is_label_set(y);
        std::int64_t label = -1;
        const bool grows = !read_example(x, y, weight, is_set, label);
        if (weight == 0) return;
        if (!regression_ && is_set != known_.several) check_first(y, is_set);
        check_norm(self);
        if (known_.selects()) return learn_in_selection(self, y, label, weight, grows);
        if (!grows && cannot_fail(targets_[0], weight))
            return take_in(label, weight, reading_.complete());
        all_or_nothing(grows && (is_set || known_.classes.size() > 0), [&] {
            if (grows) label = add_class(self, y);
            known_.waiting.extreme = true;
            take_in(label, weight, false);
        });
    }

    nb::object predict(nb::handle self, nb::handle x) {
        Reader reader(*this);
        const StreamRow row = reader.read(x);
        const std::size_t classes = known_.classes.size();
        if (classes == 0 && !regression_ && !known_.several) return nb::none();
        std::vector<double> kept;
        const std::span<const double> scores = scores_of(self, row, kept);
        if (regression_) return nb::float_(scores[0]);
        if (known_.several) return labels_above_zero(scores);
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

  private:
    /// Locks the stream for one learning call, against other threads and against Python code that
    /// runs while names and values are read.
    class Writer {
      public:
        explicit Writer(Stream& stream) : hold_(stream.lock_), stream_(stream) {
            if (stream.busy_) reject_nested_call();
            stream.busy_ = true;
        }
        ~Writer() {
            stream_.reading_.fresh.clear();
            stream_.busy_ = false;
        }

      private:
        GilLock::Hold hold_;
        Stream& stream_;
    };

    /// Locks the stream for one reading call. The call may be nested in another of the same thread,
    /// in a signal handler, and then uses memory of its own; it raises while slots are assigned.
    class Reader {
      public:
        explicit Reader(Stream& stream)
            : hold_(stream.lock_), stream_(stream), nested_(std::exchange(stream.busy_, true)) {
            if (stream.committing_) reject_nested_call();
        }
        ~Reader() {
            if (nested_) return;
            stream_.reading_.fresh.clear();
            stream_.busy_ = false;
        }

        StreamRow read(nb::handle x) {
            const Flag searching(stream_.searching_);
            Reading& reading = nested_ ? own_.emplace() : stream_.reading_;
            reading.read(x, stream_.known_.features, stream_.bounds_.buckets(), false);
            return reading.row();
        }

      private:
        GilLock::Hold hold_;
        Stream& stream_;
        bool nested_;
        std::optional<Reading> own_;
    };

    /// Read x, and y as a target or as the number of its class; return whether the model knows all
    /// its classes.
    bool read_example(nb::handle x, nb::handle y, double weight, bool is_set, std::int64_t& label) {
        const Flag searching(searching_);
        const std::size_t known = known_.features.size();
        const bool zeros =
            bounds_.zeros && (bounds_.max_features == 0 || 2 * known < bounds_.max_features);
        reading_.read(x, known_.features, bounds_.buckets(), zeros);
        if (!(weight >= 0) || std::isinf(weight))
            throw nb::value_error("w must be zero or more, and finite: it multiplies C.");
        if (is_set) return read_labels(y);
        targets_.assign(1, 0.0);
        if (regression_)
            targets_[0] = number_of(y, [] { return std::string("y"); });
        else
            label = known_.classes.find(y, Vocabulary::hash_of(y));
        return regression_ || label >= 0;
    }

    /// Return whether learning the current example cannot fail half-way.
    bool cannot_fail(double target, double weight) {
        const bool full = known_.waiting.size() + 1 == bounds_.batch_size;
        if (bounds_.batch_size > 1 && (known_.model->hard() || (full && known_.waiting.extreme)))
            return false;
        const double q = reading_.squared();
        return q <= Limits::squared && std::abs(target) <= Limits::score &&
               (q == 0 || q >= Limits::shortest) && weight >= Limits::shortest &&
               weight <= Limits::score && known_.model->cannot_overflow(reading_.row());
    }

    /// Reject a row whose squared length overflows, which no mini-batch can learn: in a batch that
    /// waits it would make every later example fail.
    void check_norm(nb::handle self) {
        if (bounds_.batch_size == 1 || std::isfinite(reading_.squared())) return;
        if (!nb::cast<bool>(self.attr("_scales_rows")))
            throw nb::value_error(
                "this example cannot be learned: its norm overflows, which a mini-batch cannot "
                "handle; scale the features");
    }

    /// Return whether y is a set. The checks for str and int only read a flag of the type.
    static bool is_label_set(nb::handle y) {
        return !PyUnicode_Check(y.ptr()) && !PyLong_Check(y.ptr()) && PyAnySet_Check(y.ptr());
    }

    /// Add a new class, or those of a set of labels; the Python side extends the model. Return the
    /// number of the class; -1 for a set.
    std::int64_t add_class(nb::handle self, nb::handle label) {
        if (is_label_set(label)) {
            self.attr("_add_labels")(label);
            const Flag searching(searching_);
            read_labels(label);
            return -1;
        }
        self.attr("_add_class")(label);
        const Flag searching(searching_);
        return known_.classes.find(label, Vocabulary::hash_of(label));
    }

    /// Read a set of labels as targets of 1 and -1; return whether the model knows all of them.
    bool read_labels(nb::handle labels) {
        targets_.assign(known_.targets(), -1.0);
        bool known = known_.several;
        for (nb::handle label : nb::iter(labels)) {
            const std::int64_t number = known_.classes.find(label, Vocabulary::hash_of(label));
            if (known && number >= 0)
                targets_[static_cast<std::size_t>(number)] = 1;
            else
                known = false;
        }
        return known;
    }

    /// Raise unless the first example decides whether examples have sets of labels.
    void check_first(nb::handle y, bool is_set) {
        if (is_set && examples() == 0 && known_.waiting.size() == 0 && known_.classes.size() == 0)
            return;
        const std::string given = nb::repr(y).c_str();
        throw nb::value_error(
            (is_set ? "y is a set of labels, " + given +
                          ", and earlier examples have one class each; give one class, or begin "
                          "with sets"
                    : "y is " + given +
                          ", and earlier examples have sets of labels; give a set, "
                          "such as {" +
                          given + "}")
                .c_str());
    }

    nb::object labels_above_zero(std::span<const double> scores) {
        const Flag searching(searching_);
        nb::set labels;
        for (std::size_t c = 0; c < known_.classes.size(); ++c)
            if (scores[c] > 0) labels.add(nb::borrow(known_.classes.name(c)));
        return labels;
    }

    Reading::Slots find_slots() {
        const Flag committing(committing_), searching(searching_);
        return known_.find_slots(reading_, bounds_);
    }

    // -- a model selection ---------------------------------------------------------------------

    /// State to restore if an example cannot be learned.
    struct Before {
        nb::object selection;
        Vocabulary classes;
        Waiting waiting;
        bool several;
        std::int64_t examples;
    };

    /// Learn an example in Python; names and classes are added after success. If an interrupt comes
    /// after the rows were learned, the example counts.
    void learn_in_selection(nb::handle self, nb::handle y, std::int64_t label, double weight,
                            bool grows) {
        Before before{known_.selection, {}, {}, known_.several, examples()};
        if (grows) before.classes = known_.classes, before.waiting = known_.waiting;
        const Reading::Slots found = find_slots();
        Waiting& waiting = known_.waiting;
        const std::size_t waited = waiting.size();
        bool full = false;
        try {
            if (grows) label = add_class(self, y);
            waiting.add(reading_.row(), label, targets_, weight);
            full = waiting.size() == bounds_.batch_size;
            if (full || !found.replaced.empty()) learn_rows(self, found.replaced, full);
        } catch (...) {
            if (full && examples() != before.examples) {
                keep(before, found, full);
                throw;
            }
            if (waiting.size() > waited) waiting.drop_last();
            if (grows) std::swap(known_.classes, before.classes), waiting = before.waiting;
            known_.selection = before.selection;
            known_.several = before.several;
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
                                 regression_ || known_.several ? array(w.targets) : array(w.labels),
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

    /// Learn the example, or let it wait for its batch; `checked` if the model has just checked
    /// this very row.
    void take_in(std::int64_t label, double weight, bool checked) {
        {
            const Flag committing(committing_), searching(searching_);
            known_.assign_slots(reading_, bounds_);
        }
        const StreamRow x = reading_.row();
        if (bounds_.batch_size == 1)
            return known_.model->learn(x, {label, label < 0 ? targets_.data() : nullptr}, weight,
                                       checked);
        known_.waiting.add(x, label, targets_, weight);
        if (known_.waiting.size() == bounds_.batch_size) known_.learn_waiting();
    }

    Reading reading_;
    std::vector<double> targets_;  ///< of the present example: a number, or one for each label
    bool busy_ = false;            ///< a call of this thread is using `reading_`
    bool committing_ = false;      ///< slots are being assigned
};

}  // namespace aggro
