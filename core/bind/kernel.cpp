// The kernel learner, and the solver of mini-batches by itself.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <shared_mutex>
#include <variant>

#include "arrays.hpp"
#include "kernel_passes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro;

namespace {

using Labels = std::optional<Column<std::int64_t>>;
using Weights = std::optional<Column<double>>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = std::optional<Table>;

struct Targets {
    Labels labels;
    Values values;
    Weights weights;

    Lesson lesson(std::size_t rows, std::size_t batch_size) const {
        const bool fits = (!labels || labels->size() == rows) && (!values || values->shape(0) == rows) &&
                          (!weights || weights->size() == rows);
        if (!fits) throw nb::value_error("labels, targets and weights need one entry for each row");
        Lesson lesson;
        lesson.count = rows;
        lesson.batch_size = batch_size;
        if (labels) lesson.labels = labels->data();
        if (values) lesson.values = values->data(), lesson.columns = values->shape(1);
        if (weights) lesson.weights = weights->data();
        lesson.interrupted = [] {
            nb::gil_scoped_acquire hold;
            return PyErr_CheckSignals() != 0;
        };
        return lesson;
    }
};

void check_targets(const std::vector<Group>& groups, const Lesson& lesson, std::size_t rows) {
    for (const Group& g : groups) {
        const bool classes = g.task != Task::margin && g.task != Task::tube;
        const bool column = lesson.values && g.positive < lesson.columns;
        if (classes ? !lesson.labels : !column && (g.task == Task::tube || !lesson.labels))
            throw nb::value_error("a label, or a value for each output, is needed for each row");
        for (std::size_t r = 0; classes && r < rows; ++r)
            if (lesson.labels[r] < 0 || lesson.labels[r] >= static_cast<std::int64_t>(g.count))
                throw nb::value_error("a label is not one of the model's classes");
    }
}

/// A model, its support vectors, and the lock that lets one thread write or several read.
class KernelCore {
  public:
    using AnyStore = std::variant<DenseStore, SparseStore, OutsideStore>;

    KernelCore(const KernelShape& shape, std::vector<Group> groups, bool sparse)
        : model(shape, std::move(groups)), store(store_for(shape, sparse)) {}

    /// Learns, or throws and leaves everything as it was.
    void learn(const Rows& rows, const Targets& targets, const Labels& order, std::size_t batch_size,
               std::int64_t first_id) {
        Lesson lesson = targets.lesson(rows.matrix.rows, batch_size);
        lesson.x = rows.matrix;
        if (order) lesson.order = order->data(), lesson.count = order->size();
        check(lesson);
        guarded(harmless_now(lesson), [&] {
            std::visit([&](auto& kept) {
                if constexpr (std::is_same_v<std::decay_t<decltype(kept)>, OutsideStore>)
                    throw std::invalid_argument("this kernel is computed outside: use learn_values");
                else learn_rows(model, kept, lesson, first_id);
            }, store);
        });
    }

    void learn_values(const Table& with_support, const Table& within, const Targets& targets,
                      const Column<std::int64_t>& ids, std::size_t batch_size) {
        const std::size_t rows = ids.size();
        const Lesson lesson = targets.lesson(rows, batch_size);
        auto& kept = std::get<OutsideStore>(store);
        check_targets(model.groups, lesson, rows);
        if (with_support.shape(0) != rows || with_support.shape(1) != kept.size() || within.shape(0) != rows ||
            within.shape(1) != rows)
            throw nb::value_error("kernel values are needed with every support vector and every row");
        guarded(false, [&] { aggro::learn_values(model, kept, lesson, with_support.data(), within.data(), ids.data()); });
    }

