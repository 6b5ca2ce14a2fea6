// The linear learner: rules, groups and models.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <shared_mutex>

#include "arrays.hpp"
#include "passes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro;

namespace {

/// A model and the lock that lets one thread write or several read.
template <class T>
class Guarded {
  public:
    Guarded(const Shape& shape, std::vector<Group> groups, std::vector<std::size_t> own_sum)
        : model(shape, std::move(groups), std::move(own_sum)) {}

    /// Learns, or throws and leaves the model as it was: a copy is kept unless a look at the data
    /// (when they are fewer than the weights) shows that nothing can go wrong.
    void learn(Lesson lesson) {
        lesson.interrupted = [] {
            nb::gil_scoped_acquire hold;
            return PyErr_CheckSignals() != 0;
        };
        try {
            nb::gil_scoped_release release;
            std::unique_lock lock(mutex);
            check(lesson);
            const auto safe = [&] {
                return lesson.x.stored() < model.weights.size() && harmless<T>(lesson);
            };
            if (!lesson.undo || safe()) return learn_all(model, lesson);
            const Backup backup(model);
            try {
                learn_all(model, lesson);
            } catch (const BadRow&) {
                backup.restore(model);
                throw;
            }
        } catch (const Interrupted&) {
            throw nb::python_error();
        } catch (const BadRow& bad) {
            throw_bad_row(bad);
        }
    }

    nb::ndarray<nb::numpy, T> score(const Matrix& x, std::size_t threads) {
        std::vector<T> out(x.rows * model.shape.outputs);
        try {
            nb::gil_scoped_release release;
            std::shared_lock lock(mutex);
            check_features(x);
            score_all(model, x, out.data(), threads);
        } catch (const BadRow& bad) {
            throw_bad_row(bad);
        }
        return to_numpy(std::move(out), {x.rows, model.shape.outputs});
    }

    Model<T> model;
    std::shared_mutex mutex;

  private:
    /// The state as it was, to go back to.
    struct Backup {
        std::vector<std::vector<std::byte>> arrays;
        explicit Backup(Model<T>& m) {
            m.visit([&](const char*, auto* data, std::size_t size) {
                const auto* bytes = reinterpret_cast<const std::byte*>(data);
                arrays.emplace_back(bytes, bytes + size * sizeof(*data));
            });
        }
        void restore(Model<T>& m) const {
            std::size_t i = 0;
            m.visit([&](const char*, auto* data, std::size_t) {
                if (!arrays[i].empty()) std::memcpy(data, arrays[i].data(), arrays[i].size());
                ++i;
            });
        }
    };

    void check_features(const Matrix& x) const {
        if (x.features != model.shape.features)
            throw std::invalid_argument("X has " + std::to_string(x.features) +
                                        " features, but the model has " +
                                        std::to_string(model.shape.features));
    }

    void check(const Lesson& lesson) const {
        check_features(lesson.x);
        for (std::size_t i = 0; i < lesson.count; ++i)
            if (lesson.row(i) >= lesson.x.rows)
                throw std::out_of_range("order names a row that is not there");
        for (const Group& g : model.groups) {
            const bool classes = g.task != Task::margin && g.task != Task::tube;
            if (classes && !lesson.labels)
                throw std::invalid_argument("a class label is needed for each row");
            if (g.task == Task::tube && (!lesson.values || g.positive >= lesson.columns))
                throw std::invalid_argument("a target value is needed for each row and output");
            if (!classes && !lesson.labels && (!lesson.values || g.positive >= lesson.columns))
                throw std::invalid_argument(
                    "a label or a column of targets is needed for each output");
            if (!classes) continue;
            for (std::size_t i = 0; i < lesson.count; ++i)
                if (const std::size_t r = lesson.row(i);
                    lesson.labels[r] < 0 || lesson.labels[r] >= static_cast<std::int64_t>(g.count))
                    throw std::out_of_range("a label is not one of the model's classes");
        }
    }

