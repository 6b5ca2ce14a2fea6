// State of a stream: names, classes, the model, waiting examples.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "features.hpp"
#include "stream/recency.hpp"

namespace aggro {

/// Bounds of a stream, and its overflow strategy.
struct Bounds {
    std::size_t batch_size = 1;
    std::size_t max_features = 0;  ///< 0: no bound
    bool hashed =
        false;           ///< slots are hashes of names; otherwise a new feature replaces the oldest
    bool zeros = false;  ///< new features of value zero get slots, until half of these are taken

    bool drops() const { return max_features > 0 && !hashed; }
    std::size_t buckets() const { return hashed ? max_features : 0; }
};

/// Return a copy of the array of this name.
template <class V>
inline std::vector<V> column(const nb::dict& arrays, const char* name) {
    const auto array = array_of<Column<V>>(arrays, name);
    return {array.data(), array.data() + array.size()};
}

/// Load arrays of the same sizes into a model.
inline void load(Model<double>& model, const nb::dict& arrays) {
    model.visit_saved([&](const char* name, Per, auto* data, std::size_t size) {
        if (size == 0) return;
        const auto values = column<std::remove_pointer_t<decltype(data)>>(arrays, name);
        if (values.size() != size)
            throw nb::value_error((std::string(name) + " has another size").c_str());
        std::copy(values.begin(), values.end(), data);
    });
}

/// Return a vocabulary of the names, which must be distinct, in this order.
inline Vocabulary vocabulary_of(const nb::list& names) {
    Vocabulary vocabulary;
    for (nb::handle name : names) {
        const Py_hash_t hash = Vocabulary::hash_of(name);
        if (vocabulary.find(name, hash) != Vocabulary::absent)
            throw nb::value_error("a name is given twice");
        vocabulary.add(name, hash);
    }
    return vocabulary;
}

struct StreamState {
    Vocabulary features, classes;
    Recency recency;  ///< of the slots, if the oldest is replaced
    std::unique_ptr<StreamModel> model;
    Waiting waiting;
    nb::object selection =
        nb::none();        ///< a model selection of the Python side, instead of the model
    bool several = false;  ///< an example has a set of labels; one more output stands for new ones

    bool selects() const { return !selection.is_none(); }
    /// Return the number of targets of an example.
    std::size_t targets() const {
        return several ? std::max<std::size_t>(classes.size(), 1) + 1 : 1;
    }

    StreamState copy() const {
        StreamState all = copy_without_model();
        if (model) all.model = model->copy();
        if (selects()) all.selection = nb::module_::import_("copy").attr("deepcopy")(selection);
        return all;
    }
    /// Return a copy without the model, for callers that replace the model.
    StreamState copy_without_model() const {
        return {features, classes, recency, nullptr, waiting, selection, several};
    }

    /// Append the new features of a reading to its row, with their future slots.
    Reading::Slots find_slots(Reading& reading, const Bounds& bounds) const {
        Reading::Slots found;
        if (bounds.drops()) check_size(reading, bounds);
        std::vector<std::int32_t> used;
        if (bounds.drops()) {
            const StreamRow row = reading.row();
            used.assign(row.indices, row.indices + row.size);
            std::sort(used.begin(), used.end());
        }
        auto slot = static_cast<std::int32_t>(features.size());
        std::int32_t oldest = recency.oldest();
        for (std::size_t i = 0; i < reading.fresh.size(); ++i) {
            const std::size_t same = reading.first_like(i);
            if (same < i) {
                found.fresh.push_back(found.fresh[same]);
            } else if (!bounds.drops() || slot < static_cast<std::int32_t>(bounds.max_features)) {
                found.fresh.push_back(slot++);
            } else {
                while (std::binary_search(used.begin(), used.end(), oldest))
                    oldest = recency.newer(oldest);
                found.fresh.push_back(oldest);
                found.replaced.push_back(oldest);
                oldest = recency.newer(oldest);
            }
            reading.place(found.fresh.back(), reading.fresh[i].value);
        }
        reading.merge(std::max(static_cast<std::size_t>(slot), bounds.buckets()));
        return found;
    }

