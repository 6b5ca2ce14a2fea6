// Python's linear model: locked, with all-or-nothing updates.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "changes.hpp"
#include "guard.hpp"
#include "linear/add_classes.hpp"
#include "linear/learn_models.hpp"
#include "linear/select.hpp"
#include "training_batch.hpp"

namespace aggro {

template <class T>
class LinearCore {
  public:
    LinearCore(const Shape& shape, std::vector<Group> groups, std::vector<std::size_t> own_sum)
        : model(shape, std::move(groups), std::move(own_sum)) {}
    explicit LinearCore(const Model<T>& other) : model(other) {}

    /// Learn the rows in all models, or throw and leave all of them unchanged.
    static void learn(const std::vector<LinearCore*>& cores, TrainingBatch training,
                      const RecordedMargins& margins, bool undo, std::size_t threads,
                      bool check = true) {
        training.undo = undo;
        training.check = check;
        training.threads = std::max<std::size_t>(threads, 1);
        in_python_words([&] {
            Guard::write_all(guards(cores), [&] {
                for (const LinearCore* core : cores) core->check(training);
                margins.begin(training, shapes(cores));
                learn_together(models(cores), training);
            });
        });
    }

    nb::ndarray<nb::numpy, T> score(const Matrix& x, std::size_t threads) {
        const std::size_t outputs = model.shape.outputs;
        std::vector<T> out;
        in_python_words([&] {
            guard.read([&] {
                check_features(x, model.shape.features);
                out = score_buffer<T>(x, outputs);
                score_all(model, x, out.data(), threads);
            });
        });
        return to_numpy(std::move(out), {x.rows, outputs});
    }

    nb::ndarray<nb::numpy, double> ensemble_score(const Matrix& x, std::size_t threads) {
        std::vector<double> out(x.rows);
        in_python_words([&] {
            guard.read([&] {
                check_features(x, model.shape.features);
                score_ensemble(model, x, out.data(), threads);
            });
        });
        return to_numpy(std::move(out), {x.rows});
    }

    /// Return the weights and the intercept of the ensemble prediction.
    nb::ndarray<nb::numpy, double> ensemble_coefficients() {
        std::vector<double> out = guard.read([&] {
            auto [weights, bias] = aggro::ensemble_coefficients(model);
            weights.push_back(bias);
            return weights;
        });
        const std::size_t size = out.size();
        return to_numpy(std::move(out), {size});
    }

    /// Return copies of all arrays of the state by name.
    nb::dict state() {
        std::vector<std::pair<std::string, Array>> arrays;
        guard.alone([&] {
            model.visit_saved([&](const char* name, Per, auto* data, std::size_t size) {
                using V = std::remove_pointer_t<decltype(data)>;
                if (size > 0) arrays.emplace_back(name, std::vector<V>(data, data + size));
            });
        });
        nb::dict state;
        for (auto& [name, array] : arrays)
            std::visit(
                [&](auto& values) {
                    const std::size_t size = values.size();
                    state[name.c_str()] = to_numpy(std::move(values), {size});
                },
                array);
        return state;
    }

    /// Return the kind of each array of the state by name.
    nb::dict layout() {
        constexpr const char* names[] = {"column", "slot",   "feature", "output", "mixture",
                                         "group",  "matrix", "model",   "shared"};
        std::vector<std::pair<std::string, const char*>> kinds;
        guard.alone([&] {
            model.visit_saved([&](const char* name, Per per, auto*, std::size_t size) {
                if (size > 0) kinds.emplace_back(name, names[static_cast<int>(per)]);
            });
        });
        nb::dict layout;
        for (const auto& [name, kind] : kinds) layout[name.c_str()] = kind;
        return layout;
    }