    [[noreturn]] static void throw_bad_row(const BadRow& bad) {
        throw nb::value_error(("row " + std::to_string(bad.row) + ": " + bad.what()).c_str());
    }
};

using Labels = std::optional<Column<std::int64_t>>;
using Weights = std::optional<Column<double>>;
using Values = std::optional<nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>>;

Lesson lesson_of(const Rows& rows, const Labels& labels, const Values& values,
                 const Weights& weights, const Labels& order, std::size_t batch_size, bool undo,
                 std::size_t threads) {
    const std::size_t n = rows.matrix.rows;
    const bool fits = (!labels || labels->size() == n) && (!values || values->shape(0) == n) &&
                      (!weights || weights->size() == n);
    if (!fits)
        throw nb::value_error("labels, targets and weights need one entry for each row of X");
    Lesson lesson;
    lesson.x = rows.matrix;
    lesson.count = order ? order->size() : n;
    if (labels) lesson.labels = labels->data();
    if (values) lesson.values = values->data();
    if (values) lesson.columns = values->shape(1);
    if (weights) lesson.weights = weights->data();
    if (order) lesson.order = order->data();
    lesson.batch_size = std::max<std::size_t>(batch_size, 1);
    lesson.undo = undo;
    lesson.threads = std::max<std::size_t>(threads, 1);
    return lesson;
}

/// All arrays of the state by name, copied.
template <class T>
nb::dict state_of(Guarded<T>& g) {
    nb::dict state;
    std::unique_lock lock(g.mutex, std::defer_lock);
    {
        nb::gil_scoped_release release;
        lock.lock();
    }
    g.model.visit([&](const char* name, auto* data, std::size_t size) {
        using V = std::remove_pointer_t<decltype(data)>;
        if (size > 0) state[name] = to_numpy(std::vector<V>(data, data + size), {size});
    });
    return state;
}

/// Puts back what `state_of` gave; sizes must agree.
template <class T>
void load_state(Guarded<T>& g, const nb::dict& state) {
    std::unique_lock lock(g.mutex, std::defer_lock);
    {
        nb::gil_scoped_release release;
        lock.lock();
    }
    g.model.visit([&](const char* name, auto* data, std::size_t size) {
        using V = std::remove_pointer_t<decltype(data)>;
        if (size == 0) return;
        if (!state.contains(name)) throw nb::key_error(name);
        const auto array = nb::cast<Column<V>>(state[name]);
        if (array.size() != size)
            throw nb::value_error((std::string(name) + " has " + std::to_string(array.size()) +
                                   " values, expected " + std::to_string(size))
                                      .c_str());
        std::memcpy(data, array.data(), size * sizeof(V));
    });
}

/// The weights as they are in memory, features x outputs. Writing to it writes to the model.
template <class T>
nb::ndarray<nb::numpy, T> weights_view(Guarded<T>& g) {
    auto* kept = new std::shared_ptr<T[]>(g.model.weights.share());
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<T[]>*>(p); });
    const auto stride = static_cast<std::int64_t>(g.model.weights.stride());
    return nb::ndarray<nb::numpy, T>(kept->get(), {g.model.shape.features, g.model.shape.outputs},
                                     owner, {stride, 1});
}

/// The weights that predict, features x outputs, whatever they are made of.
template <class T>
nb::ndarray<nb::numpy, T> effective_weights(Guarded<T>& g) {
    Model<T>& m = g.model;
    const std::size_t d = m.shape.features, outputs = m.shape.outputs;
    std::vector<T> out(d * outputs);
    {
        nb::gil_scoped_release release;
        std::shared_lock lock(g.mutex);
        write_weights(m, out.data());
    }
    return to_numpy(std::move(out), {d, outputs});
}

