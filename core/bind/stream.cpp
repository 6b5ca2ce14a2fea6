// Learners of streams: dicts in, predictions out, one at a time.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "arrays.hpp"
#include "features.hpp"
#include "recency.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro;

namespace {

/// All that a stream has learned.
struct Knowledge {
    Vocabulary features, classes;
    Recency recency;
    std::unique_ptr<StreamModel> model;
    Waiting waiting;
    std::vector<double> past{0, 0, 0};  ///< mistakes, updates and loss before the classes grew

    Knowledge copy() const { return {features, classes, recency, model->copy(), waiting, past}; }
};

/// How much a stream may remember, and what happens to a feature too many.
struct Bounds {
    std::size_t batch_size = 1;
    std::size_t max_features = 0;  ///< 0: no bound
    bool hashed = false;           ///< names share slots by their hash; else the oldest makes room
};

class Stream {
  public:
    Stream(bool regression, const Bounds& bounds) : regression_(regression), bounds_(bounds) {}

    // -- the two verbs -----------------------------------------------------------------------

    void learn(nb::handle self, nb::handle x, nb::handle y, double weight) {
        const Turn turn(*this);
        read(x);
        if (!(weight >= 0) || std::isinf(weight))
            throw nb::value_error("w must be zero or more, and finite: it multiplies C.");
        double target = 0;
        std::int64_t label = -1;
        if (regression_) target = number_of(y, [] { return std::string("y"); });
        else label = known_.classes.find(y, Vocabulary::hash_of(y));
        if (weight == 0) return;
        const bool stranger = !regression_ && label < 0;
        if (!stranger && moderate(target, weight)) return take_in(label, target, weight);
        all_or_nothing([&] {
            if (stranger) label = admit(self, y);
            known_.waiting.extreme = true;
            take_in(label, target, weight);
        });
    }

    nb::object predict(nb::handle x) {
        const Turn turn(*this);
        read(x);
        if (known_.classes.size() == 0 && !regression_) return nb::none();
        const std::vector<double>& scores = known_.model->scores(reading_.row());
        if (regression_) return nb::float_(scores[0]);
        std::size_t best = 0;
        if (known_.classes.size() == 2) best = scores[0] > 0;
        else best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
        return nb::borrow(known_.classes.name(best));
    }

    /// The classes and the scores of the outputs, of the same moment.
    nb::tuple margins(nb::handle x) {
        const Turn turn(*this);
        read(x);
        return nb::make_tuple(classes(), known_.model->scores(reading_.row()));
    }

    void flush() {
        const Turn turn(*this);
        all_or_nothing([&] { learn_waiting(); });
    }

    // -- what was learned --------------------------------------------------------------------

    /// A model of another shape goes on; `position[c]` is the new number of class c.
    void rebuild(const nb::list& classes, const std::vector<std::int64_t>& position, const Shape& shape,
                 std::vector<Group> groups, std::vector<std::size_t> own_sum, std::int64_t average_from,
                 const nb::dict& arrays) {
        const Hold hold(*this);
        auto model = std::make_unique<StreamModel>(shape, std::move(groups), std::move(own_sum), average_from);
        load(model->model, arrays);
        model->survey();
        Vocabulary names;
        for (nb::handle label : classes) names.add(label, Vocabulary::hash_of(label));
        for (std::int64_t& label : known_.waiting.labels)
            if (label >= 0) label = position.at(static_cast<std::size_t>(label));
        known_.past = column<double>(arrays, "past");
        known_.model = std::move(model);
        known_.classes = std::move(names);
    }

    /// Puts back what `arrays` and `names` gave, but for the model itself.
    void resume(const nb::list& names, const nb::dict& arrays) {
        const Hold hold(*this);
        Vocabulary features;
        for (nb::handle name : names) features.add(name, Vocabulary::hash_of(name));
        known_.features = std::move(features);
        known_.recency = Recency::from_order(column<std::int32_t>(arrays, "recency"));
        known_.past = column<double>(arrays, "past");
        Waiting& w = known_.waiting = {};
        visit(w, [&](const char* name, auto& values) {
            values = column<typename std::decay_t<decltype(values)>::value_type>(arrays, name);
        });
        w.extreme = true;
    }

    nb::dict arrays() {
        const Hold hold(*this);
        nb::dict state;
        const auto keep = [&](const char* name, auto values) {
            const std::size_t size = values.size();
            state[name] = to_numpy(std::move(values), {size});
        };
        known_.model->model.visit([&](const char* name, auto* data, std::size_t size) {
            if (size > 0) keep(name, std::vector<std::remove_pointer_t<decltype(data)>>(data, data + size));
        });
        visit(known_.waiting, keep);
        keep("recency", known_.recency.order());
        keep("past", known_.past);
        return state;
    }