    /// Restore what `state` returned; if an array does not fit, nothing is changed.
    void load_state(const nb::dict& state) {
        const Guard::Hold hold(guard);
        std::vector<nb::object> arrays;
        model.visit_saved([&](const char* name, Per, auto* data, std::size_t size) {
            using V = std::remove_pointer_t<decltype(data)>;
            if (size == 0) return;
            if (!state.contains(name)) {
                constexpr std::string_view later[] = {
                    "class_sum_rest", "ensemble_weight", "margin_size",
                    "margin_loss"};  // arrays that may be missing in a state
                if (std::find(std::begin(later), std::end(later), name) == std::end(later))
                    throw nb::key_error(name);
                return arrays.push_back(nb::none());
            }
            const auto array = array_of<Column<V>>(state, name);
            if (array.size() != size)
                throw nb::value_error((std::string(name) + " has " + std::to_string(array.size()) +
                                       " values, expected " + std::to_string(size))
                                          .c_str());
            arrays.push_back(nb::cast(array));
        });
        std::size_t i = 0;
        model.visit_saved([&](const char*, Per, auto* data, std::size_t size) {
            using V = std::remove_pointer_t<decltype(data)>;
            if (size == 0) return;
            const nb::object& array = arrays[i++];
            if (array.is_none()) return void(std::fill_n(data, size, V(0)));
            std::memcpy(data, nb::cast<Column<V>>(array).data(), size * sizeof(V));
        });
    }

    /// Continue some models of another core; `labels` are the outputs of each that continue in
    /// those of the new ones, by default all.
    void continue_models(LinearCore& from, const std::vector<std::size_t>& models,
                         const std::vector<std::size_t>& labels) {
        Guard::alone_with_all({&guard, &from.guard}, [&] {
            const Shape &own = model.shape, &other = from.model.shape;
            for (const std::size_t each : models)
                if (each >= other.models) throw std::invalid_argument("there is no such model");
            const std::size_t before = other.outputs / other.models;
            for (const std::size_t each : labels)
                if (each >= before || from.model.groups_per_model() != before)
                    throw std::invalid_argument("there is no such label");
            if (models.size() != own.models || own.features != other.features ||
                own.outputs != own.models * (labels.empty() ? before : labels.size()))
                throw std::invalid_argument("these models have another shape");
            aggro::continue_models(model, from.model, models, labels);
        });
    }

    /// Continue another core of the same settings whose feature j is at `places[j]` here, or is
    /// left out if that is -1.
    void continue_features(LinearCore& from, const Column<std::int64_t>& places) {
        Guard::alone_with_all({&guard, &from.guard}, [&] {
            const auto features = static_cast<std::int64_t>(model.shape.features);
            const std::vector<std::int64_t> all(places.data(), places.data() + places.size());
            for (const std::int64_t place : all)
                if (place < -1 || place >= features)
                    throw std::invalid_argument("there is no such feature");
            if (all.size() != from.model.shape.features ||
                model.shape.outputs != from.model.shape.outputs)
                throw std::invalid_argument("the models have different shapes");
            aggro::continue_features(model, from.model, all);
        });
    }

    /// Return a copy of the model.
    LinearCore* copy() {
        return guard.peek([&] {
            auto* other = new LinearCore(model);
            other->model.detach();
            return other;
        });
    }

    /// Return what the model has learned since a start, as fields of Python's `Change`.
    nb::dict change_since(LinearCore& start) {
        const Guard::Hold hold(guard), other(start.guard);
        return aggro::change_since(model, start.model);
    }

    /// Add the changes of all models that continued this one.
    void apply_change(nb::handle change, const Blend& blend) {
        const Change sum(change);
        guard.write([&] { aggro::apply_change(model, sum, blend); });
    }

    /// Continue another core with more classes: see `NewClasses`.
    void add_classes(LinearCore& from, std::vector<std::size_t> position,
                     std::vector<double> change) {
        Guard::alone_with_all({&guard, &from.guard}, [&] {
            aggro::add_classes(model, from.model, {std::move(position), std::move(change)});
        });
    }