    nb::ndarray<nb::numpy, double> score(const Rows& rows) {
        const Matrix& x = rows.matrix;
        check_features(x);
        std::vector<double> out(x.rows * model.shape.outputs);
        {
            nb::gil_scoped_release release;
            std::shared_lock lock(mutex);
            std::visit([&](const auto& kept) {
                if constexpr (std::is_same_v<std::decay_t<decltype(kept)>, OutsideStore>)
                    throw std::invalid_argument("this kernel is computed outside: multiply by coef()");
                else score_rows(model, kept, x, out.data());
            }, store);
        }
        return to_numpy(std::move(out), {x.rows, model.shape.outputs});
    }

    KernelModel model;
    AnyStore store;
    std::shared_mutex mutex;

  private:
    static AnyStore store_for(const KernelShape& shape, bool sparse) {
        if (shape.kernel.kind == Kernel::external) return OutsideStore();
        if (sparse) return SparseStore(shape.features);
        return DenseStore(shape.features);
    }

    void check_features(const Matrix& x) const {
        if (x.features == model.shape.features) return;
        throw nb::value_error(("X has " + std::to_string(x.features) + " features, but the model has " +
                               std::to_string(model.shape.features)).c_str());
    }

    void check(const Lesson& lesson) const {
        check_features(lesson.x);
        for (std::size_t i = 0; i < lesson.count; ++i)
            if (lesson.row(i) >= lesson.x.rows) throw nb::value_error("order names a row that is not there");
        check_targets(model.groups, lesson, lesson.x.rows);
    }

    bool harmless_now(const Lesson& lesson) {
        nb::gil_scoped_release release;
        std::shared_lock lock(mutex);
        return harmless(model, lesson);
    }