    /// Store the slots of the new features of a reading.
    void take_slots(const Reading& reading, const Reading::Slots& found, const Bounds& bounds) {
        for (std::size_t i = 0; i < reading.fresh.size(); ++i) {
            const auto& [name, hash, value] = reading.fresh[i];
            if (reading.first_like(i) < i) continue;
            if (found.fresh[i] == static_cast<std::int32_t>(features.size()))
                features.add(name, hash);
            else
                features.replace(found.fresh[i], name, hash);
        }
        const StreamRow row = reading.row();
        for (std::size_t k = 0; bounds.drops() && k < row.size; ++k) recency.touch(row.indices[k]);
    }

    /// Assign slots to the new features of a reading.
    void assign_slots(Reading& reading, const Bounds& bounds) {
        if (bounds.drops()) {
            check_size(reading, bounds);
            const StreamRow row = reading.row();
            for (std::size_t k = 0; k < row.size; ++k) recency.touch(row.indices[k]);
        }
        for (const Reading::Fresh& fresh : reading.fresh) {
            std::int32_t slot = features.find(fresh.name, fresh.hash);
            if (slot == Vocabulary::absent) slot = slot_for(fresh, bounds);
            reading.place(slot, fresh.value);
        }
        model->model.grow(std::max(features.size(), model->model.shape.features));
        reading.merge(model->model.shape.features);
    }

    void learn_waiting() {
        model->learn(waiting.members());
        waiting = {};
    }

    /// Return all arrays by name; without `with_model`, those of the model are omitted.
    nb::dict arrays(bool with_model) {
        nb::dict state;
        const auto keep = [&](const char* name, auto values) {
            const std::size_t size = values.size();
            state[name] = to_numpy(std::move(values), {size});
        };
        if (with_model && !selects())
            model->model.visit_saved([&](const char* name, Per, auto* data, std::size_t size) {
                using V = std::remove_pointer_t<decltype(data)>;
                if (size > 0) keep(name, std::vector<V>(data, data + size));
            });
        visit_waiting(keep);
        keep("recency", recency.order());
        keep("ignored", features.all_ignored());
        return state;
    }

    /// Restore what `arrays` returned without the model, and check its consistency.
    void resume(const nb::list& names, const nb::dict& arrays, const Bounds& bounds) {
        features = vocabulary_of(names);
        const auto order = column<std::int32_t>(arrays, "recency");
        for (const std::int32_t slot : column<std::int32_t>(arrays, "ignored")) {
            if (slot < 0 || static_cast<std::size_t>(slot) >= features.size())
                throw nb::value_error("an ignored feature has no name");
            features.ignore(slot);
        }
        visit_waiting([&](const char* name, auto& values) {
            values = column<typename std::decay_t<decltype(values)>::value_type>(arrays, name);
        });
        waiting.extreme = true;
        const bool listed =
            order.size() == (bounds.drops() ? features.size() : 0) && is_permutation(order);
        if (!listed || !waiting_fits(bounds))
            throw nb::value_error("the state of the stream is inconsistent");
        recency = Recency::from_order(order);
    }

    /// Return mistakes, updates and loss so far (progressive validation).
    nb::tuple progress() const {
        const Model<double>& m = model->model;
        double updates = 0, loss = 0;
        for (std::size_t g = 0; g < m.groups.size(); ++g) {
            updates += static_cast<double>(m.group_counts.updates[g]);
            loss += m.group_counts.loss[g];
        }
        return nb::make_tuple(m.record.mistakes[0], updates, loss);
    }