    /// Return a view of the weights, features x outputs. Writing to it changes the model.
    nb::ndarray<nb::numpy, T> weights_view() {
        const Block<T> weights = guard.peek([&] { return model.weights; });
        auto* kept = new Block<T>(weights);
        nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Block<T>*>(p); });
        const auto stride = static_cast<std::int64_t>(weights.stride());
        return nb::ndarray<nb::numpy, T>(kept->data(), {weights.rows(), model.shape.outputs}, owner,
                                         {stride, 1});
    }

    /// Set the predicting weights, features x outputs, and intercepts.
    void set_weights(const std::optional<
                         nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>>& weights,
                     const std::optional<Column<double>>& bias) {
        const std::size_t features = model.shape.features, outputs = model.shape.outputs;
        const bool fits =
            (!weights || (weights->shape(0) == features && weights->shape(1) == outputs)) &&
            (!bias || bias->size() == outputs);
        if (!fits) throw std::invalid_argument("weights and intercepts need one entry per output");
        guard.write([&] {
            aggro::set_weights(model, weights ? weights->data() : nullptr,
                               bias ? bias->data() : nullptr);
        });
    }

    /// Write the predicting weights, features x outputs.
    nb::ndarray<nb::numpy, T> weights() {
        std::vector<T> out;
        const std::size_t features = guard.read([&] {
            out.resize(model.shape.features * model.shape.outputs);
            write_weights(model, out.data());
            return model.shape.features;
        });
        return to_numpy(std::move(out), {features, model.shape.outputs});
    }

    nb::ndarray<nb::numpy, double> bias() {
        std::vector<double> bias =
            guard.read([&] { return effective_bias(model, predicts_by_mean(model)); });
        return to_numpy(std::move(bias), {model.shape.outputs});
    }

    void set_groups(std::vector<Group> groups) {
        guard.write([&] {
            if (groups.size() != model.groups.size())
                throw std::invalid_argument("the number of groups is fixed");
            model.groups = std::move(groups);
        });
    }

    /// Return mistakes, updates and loss of each group.
    std::vector<std::tuple<std::int64_t, std::int64_t, double>> group_counts() {
        return guard.peek([&] {
            std::vector<std::tuple<std::int64_t, std::int64_t, double>> out;
            const GroupCounts& t = model.group_counts;
            for (std::size_t i = 0; i < t.loss.size(); ++i)
                out.emplace_back(t.mistakes[i], t.updates[i], t.loss[i]);
            return out;
        });
    }

    static std::vector<Guard*> guards(const std::vector<LinearCore*>& cores) {
        std::vector<Guard*> all;
        for (LinearCore* core : cores) all.push_back(&core->guard);
        return all;
    }
    static std::vector<Shape> shapes(const std::vector<LinearCore*>& cores) {
        std::vector<Shape> all;
        for (const LinearCore* core : cores) all.push_back(core->model.shape);
        return all;
    }
    static std::vector<Model<T>*> models(const std::vector<LinearCore*>& cores) {
        std::vector<Model<T>*> all;
        for (LinearCore* core : cores) all.push_back(&core->model);
        return all;
    }

    void check(const TrainingBatch& training) const {
        check_features(training.x, model.shape.features);
        check_order(training, training.x.rows);
        check_targets(model.groups, training);
        check_batch(training, model.shape.outputs);
    }

    Model<T> model;
    Guard guard;

  private:
    using Array = std::variant<std::vector<float>, std::vector<double>, std::vector<std::int64_t>>;
};

/// A transaction over several calls, for models held by Python.
template <class T>
class BoundTransaction {
  public:
    BoundTransaction(std::vector<LinearCore<T>*> all, const TrainingBatch& training)
        : cores(std::move(all)) {
        Guard::write_all(LinearCore<T>::guards(cores), [&] {
            for (const LinearCore<T>* core : cores) core->check(training);
            before = std::make_unique<Transaction<T>>(LinearCore<T>::models(cores), training);
        });
        for (LinearCore<T>* core : cores) kept.push_back(nb::find(core));
    }
    BoundTransaction(const BoundTransaction&) = delete;
    ~BoundTransaction() {
        Guard::alone_with_all(LinearCore<T>::guards(cores), [&] { before.reset(); });
    }

    void restore() {
        Guard::write_all(LinearCore<T>::guards(cores), [&] { before->restore(); });
    }

    void end() {
        Guard::alone_with_all(LinearCore<T>::guards(cores), [&] { before->end(); });
    }

    void check() {
        in_python_words(
            [&] { Guard::write_all(LinearCore<T>::guards(cores), [&] { before->check(); }); });
    }

  private:
    std::vector<LinearCore<T>*> cores;
    std::unique_ptr<Transaction<T>>
        before;  ///< registered with the models: created and destroyed under their locks
    std::vector<nb::object> kept;  ///< references that keep the models alive
};

}  // namespace aggro
