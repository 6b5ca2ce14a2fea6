// Python's kernel model: locked, with all-or-nothing updates, without the GIL.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <variant>

#include "arrays.hpp"
#include "guard.hpp"
#include "kernel/passes.hpp"
#include "training_batch.hpp"

namespace aggro {

/// A model, its support vectors and their lock.
class KernelCore {
  public:
    using AnyStore = std::variant<DenseStore, SparseStore, OutsideStore>;

    KernelCore(const KernelShape& shape, std::vector<Group> groups, bool sparse)
        : model(shape, std::move(groups)), store(store_for(shape, sparse)) {}

    /// Learn, or throw and leave the model unchanged.
    void learn(TrainingBatch training, std::int64_t first_id, const Margins<2>& margins) {
        change([&] {
            check_features(training.x, model.shape.features);
            check_order(training, training.x.rows);
            check_targets(model.groups, training);
            check_batch(training, model.shape.outputs);
            record_margins(training, margins);
            all_or_nothing(harmless(model, training), [&] {
                std::visit(
                    [&](auto& kept) {
                        if constexpr (outside<decltype(kept)>)
                            throw std::invalid_argument(
                                "this kernel is computed outside: use learn_values");
                        else
                            learn_rows(model, kept, training, first_id);
                    },
                    store);
            });
        });
    }

    void learn_values(const Table& with_support, const Table& within, TrainingBatch training,
                      const Column<std::int64_t>& ids, const Margins<2>& margins) {
        const std::size_t rows = ids.size();
        change([&] {
            auto* kept = std::get_if<OutsideStore>(&store);
            if (!kept) throw std::invalid_argument("this kernel is computed inside: use learn");
            check_targets(model.groups, training);
            if (with_support.shape(0) != rows || with_support.shape(1) != kept->size() ||
                within.shape(0) != rows || within.shape(1) != rows)
                throw std::invalid_argument(
                    "kernel values are needed with every support vector and every row");
            record_margins(training, margins);
            all_or_nothing(false, [&] {
                aggro::learn_values(model, *kept, training, with_support.data(), within.data(),
                                    ids.data());
            });
        });
    }

    nb::ndarray<nb::numpy, double> score(const Rows& rows) {
        const Matrix& x = rows.matrix;
        std::vector<double> out;
        in_python_words([&] {
            guard.read([&] {
                check_features(x, model.shape.features);
                out = score_buffer<double>(x, model.shape.outputs);
                std::visit(
                    [&](const auto& kept) {
                        if constexpr (outside<decltype(kept)>)
                            throw std::invalid_argument(
                                "this kernel is computed outside: multiply by coef()");
                        else
                            score_rows(model, kept, x, out.data());
                    },
                    store);
            });
        });
        return to_numpy(std::move(out), {x.rows, model.shape.outputs});
    }

    /// Continue another core with more classes: `change`, new x old, maps its outputs to the new
    /// ones. If its only class is now the first, its scores of zero were correct.
    void add_classes(KernelCore& from, const std::vector<double>& change, bool first) {
        Guard::alone_with_all({&guard, &from.guard}, [&] {
            const std::size_t outputs = model.shape.outputs;
            if (change.size() != outputs * from.model.shape.outputs)
                throw std::invalid_argument("these models have another shape");
            model.expansion = from.model.expansion.with_outputs(outputs, change);
            model.budget = from.model.budget;
            model.history = from.model.history;
            if (first) model.history.mistakes -= model.history.ties;
            store = from.store;
        });
    }

    KernelModel model;
    AnyStore store;
    Guard guard;

  private:
    static AnyStore store_for(const KernelShape& shape, bool sparse) {
        if (shape.kernel.kind == Kernel::external) return OutsideStore();
        // rows multiplied together, expanded to all features
        constexpr double side_by_side = 8;
        check_memory(side_by_side * static_cast<double>(shape.features) * sizeof(double),
                     "a kernel on " + std::to_string(shape.features) + " features",
                     "use fewer features");
        if (sparse) return SparseStore(shape.features);
        return DenseStore(shape.features);
    }

    template <class Store>
    static constexpr bool outside = std::is_same_v<std::decay_t<Store>, OutsideStore>;

    /// Set the output for the scores of the rows before they are learned.
    void record_margins(TrainingBatch& training, const Margins<2>& margins) const {
        if (!margins) return;
        if (margins->shape(0) != training.count || margins->shape(1) != model.shape.outputs)
            throw std::invalid_argument("margins need the shape rows x outputs");
        RecordedMargins::check_all_count(training);
        training.margins = margins->data();
    }

    template <class Work>
    void change(Work&& work) {
        in_python_words([&] { guard.write(work); });
    }

    /// Run `work` and restore a copy if an example is rejected; an interrupt keeps what was
    /// learned. The copy takes less time than predicting one row; if `safe`, none is needed.
    template <class Work>
    void all_or_nothing(bool safe, Work&& work) {
        if (safe) return work();
        const KernelModel model_before = model;
        const AnyStore store_before = store;
        try {
            work();
        } catch (const Interrupted&) {
            throw;
        } catch (...) {
            model = model_before, store = store_before;
            throw;
        }
    }
};

}  // namespace aggro
