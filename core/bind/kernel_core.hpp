// A kernel model as Python sees it: locked, all or nothing, without the interpreter's lock.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <mutex>
#include <optional>
#include <shared_mutex>
#include <variant>

#include "arrays.hpp"
#include "kernel_passes.hpp"

namespace aggro {

using Labels = std::optional<Column<std::int64_t>>;
using Weights = std::optional<Column<double>>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = std::optional<Table>;
using Margins = std::optional<nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>>;

struct Targets {
    Labels labels;
    Values values;
    Weights weights;
    Margins margins =
        {};  ///< to be filled with what the predictor says of each row before it learns

    Lesson lesson(std::size_t rows, std::size_t batch_size) const {
        const bool fits = (!labels || labels->size() == rows) &&
                          (!values || values->shape(0) == rows) &&
                          (!weights || weights->size() == rows);
        if (!fits) throw nb::value_error("labels, targets and weights need one entry for each row");
        Lesson lesson;
        lesson.count = rows;
        lesson.batch_size = batch_size;
        if (labels) lesson.labels = labels->data();
        if (values) lesson.values = values->data(), lesson.columns = values->shape(1);
        if (weights) lesson.weights = weights->data();
        if (margins) lesson.margins = margins->data();
        lesson.interrupted = [] {
            nb::gil_scoped_acquire hold;
            return PyErr_CheckSignals() != 0;
        };
        return lesson;
    }
};

inline void check_targets(const std::vector<Group>& groups, const Lesson& lesson,
                          std::size_t rows) {
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
    void learn(const Rows& rows, const Targets& targets, const Labels& order,
               std::size_t batch_size, std::int64_t first_id) {
        Lesson lesson = targets.lesson(rows.matrix.rows, batch_size);
        lesson.x = rows.matrix;
        if (order) lesson.order = order->data(), lesson.count = order->size();
        check(lesson);
        check_margins(targets.margins, lesson);
        guarded(harmless_now(lesson), [&] {
            std::visit(
                [&](auto& kept) {
                    if constexpr (std::is_same_v<std::decay_t<decltype(kept)>, OutsideStore>)
                        throw std::invalid_argument(
                            "this kernel is computed outside: use learn_values");
                    else
                        learn_rows(model, kept, lesson, first_id);
                },
                store);
        });
    }

    void learn_values(const Table& with_support, const Table& within, const Targets& targets,
                      const Column<std::int64_t>& ids, std::size_t batch_size) {
        const std::size_t rows = ids.size();
        const Lesson lesson = targets.lesson(rows, batch_size);
        auto& kept = std::get<OutsideStore>(store);
        check_targets(model.groups, lesson, rows);
        check_margins(targets.margins, lesson);
        if (with_support.shape(0) != rows || with_support.shape(1) != kept.size() ||
            within.shape(0) != rows || within.shape(1) != rows)
            throw nb::value_error(
                "kernel values are needed with every support vector and every row");
        guarded(false, [&] {
            aggro::learn_values(model, kept, lesson, with_support.data(), within.data(),
                                ids.data());
        });
    }

    nb::ndarray<nb::numpy, double> score(const Rows& rows) {
        const Matrix& x = rows.matrix;
        check_features(x);
        std::vector<double> out(x.rows * model.shape.outputs);
        {
            nb::gil_scoped_release release;
            std::shared_lock lock(mutex);
            std::visit(
                [&](const auto& kept) {
                    if constexpr (std::is_same_v<std::decay_t<decltype(kept)>, OutsideStore>)
                        throw std::invalid_argument(
                            "this kernel is computed outside: multiply by coef()");
                    else
                        score_rows(model, kept, x, out.data());
                },
                store);
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
        throw nb::value_error(("X has " + std::to_string(x.features) +
                               " features, but the model has " +
                               std::to_string(model.shape.features))
                                  .c_str());
    }

    void check(const Lesson& lesson) const {
        check_features(lesson.x);
        for (std::size_t i = 0; i < lesson.count; ++i)
            if (lesson.row(i) >= lesson.x.rows)
                throw nb::value_error("order names a row that is not there");
        check_targets(model.groups, lesson, lesson.x.rows);
    }

    void check_margins(const Margins& margins, const Lesson& lesson) const {
        if (!margins) return;
        bool fits = margins->shape(0) == lesson.count && margins->shape(1) == model.shape.outputs;
        for (std::size_t i = 0; i < lesson.count; ++i) fits &= lesson.weight(lesson.row(i)) > 0;
        if (!fits) throw nb::value_error("margins need room for rows (of some weight) x outputs");
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

}  // namespace aggro