template <class T>
void bind_model(nb::module_& m, const char* name) {
    using G = Guarded<T>;
    nb::class_<G>(m, name, "A linear model: weights, metric, centre and counters.")
        .def(
            "__init__",
            [](G* self, const Shape& shape, std::vector<Group> groups,
               std::vector<std::size_t> own_sum) {
                new (self) G(shape, std::move(groups), std::move(own_sum));
            },
            "shape"_a, "groups"_a, "own_sum"_a)
        .def(
            "learn",
            [](G& self, const Rows& rows, Labels labels, Values values, Weights weights,
               Labels order, std::size_t batch_size, bool undo, std::size_t threads) {
                self.learn(
                    lesson_of(rows, labels, values, weights, order, batch_size, undo, threads));
            },
            "rows"_a, "labels"_a.none() = nb::none(), "values"_a.none() = nb::none(),
            "weights"_a.none() = nb::none(), "order"_a.none() = nb::none(), "batch_size"_a = 1,
            "undo"_a = true, "threads"_a = 1,
            "Learn the rows, in order. A bad row raises and leaves the model as it was.")
        .def(
            "score",
            [](G& self, const Rows& rows, std::size_t threads) {
                return self.score(rows.matrix, std::max<std::size_t>(threads, 1));
            },
            "rows"_a, "threads"_a = 1,
            "Scores of the predictor, one row per example and one column per output.")
        .def(
            "grow",
            [](G& self, std::size_t features) {
                nb::gil_scoped_release release;
                std::unique_lock lock(self.mutex);
                self.model.grow(features);
            },
            "features"_a, "Make room for more features, with weight zero.")
        .def(
            "fold",
            [](G& self) {
                nb::gil_scoped_release release;
                std::unique_lock lock(self.mutex);
                for (const Group& group : self.model.groups) fold(self.model, group);
            },
            "Write all weights out in full, whatever they are made of.")
        .def("state", &state_of<T>, "All arrays of the state by name.")
        .def("load_state", &load_state<T>, "state"_a, "Put back what state() gave.")
        .def("weights_view", &weights_view<T>, "The last weights in place, features x outputs.")
        .def("weights", &effective_weights<T>, "The weights that predict, features x outputs.")
        .def(
            "bias",
            [](G& self) {
                return to_numpy(effective_bias(self.model), {self.model.shape.outputs});
            },
            "The intercepts that predict.")
        .def(
            "set_bias",
            [](G& self, std::vector<double> bias) {
                if (bias.size() != self.model.bias.size())
                    throw nb::value_error("one intercept per output is needed");
                self.model.bias.assign(bias.begin(), bias.end());
            },
            "bias"_a, "Set the last intercepts.")
        .def(
            "set_groups",
            [](G& self, std::vector<Group> groups) {
                if (groups.size() != self.model.groups.size())
                    throw nb::value_error("the number of groups is fixed");
                nb::gil_scoped_release release;
                std::unique_lock lock(self.mutex);
                self.model.groups = std::move(groups);
            },
            "groups"_a, "Change the rules; what was learned stays.")
        .def(
            "freeze_means", [](G& self, bool frozen) { self.model.counters.frozen = frozen; },
            "frozen"_a)
        .def(
            "seed", [](G& self, std::uint64_t seed) { self.model.counters.random = seed; },
            "seed"_a)
        .def(
            "average_from",
            [](G& self, std::int64_t examples) { self.model.average_from = examples; },
            "examples"_a)
        .def_prop_ro("features", [](G& self) { return self.model.shape.features; })
        .def_prop_ro("lanes", [](G& self) { return self.model.lanes; })
        .def_prop_ro("keeps_total", [](G& self) { return self.model.shape.total; })
        .def_prop_ro("examples", [](G& self) { return self.model.counters.examples; })
        .def_prop_ro("averaged", [](G& self) { return self.model.counters.averaged; })
        .def(
            "set_memory", [](G& self, double memory) { self.model.memory = memory; }, "memory"_a,
            "What an example leaves of the recent records before it.")
        .def_prop_ro(
            "tallies",
            [](G& self) {
                nb::list out;
                const Tally& t = self.model.tally;
                for (std::size_t i = 0; i < t.loss.size(); ++i)
                    out.append(nb::make_tuple(t.mistakes[i], t.updates[i], t.loss[i]));
                return out;
            },
            "Mistakes, updates and loss of each group.")
        .def_prop_ro("memory", [](G& self) { return self.model.memory; })
        .def_prop_ro(
            "records", [](G& self) { return list_of(self.model.record); },
            "Mistakes, recent mistakes, recent loss and recent examples of each model.")
        .def_prop_ro(
            "chosen", [](G& self) { return best_record(self.model.record); },
            "The model with the best recent record.")
        .def_prop_ro(
            "chosen_record",
            [](G& self) {
                return nb::make_tuple(self.model.record.chosen_mistakes,
                                      self.model.record.chosen_error);
            },
            "Mistakes and error of whichever model was the chosen one at its time.");
}

}  // namespace