    nb::list names() const { return listed(known_.features); }
    nb::list classes() const { return listed(known_.classes); }

    /// Mistakes, updates and loss so far, each example judged before it was learned.
    nb::tuple progress() {
        const Hold hold(*this);
        const Model<double>& m = known_.model->model;
        double updates = 0, loss = 0;
        for (const auto moves : m.tally.updates) updates += static_cast<double>(moves);
        for (const double suffered : m.tally.loss) loss += suffered;
        const auto mistakes = static_cast<double>(m.record.mistakes[0]);
        return nb::make_tuple(known_.past[0] + mistakes, known_.past[1] + updates, known_.past[2] + loss);
    }

    /// The weights that predict, slots x outputs, and their intercepts.
    nb::tuple weights() {
        const Hold hold(*this);
        const Model<double>& m = known_.model->model;
        const std::size_t features = m.shape.features, outputs = m.shape.outputs;
        std::vector<double> out(features * outputs);
        write_weights(m, out.data());
        return nb::make_tuple(to_numpy(std::move(out), {features, outputs}), to_numpy(effective_bias(m), {outputs}));
    }

    std::int64_t examples() const { return known_.model->model.counters.examples; }
    std::size_t slots() const { return known_.model->model.shape.features; }
    std::size_t waiting() const { return known_.waiting.size(); }

    Knowledge remember() {
        const Hold hold(*this);
        return known_.copy();
    }
    void recall(const Knowledge& knowledge) {
        const Hold hold(*this);
        known_ = knowledge.copy();
    }

  private:
    /// Keeps other threads out; lets go of the interpreter while it waits for them.
    class Hold {
      public:
        explicit Hold(Stream& stream) : lock_(stream.mutex_, std::try_to_lock) {
            if (lock_.owns_lock()) return;
            nb::gil_scoped_release release;
            lock_.lock();
        }

      private:
        std::unique_lock<std::recursive_mutex> lock_;
    };

    /// Also keeps out the code of names and values that are being read.
    class Turn {
      public:
        explicit Turn(Stream& stream) : hold_(stream), stream_(stream) {
            if (stream.busy_) throw std::runtime_error("the names and values of x must not use the model themselves");
            stream.busy_ = true;
        }
        ~Turn() {
            stream_.reading_.fresh.clear();
            stream_.busy_ = false;
        }

      private:
        Hold hold_;
        Stream& stream_;
    };

    void read(nb::handle x) { reading_.read(x, known_.features, bounds_.hashed ? bounds_.max_features : 0); }

    /// True if learning what was read cannot fail half-way.
    bool moderate(double target, double weight) {
        const bool full = known_.waiting.size() + 1 == bounds_.batch_size;
        if (bounds_.batch_size > 1 && (known_.model->hard() || (full && known_.waiting.extreme))) return false;
        const auto [largest, q] = reading_.magnitude();
        return largest <= Limits::value && std::abs(target) <= Limits::score && (q == 0 || q >= Limits::shortest) && weight >= Limits::shortest && weight <= Limits::score &&
               known_.model->moderate(reading_.row());
    }

    template <class Body>
    void all_or_nothing(Body&& body) {
        Knowledge before = known_.copy();
        try {
            body();
            if (!known_.model->survey()) throw BadExample("the model overflows; scale the features or the target");
        } catch (const BadExample& bad) {
            known_ = std::move(before);
            throw nb::value_error((std::string("this example cannot be learned: ") + bad.what()).c_str());
        } catch (...) {
            known_ = std::move(before);
            throw;
        }
    }

    /// A class never seen: the Python side makes a model with room for it.
    std::int64_t admit(nb::handle self, nb::handle label) {
        self.attr("_admit")(label);
        return known_.classes.find(label, Vocabulary::hash_of(label));
    }

    void take_in(std::int64_t label, double target, double weight) {
        settle();
        const StreamRow x = reading_.row();
        if (bounds_.batch_size == 1) {
            return known_.model->learn(x, {label, regression_ ? &target : nullptr}, weight);
        }
        known_.waiting.add(x, label, target, weight);
        if (known_.waiting.size() == bounds_.batch_size) learn_waiting();
    }

    void learn_waiting() {
        known_.model->learn(known_.waiting.members());
        known_.waiting = {};
    }

    /// Gives slots to the features never met before.
    void settle() {
        StreamModel& model = *known_.model;
        const bool drops = bounds_.max_features > 0 && !bounds_.hashed;
        if (drops) make_room();
        const StreamRow row = reading_.row();
        for (std::size_t k = 0; drops && k < row.size; ++k) known_.recency.touch(row.indices[k]);
        for (const Reading::Fresh& fresh : reading_.fresh) {
            std::int32_t slot = known_.features.find(fresh.name, fresh.hash);
            if (slot == Vocabulary::absent) slot = slot_for(fresh, drops);
            reading_.place(slot, fresh.value);
        }
        model.model.grow(std::max(known_.features.size(), model.model.shape.features));
        reading_.merge(model.model.shape.features);
    }