    /// Without the interpreter's lock; goes back to a copy if an example turns out to be bad.
    template <class Work>
    void guarded(bool safe, Work&& work) {
        try {
            nb::gil_scoped_release release;
            std::unique_lock lock(mutex);
            if (safe) return work();
            const KernelModel model_before = model;
            const AnyStore store_before = store;
            try {
                work();
            } catch (const std::runtime_error&) {
                model = model_before, store = store_before;
                throw;
            }
        } catch (const Interrupted&) {
            throw nb::python_error();
        } catch (const BadRow& bad) {
            throw nb::value_error(("row " + std::to_string(bad.row) + ": " + bad.what()).c_str());
        } catch (const BadExample& bad) {
            throw nb::value_error(bad.what());
        }
    }
};

// ---- the state as arrays ---------------------------------------------------------------------

/// Slots x outputs, without the padding.
std::vector<double> unpadded(const Expansion& e, const std::vector<double>& values) {
    std::vector<double> out;
    for (std::size_t i = 0; i < e.size(); ++i) {
        const auto* row = values.data() + i * e.stride;
        out.insert(out.end(), row, row + e.outputs);
    }
    return out;
}

std::vector<double> padded_again(const Expansion& e, const double* values, std::size_t slots) {
    std::vector<double> out(slots * e.stride);
    for (std::size_t i = 0; i < slots; ++i) std::copy_n(values + i * e.outputs, e.outputs, out.data() + i * e.stride);
    return out;
}

template <class T>
void put(nb::dict& state, const char* name, std::vector<T> values) {
    const std::size_t size = values.size();
    state[name] = to_numpy(std::move(values), {size});
}

template <class T>
std::vector<T> get(const nb::dict& state, const char* name, std::size_t size) {
    if (!state.contains(name)) throw nb::key_error(name);
    const auto array = nb::cast<Column<T>>(state[name]);
    if (array.size() != size) throw nb::value_error((std::string(name) + " has the wrong size").c_str());
    return {array.data(), array.data() + size};
}

void put_rows(nb::dict& state, const DenseStore& s) {
    std::vector<double> rows(s.size() * s.width());
    for (std::size_t i = 0; i < s.size(); ++i) s.copy_row(i, rows.data() + i * s.width());
    state["support"] = to_numpy(std::move(rows), {s.size(), s.width()});
    put(state, "norms", s.squared_norms());
}

void put_rows(nb::dict& state, const SparseStore& s) {
    std::vector<double> data;
    std::vector<std::int64_t> indices, starts{0};
    for (std::size_t i = 0; i < s.size(); ++i) {
        const SparseExample& x = s.example(i);
        data.insert(data.end(), x.values.begin(), x.values.end());
        indices.insert(indices.end(), x.indices.begin(), x.indices.end());
        starts.push_back(static_cast<std::int64_t>(data.size()));
    }
    put(state, "data", std::move(data)), put(state, "indices", std::move(indices));
    put(state, "indptr", std::move(starts)), put(state, "norms", s.squared_norms());
}

void put_rows(nb::dict&, const OutsideStore&) {}

template <class Store>
void load_matrix(Store& s, const Matrix& x, const std::vector<double>& norms) {
    Store fresh(x.features);
    with_row_type<double>(x, [&](auto kind) {
        Reader<double, decltype(kind)> reader(x);
        typename Store::Block block;
        for (std::size_t i = 0; i < x.rows; ++i) {
            block.resize(1, x.features);
            block.set(0, reader.row(i));
            block.norms[0] = norms[i];
            fresh.append(block, 0);
        }
    });
    s = std::move(fresh);
}

void load_rows(const nb::dict& state, DenseStore& s, std::size_t slots) {
    const Rows rows(nb::cast<AnyArray>(state["support"]));
    if (rows.matrix.rows != slots || rows.matrix.features != s.width()) throw nb::value_error("support has the wrong shape");
    load_matrix(s, rows.matrix, get<double>(state, "norms", slots));
}

void load_rows(const nb::dict& state, SparseStore& s, std::size_t slots) {
    const Rows rows(nb::cast<AnyArray>(state["data"]), nb::cast<AnyArray>(state["indices"]),
                    nb::cast<AnyArray>(state["indptr"]), s.width());
    if (rows.matrix.rows != slots) throw nb::value_error("support has the wrong shape");
    load_matrix(s, rows.matrix, get<double>(state, "norms", slots));
}

void load_rows(const nb::dict&, OutsideStore& s, std::size_t slots) { s.assign(slots); }

nb::dict state_of(KernelCore& core) {
    nb::dict state;
    const KernelModel& m = core.model;
    const Expansion& e = m.expansion;
    put(state, "coef", unpadded(e, e.coefs));
    if (e.average) put(state, "trail", unpadded(e, e.trails));
    put(state, "self", e.self), put(state, "ids", e.ids), put(state, "born", e.born);
    put(state, "table", m.budget.table.compact());
    put(state, "inverse", m.budget.gram.inverse.compact());
    put(state, "nearest", m.budget.neighbours.nearest), put(state, "distance", m.budget.neighbours.distance);
    put(state, "counters", std::vector<std::int64_t>{m.history.examples, m.history.mistakes, m.history.updates, e.next_birth,
                                                     m.budget.gram.since_rebuilt});
    put(state, "loss", std::vector<double>{m.history.loss});
    std::visit([&](const auto& kept) { put_rows(state, kept); }, core.store);
    return state;
}

void load_budget(const nb::dict& state, Budget& b, std::size_t slots) {
    const std::size_t square = slots * slots;
    const bool projects = b.projects(), nearest = b.limit > 0 && b.strategy == Forget::nearest;
    b.table.assign(get<double>(state, "table", projects || nearest ? square : 0).data(), projects || nearest ? slots : 0);
    b.gram.inverse.assign(get<double>(state, "inverse", projects ? square : 0).data(), projects ? slots : 0);
    b.neighbours.nearest = get<std::int64_t>(state, "nearest", nearest ? slots : 0);
    b.neighbours.distance = get<double>(state, "distance", nearest ? slots : 0);
    for (const std::int64_t n : b.neighbours.nearest)
        if (n < -1 || n >= static_cast<std::int64_t>(slots)) throw nb::value_error("nearest names a slot that is not there");
}

/// Puts back what `state_of` gave; the model is as before if something does not fit.
void load_state(KernelCore& core, const nb::dict& state) {
    KernelModel m = core.model;
    auto store = core.store;
    Expansion& e = m.expansion;
    if (!state.contains("ids")) throw nb::key_error("ids");
    const std::size_t slots = nb::cast<Column<std::int64_t>>(state["ids"]).size();
    e.coefs = padded_again(e, get<double>(state, "coef", slots * e.outputs).data(), slots);
    if (e.average) e.trails = padded_again(e, get<double>(state, "trail", slots * e.outputs).data(), slots);
    e.self = get<double>(state, "self", slots);
    e.ids = get<std::int64_t>(state, "ids", slots);
    e.born = get<std::int64_t>(state, "born", slots);
    const auto counters = get<std::int64_t>(state, "counters", 5);
    m.history.examples = counters[0], m.history.mistakes = counters[1], m.history.updates = counters[2];
    e.next_birth = counters[3], m.budget.gram.since_rebuilt = counters[4];
    m.history.loss = get<double>(state, "loss", 1)[0];
    e.rebuild_index();
    load_budget(state, m.budget, slots);
    std::visit([&](auto& kept) { load_rows(state, kept, slots); }, store);
    core.model = std::move(m), core.store = std::move(store);
}

/// Runs `work` while nobody writes.
template <class Work>
auto reading(KernelCore& core, Work&& work) {
    std::shared_lock lock(core.mutex, std::defer_lock);
    {
        nb::gil_scoped_release release;
        lock.lock();
    }
    return work();
}

template <class Work>
void writing(KernelCore& core, Work&& work) {
    std::unique_lock lock(core.mutex, std::defer_lock);
    {
        nb::gil_scoped_release release;
        lock.lock();
    }
    work();
}

/// The coefficients of a batch alone, or None if a hard batch contradicts itself.
nb::object solve_alone(const Group& group, const Table& gram, const Table& scores, const Labels& labels,
                       const Values& values, const Weights& weights) {
    const std::size_t n = gram.shape(0);
    const Lesson lesson = Targets{labels, values, weights}.lesson(n, n);
    check_targets({group}, lesson, n);
    if (gram.shape(1) != n || scores.shape(0) != n || scores.shape(1) != group.count)
        throw nb::value_error("gram must be n x n and scores n x outputs");
    std::vector<Target> targets;
    std::vector<Rule> rules;
    for (std::size_t k = 0; k < n; ++k) {
        targets.push_back(lesson.target(k));
        rules.push_back(group.rule.priced(lesson.weight(k)));
    }
    BatchWork work;
    std::vector<double> tau(n * group.count);
    const BatchProblem problem{n, gram.data(), scores.data(), targets.data(), rules.data()};
    if (!solve_batch(group, problem, tau.data(), work)) return nb::none();
    return nb::cast(to_numpy(std::move(tau), {n, group.count}));
}

}  // namespace