void bind_linear(nb::module_& m) {
    nb::enum_<Task>(m, "Task")
        .value("margin", Task::margin)
        .value("tube", Task::tube)
        .value("top", Task::top)
        .value("predicted", Task::predicted)
        .value("support", Task::support);
    nb::enum_<Metric>(m, "Metric")
        .value("euclidean", Metric::euclidean)
        .value("diagonal", Metric::diagonal)
        .value("full", Metric::full);
    nb::enum_<Scale>(m, "Scale")
        .value("none", Scale::none)
        .value("online", Scale::online)
        .value("standard", Scale::standard);
    nb::enum_<Predictor>(m, "Predictor")
        .value("last", Predictor::last)
        .value("average", Predictor::average)
        .value("reservoir", Predictor::reservoir);
    nb::enum_<Vote>(m, "Vote")
        .value("each", Vote::each)
        .value("argmax", Vote::argmax)
        .value("all", Vote::all);
    nb::enum_<Doubt>(m, "Doubt")
        .value("none", Doubt::none)
        .value("variance", Doubt::variance)
        .value("deviation", Doubt::deviation);

    nb::class_<Rule>(m, "Rule", "The price of breaking a constraint, as numbers.")
        .def(
            "__init__",
            [](Rule* self, double lo, double cap, double ridge, double margin, double epsilon,
               double kappa, double phi, Doubt doubt, bool weigh_kappa) {
                new (self) Rule{lo, cap, ridge, margin, epsilon, kappa, phi, doubt, weigh_kappa};
            },
            nb::kw_only(), "lo"_a = 0.0, "cap"_a = infinity, "ridge"_a = 0.0, "margin"_a = 1.0,
            "epsilon"_a = 0.0, "kappa"_a = 1.0, "phi"_a = 0.0, "doubt"_a = Doubt::none,
            "weigh_kappa"_a = false);
    nb::class_<Group>(m, "Group", "Outputs that answer one question, and the rule they learn by.")
        .def(
            "__init__",
            [](Group* self, std::size_t first, std::size_t count, Task task, std::size_t positive,
               const Rule& rule, double gamma, bool always) {
                new (self) Group{first, count, task, positive, rule, gamma, always};
            },
            nb::kw_only(), "first"_a, "count"_a, "task"_a, "positive"_a, "rule"_a, "gamma"_a = 0.0,
            "always"_a = false);
    nb::class_<Shape>(m, "Shape", "What kind of model to make.")
        .def(
            "__init__",
            [](Shape* self, std::size_t features, std::size_t outputs, bool intercept,
               double intercept_scale, Metric metric, Predictor predictor, std::size_t sums,
               bool total, std::size_t queue, std::size_t reservoir, Vote vote, std::size_t models,
               Scale scale, std::size_t spreads, double forgetting) {
                new (self) Shape{features,  outputs, intercept, intercept_scale, metric,
                                 predictor, sums,    total,     queue,           reservoir,
                                 vote,      models,  scale,     spreads,         forgetting};
            },
            nb::kw_only(), "features"_a, "outputs"_a, "intercept"_a, "intercept_scale"_a = 1.0,
            "metric"_a, "predictor"_a, "sums"_a = 0, "total"_a = false, "queue"_a = 1,
            "reservoir"_a = 0, "vote"_a = Vote::each, "models"_a = 1, "scale"_a = Scale::none,
            "spreads"_a = 0, "forgetting"_a = 0.0);
    nb::class_<Rows>(m, "Rows", "Rows to learn from or to score, read in place.")
        .def(nb::init<const AnyArray&>(), "x"_a)
        .def(nb::init<const AnyArray&, const AnyArray&, const AnyArray&, std::size_t>(), "data"_a,
             "indices"_a, "indptr"_a, "features"_a)
        .def_prop_ro("count", [](const Rows& self) { return self.matrix.rows; })
        .def_prop_ro("sparse", [](const Rows& self) { return self.matrix.sparse(); })
        .def(
            "mean_square",
            [](const Rows& self, std::size_t most, Scale scale) {
                return mean_square(self.matrix, most, scale);
            },
            "most"_a, "scale"_a = Scale::none,
            "Mean squared norm of the first rows, as they will be once they are scaled.");
    bind_model<float>(m, "Model32");
    bind_model<double>(m, "Model64");
}