    std::int32_t slot_for(const Reading::Fresh& fresh, bool drops) {
        if (!drops) return known_.features.add(fresh.name, fresh.hash);
        std::int32_t slot;
        if (known_.features.size() < bounds_.max_features) {
            slot = known_.features.add(fresh.name, fresh.hash);
        } else {
            slot = known_.recency.oldest();
            known_.model->forget(static_cast<std::size_t>(slot));
            known_.features.replace(slot, fresh.name, fresh.hash);
        }
        known_.recency.touch(slot);
        return slot;
    }

    /// Raises if the features of this example and of those that wait are more than may be kept.
    void make_room() const {
        if (reading_.fresh.empty()) return;
        std::vector<std::int32_t> needed = known_.waiting.slots;
        const StreamRow row = reading_.row();
        needed.insert(needed.end(), row.indices, row.indices + row.size);
        std::sort(needed.begin(), needed.end());
        needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
        if (needed.size() + reading_.fresh.size() <= bounds_.max_features) return;
        throw nb::value_error(("this example (with those of its batch) has more than max_features=" +
                               std::to_string(bounds_.max_features) + " features; allow more").c_str());
    }

    static nb::list listed(const Vocabulary& vocabulary) {
        nb::list names;
        for (std::size_t slot = 0; slot < vocabulary.size(); ++slot) names.append(vocabulary.name(slot));
        return names;
    }

    template <class V>
    static std::vector<V> column(const nb::dict& arrays, const char* name) {
        const auto array = nb::cast<Column<V>>(arrays[name]);
        return {array.data(), array.data() + array.size()};
    }

    template <class Visit>
    static void visit(Waiting& w, Visit&& visit) {
        visit("waiting_values", w.values);
        visit("waiting_slots", w.slots);
        visit("waiting_ends", w.ends);
        visit("waiting_labels", w.labels);
        visit("waiting_targets", w.targets);
        visit("waiting_weights", w.weights);
    }

    static void load(Model<double>& model, const nb::dict& arrays) {
        model.visit([&](const char* name, auto* data, std::size_t size) {
            if (size == 0) return;
            const auto values = column<std::remove_pointer_t<decltype(data)>>(arrays, name);
            if (values.size() != size) throw nb::value_error((std::string(name) + " has another size").c_str());
            std::copy(values.begin(), values.end(), data);
        });
    }

    bool regression_;
    Bounds bounds_;
    Knowledge known_;
    Reading reading_;
    std::recursive_mutex mutex_;
    bool busy_ = false;
};

}  // namespace

void bind_stream(nb::module_& m) {
    nb::class_<Knowledge>(m, "Knowledge", "All that a stream has learned, to go back to.");
    nb::class_<Stream>(m, "Stream", "A model that learns dicts one at a time.")
        .def("__init__", [](Stream* self, bool regression, std::size_t batch_size, std::size_t max_features, bool hashed) {
                 new (self) Stream(regression, {batch_size, max_features, hashed});
             }, "regression"_a, "batch_size"_a, "max_features"_a, "hashed"_a)
        .def("learn_one", [](nb::handle self, nb::handle x, nb::handle y, double w) {
                 nb::inst_ptr<Stream>(self)->learn(self, x, y, w);
             }, "x"_a.none(), "y"_a.none(), "w"_a = 1.0,
             "Learn from the features x and the answer y; w counts the example w times: it multiplies C.")
        .def("predict_one", &Stream::predict, "x"_a.none(),
             "Predict the answer for the features x. Features never learned count as zero.")
        .def("flush", &Stream::flush, "Learn the examples that wait for their mini-batch to be full.")
        .def("_margins", &Stream::margins, "x"_a.none())
        .def("_rebuild", &Stream::rebuild, "classes"_a, "position"_a, "shape"_a, "groups"_a, "own_sum"_a,
             "average_from"_a, "arrays"_a)
        .def("_resume", &Stream::resume, "names"_a, "arrays"_a)
        .def("_arrays", &Stream::arrays)
        .def("_names", &Stream::names)
        .def("_classes", &Stream::classes)
        .def("_progress", &Stream::progress)
        .def("_weights", &Stream::weights)
        .def("_remember", &Stream::remember)
        .def("_recall", &Stream::recall, "knowledge"_a)
        .def_prop_ro("_slots", &Stream::slots)
        .def_prop_ro("_waiting", &Stream::waiting)
        .def_prop_ro("examples", &Stream::examples, "Number of examples learned from.");
}