void bind_kernel(nb::module_& m) {
    nb::enum_<Kernel>(m, "Kernel")
        .value("linear", Kernel::linear).value("poly", Kernel::poly).value("rbf", Kernel::rbf)
        .value("sigmoid", Kernel::sigmoid).value("external", Kernel::external);
    nb::enum_<Forget>(m, "Forget")
        .value("simple", Forget::simple).value("nearest", Forget::nearest)
        .value("projection", Forget::projection).value("oldest", Forget::oldest);
    nb::class_<KernelShape>(m, "KernelShape", "What kind of kernel model to make.")
        .def("__init__", [](KernelShape* self, std::size_t features, std::size_t outputs, Kernel kernel, double gamma,
                            int degree, double coef0, bool intercept, bool average, Vote vote, std::size_t budget,
                            Forget forget) {
                 new (self) KernelShape{features, outputs, {kernel, gamma, degree, coef0}, intercept, average, vote,
                                        budget, forget};
             }, nb::kw_only(), "features"_a, "outputs"_a, "kernel"_a, "gamma"_a = 1.0, "degree"_a = 3, "coef0"_a = 0.0,
             "intercept"_a = true, "average"_a = false, "vote"_a = Vote::each, "budget"_a = 0, "forget"_a = Forget::simple);

    nb::class_<KernelCore>(m, "KernelModel", "Support vectors, their coefficients and the history.")
        .def(nb::init<const KernelShape&, std::vector<Group>, bool>(), "shape"_a, "groups"_a, "sparse"_a)
        .def("learn", [](KernelCore& self, const Rows& rows, Labels labels, Values values, Weights weights, Labels order,
                         std::size_t batch_size, std::int64_t first_id) {
                 self.learn(rows, {labels, values, weights}, order, batch_size, first_id);
             }, "rows"_a, "labels"_a.none() = nb::none(), "values"_a.none() = nb::none(),
             "weights"_a.none() = nb::none(), "order"_a.none() = nb::none(), "batch_size"_a = 1, "first_id"_a = 0,
             "Learn the rows, in order. A bad row raises and leaves the model as it was.")
        .def("learn_values", [](KernelCore& self, const Table& with_support, const Table& within, Labels labels,
                                Values values, Weights weights, Column<std::int64_t> ids, std::size_t batch_size) {
                 self.learn_values(with_support, within, {labels, values, weights}, ids, batch_size);
             }, "with_support"_a, "within"_a, "labels"_a.none(), "values"_a.none(), "weights"_a.none(), "ids"_a,
             "batch_size"_a = 1, "Learn a block of examples from kernel values computed outside.")
        .def("score", &KernelCore::score, "rows"_a, "Scores, one row per example and one column per output.")
        .def("coef", [](KernelCore& self) {
                 return reading(self, [&] {
                     const Expansion& e = self.model.expansion;
                     return to_numpy(unpadded(e, e.predictor(self.model.history.examples)), {e.size(), e.outputs});
                 });
             }, "The coefficients that predict, support vectors x outputs.")
        .def("ids", [](KernelCore& self) {
                 return reading(self, [&] { return to_numpy(self.model.expansion.ids, {self.model.expansion.size()}); });
             }, "Which example each support vector was.")
        .def("state", [](KernelCore& self) { return reading(self, [&] { return state_of(self); }); },
             "All arrays of the state by name.")
        .def("load_state", [](KernelCore& self, const nb::dict& state) { writing(self, [&] { load_state(self, state); }); },
             "state"_a, "Put back what state() gave.")
        .def("set_groups", [](KernelCore& self, std::vector<Group> groups) {
                 if (groups.size() != self.model.groups.size()) throw nb::value_error("the number of groups is fixed");
                 writing(self, [&] { self.model.groups = std::move(groups); });
             }, "groups"_a, "Change the rules; what was learned stays.")
        .def("support", [](KernelCore& self) {
                 return reading(self, [&] {
                     nb::dict rows;
                     std::visit([&](const auto& kept) { put_rows(rows, kept); }, self.store);
                     return rows;
                 });
             }, "The support vectors: `support`, or `data`, `indices` and `indptr`; nothing if they are kept outside.")
        .def_prop_ro("features", [](KernelCore& self) { return self.model.shape.features; })
        .def_prop_ro("size", [](KernelCore& self) { return self.model.expansion.size(); })
        .def_prop_ro("examples", [](KernelCore& self) { return self.model.history.examples; })
        .def_prop_ro("history", [](KernelCore& self) {
            const KernelHistory& h = self.model.history;
            return std::make_tuple(h.mistakes, h.updates, h.loss);
        }, "Mistakes, updates and loss, each example judged before it was learned.");

    m.def("solve_batch", &solve_alone, "group"_a, "gram"_a, "scores"_a, "labels"_a.none() = nb::none(),
          "values"_a.none() = nb::none(), "weights"_a.none() = nb::none(),
          "The exact step of a mini-batch: coefficients, or None if a hard batch contradicts itself.");
}