    /// Return the predicting weights, slots x outputs, and the intercepts.
    nb::tuple weights() const {
        const Model<double>& m = model->model;
        const std::size_t slots = m.shape.features, outputs = m.shape.outputs;
        std::vector<double> out(slots * outputs);
        const std::vector<bool> averaged = predicts_by_mean(m);
        each_weight(m, averaged, [&](std::size_t j, std::size_t k, double weight) {
            out[j * outputs + k] = weight;
        });
        return nb::make_tuple(to_numpy(std::move(out), {slots, outputs}),
                              to_numpy(effective_bias(m, averaged), {outputs}));
    }

    /// Add weight x value of each entry of a row to `sums`, one per output.
    void add_contributions(const StreamRow& x, double* sums) const {
        const Model<double>& m = model->model;
        const std::vector<bool> averaged = predicts_by_mean(m);
        for (std::size_t i = 0; i < x.size; ++i)
            each_weight_of(m, averaged, x.feature(i),
                           [&](std::size_t k, double weight) { sums[k] += weight * x.values[i]; });
    }

  private:
    /// Return whether the numbers are a permutation of 0 .. n-1.
    static bool is_permutation(std::vector<std::int32_t> numbers) {
        std::sort(numbers.begin(), numbers.end());
        for (std::size_t i = 0; i < numbers.size(); ++i)
            if (numbers[i] != static_cast<std::int32_t>(i)) return false;
        return true;
    }

    bool waiting_fits(const Bounds& bounds) const {
        const Waiting& w = waiting;
        const std::size_t n = w.size();
        const auto within = [](const auto& values, std::size_t end) {
            return std::all_of(values.begin(), values.end(),
                               [&](auto v) { return v >= 0 && static_cast<std::size_t>(v) < end; });
        };
        const bool unlabelled =
            std::all_of(w.labels.begin(), w.labels.end(), [](auto c) { return c == -1; });
        return n < std::max<std::size_t>(bounds.batch_size, 1) && w.labels.size() == n &&
               w.targets.size() == n * targets() && w.weights.size() == n &&
               w.slots.size() == w.values.size() && std::is_sorted(w.ends.begin(), w.ends.end()) &&
               (n == 0 ? w.values.empty()
                       : w.ends[0] >= 0 && w.ends[n - 1] == std::ssize(w.values)) &&
               within(w.slots, selects() ? std::max(features.size(), bounds.buckets())
                                         : model->model.shape.features) &&
               (classes.size() == 0 || several ? unlabelled : within(w.labels, classes.size()));
    }

    std::int32_t slot_for(const Reading::Fresh& fresh, const Bounds& bounds) {
        if (!bounds.drops()) return features.add(fresh.name, fresh.hash);
        std::int32_t slot;
        if (features.size() < bounds.max_features) {
            slot = features.add(fresh.name, fresh.hash);
        } else {
            slot = recency.oldest();
            model->forget(static_cast<std::size_t>(slot));
            features.replace(slot, fresh.name, fresh.hash);
        }
        recency.touch(slot);
        return slot;
    }

    /// Raise if the features of this example and of the waiting ones exceed max_features.
    void check_size(const Reading& reading, const Bounds& bounds) const {
        if (reading.fresh.empty()) return;
        std::vector<std::int32_t> needed = waiting.slots;
        const StreamRow row = reading.row();
        needed.insert(needed.end(), row.indices, row.indices + row.size);
        std::sort(needed.begin(), needed.end());
        needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
        if (needed.size() + reading.fresh.size() <= bounds.max_features) return;
        const std::string most = "max_features=" + std::to_string(bounds.max_features);
        throw nb::value_error(("this example (with those of its batch) has more than " + most +
                               " features; allow more")
                                  .c_str());
    }

    template <class Visit>
    void visit_waiting(Visit&& visit) {
        visit("waiting_values", waiting.values);
        visit("waiting_slots", waiting.slots);
        visit("waiting_ends", waiting.ends);
        visit("waiting_labels", waiting.labels);
        visit("waiting_targets", waiting.targets);
        visit("waiting_weights", waiting.weights);
    }
};

}  // namespace aggro
