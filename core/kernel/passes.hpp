// Passes of a kernel learner over many rows or over precomputed kernel values.
#pragma once
#include "kernel/learn.hpp"
#include "linear/passes.hpp"

namespace aggro {

/// Checks regularly for an interrupt.
class InterruptCheck {
  public:
    explicit InterruptCheck(const TrainingBatch& training) : interrupted(training.interrupted) {}
    void after(std::size_t multiply_adds) {
        work += multiply_adds;
        if (work < (std::size_t{1} << 22)) return;
        work = 0;
        if (interrupted && interrupted()) throw Interrupted();
    }

  private:
    const std::function<bool()>& interrupted;
    std::size_t work = 0;
};

/// Return the number of rows in a block: enough for the matrix product to run at full speed, few
/// enough that their products with each other and their memory do not matter.
inline std::size_t block_rows(std::size_t support, std::size_t batch_size) {
    constexpr std::size_t most_values = std::size_t{1} << 19;
    std::size_t rows = std::clamp<std::size_t>(support / 128 * 8, 8, 64);
    while (rows > 8 && rows * support > most_values) rows -= 8;
    return std::max(batch_size, rows / batch_size * batch_size);
}

/// Fill a block with the next rows of positive weight and their kernel values.
template <class Store, class Row>
inline void next_block(const KernelModel& m, const Store& store, const TrainingBatch& training,
                       std::int64_t first_id, std::size_t most,
                       Reader<double, Row, Order::rising>& reader, std::size_t& at,
                       KernelBlock<Store>& block) {
    block.clear();
    block.examples.resize(most, m.shape.features);
    for (; at < training.count && block.rows < most; ++at) {
        const std::size_t r = training.row(at);
        if (training.weight(r) == 0) continue;
        try {
            block.examples.set(block.rows++, reader.row(r));
        } catch (const BadExample& bad) {
            throw BadRow(r, bad.what());
        }
        block.targets.push_back(training.target(r));
        block.weights.push_back(training.weight(r));
        block.ids.push_back(first_id + static_cast<std::int64_t>(r));
    }
    block.evaluate(m.shape.kernel, m.shape.shift(), store);
}

/// Learn the rows of a batch in order. Row r has the id first_id + r; learning it again adds to its
/// coefficient.
template <class Store>
inline void learn_rows(KernelModel& m, Store& store, const TrainingBatch& training,
                       std::int64_t first_id) {
    KernelLearn<Store> learn(m, store);
    learn.margins = training.margins;
    KernelBlock<Store> block;
    with_row_type<double, std::int64_t>(training.x, [&](auto kind) {
        Reader<double, decltype(kind), Order::rising> reader(training.x);
        InterruptCheck check(training);
        for (std::size_t at = 0; at < training.count;) {
            const std::size_t most = block_rows(store.size(), training.batch_size);
            next_block(m, store, training, first_id, most, reader, at, block);
            try {
                learn(block, training.batch_size);
            } catch (const BadExample& bad) {
                throw BadRow(static_cast<std::size_t>(block.ids[learn.current] - first_id),
                             bad.what());
            }
            check.after(block.rows * (store.size() + 8) * (m.shape.features + 8));
        }
    });
}

/// Learn one block from its kernel values with the support vectors (rows x slots) and within.
inline void learn_values(KernelModel& m, OutsideStore& store, const TrainingBatch& training,
                         const double* with_support, const double* within,
                         const std::int64_t* ids) {
    KernelBlock<OutsideStore> block;
    const std::size_t n = store.size();
    block.rows = training.count;
    block.reserve(n);
    std::vector<double> inner(within, within + block.rows * block.rows);
    for (double& value : inner) value += m.shape.shift();
    block.set_inner(inner.data());
    for (std::size_t r = 0; r < block.rows; ++r) {
        block.targets.push_back(training.target(r));
        block.weights.push_back(training.weight(r));
        block.ids.push_back(ids[r]);
        for (std::size_t i = 0; i < n; ++i)
            block.kernel(r)[i] = with_support[r * n + i] + m.shape.shift();
    }
    KernelLearn<OutsideStore> learn(m, store);
    learn.margins = training.margins;
    learn(block, training.batch_size);
}

/// Scores of the model's predictor, row-major: out[i * outputs + k].
template <class Store>
inline void score_rows(const KernelModel& m, const Store& store, const Matrix& x, double* out) {
    const std::vector<double> coefs = m.expansion.predictor(m.history.examples);
    std::vector<double> scores(m.expansion.stride);
    KernelBlock<Store> block;
    with_row_type<double, std::int64_t>(x, [&](auto kind) {
        Reader<double, decltype(kind), Order::rising> reader(x);
        const std::size_t most = block_rows(store.size(), 1);
        for (std::size_t at = 0; at < x.rows; at += block.rows) {
            block.rows = std::min(most, x.rows - at);
            block.examples.resize(block.rows, m.shape.features);
            for (std::size_t r = 0; r < block.rows; ++r) block.examples.set(r, reader.row(at + r));
            block.evaluate(m.shape.kernel, m.shape.shift(), store);
            for (std::size_t r = 0; r < block.rows; ++r) {
                m.expansion.score(block.kernel(r), coefs.data(), scores.data());
                std::copy_n(scores.data(), m.shape.outputs, out + (at + r) * m.shape.outputs);
            }
        }
    });
}

/// Return whether all values and targets are far from overflow and all indices are inside the
/// matrix.
inline bool harmless(const TrainingBatch& training) {
    constexpr double largest = 1e75, smallest = 1e-75;
    const Matrix& x = training.x;
    const auto check = [&](const auto* values, std::size_t n, double least) {
        bool fine = true;
        for (std::size_t k = 0; k < n; ++k) {
            const double size = std::abs(static_cast<double>(values[k]));
            fine &= size < largest && (size > least || size == 0);
        }
        return fine;
    };
    const auto inside = [&](const auto* indices) {
        bool fine = true;
        for (std::size_t k = 0, n = x.stored(); k < n; ++k)
            fine &= indices[k] >= 0 && static_cast<std::size_t>(indices[k]) < x.features;
        return fine;
    };
    if (training.values && !check(training.values, x.rows * training.columns, 0)) return false;
    if (x.sparse() && !(x.wide_indices ? inside(static_cast<const std::int64_t*>(x.indices))
                                       : inside(static_cast<const std::int32_t*>(x.indices))))
        return false;
    return x.doubles ? check(static_cast<const double*>(x.values), x.stored(), smallest)
                     : check(static_cast<const float*>(x.values), x.stored(), smallest);
}

/// Return whether learning these rows cannot overflow, and therefore cannot fail half-way.
inline bool harmless(const KernelModel& m, const TrainingBatch& training) {
    constexpr double limit = 1e100;
    const KernelFunction& k = m.shape.kernel;
    if (!harmless(training)) return false;
    // if a kernel is not positive, the shares of a budget may be unbounded
    const bool positive =
        k.kind != Kernel::sigmoid && (k.kind != Kernel::poly || (k.gamma >= 0 && k.coef0 >= 0));
    if (m.shape.budget > 0 && !positive) return false;
    const bool bounded = k.kind == Kernel::rbf || k.kind == Kernel::sigmoid;
    const bool long_enough =
        m.shape.intercept || k.kind == Kernel::rbf || m.groups[0].rule.cap < limit;
    double largest = 0;
    const auto visit = [&](const auto* values) {
        for (std::size_t i = 0, n = training.x.stored(); i < n; ++i)
            largest = std::max(largest, std::abs(static_cast<double>(values[i])));
    };
    if (!bounded && training.x.doubles)
        visit(static_cast<const double*>(training.x.values));
    else if (!bounded)
        visit(static_cast<const float*>(training.x.values));
    const double norm = largest * largest * static_cast<double>(training.x.features);
    KernelFunction worst = k;
    worst.gamma = std::abs(k.gamma), worst.coef0 = std::abs(k.coef0);
    bool fine = long_enough && (bounded || self_value(worst, norm) < limit);
    for (const double self : m.expansion.self) fine &= std::abs(self) < limit;
    for (std::size_t i = 0; training.values && i < training.x.rows * training.columns; ++i)
        fine &= std::abs(training.values[i]) < limit;
    return fine;
}

}  // namespace aggro
