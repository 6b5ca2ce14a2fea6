// Passes over many rows: learning in order, and scoring.
#pragma once
#include <functional>
#include <optional>

#include "base/threads.hpp"
#include "linear/minibatch.hpp"

namespace aggro {

/// Thrown when the caller interrupts; the model is consistent, after the last finished example.
struct Interrupted : std::exception {};

/// A rejected row, with the message.
struct BadRow : std::runtime_error {
    std::size_t row;
    BadRow(std::size_t i, const std::string& what) : std::runtime_error(what), row(i) {}
};

/// Rows, targets and weights to learn from, and their order.
struct TrainingBatch {
    Matrix x;
    const std::int64_t* labels = nullptr;  ///< one class per row, or
    const double* values = nullptr;        ///< `columns` numbers per row
    std::size_t columns = 0;
    const double* weights = nullptr;      ///< null: all one
    const std::int64_t* order = nullptr;  ///< null: as given
    std::size_t first = 0;                ///< first position in that order
    std::size_t count = 0;                ///< number of rows to learn
    std::size_t batch_size = 1;
    std::size_t threads = 1;
    const Matrix* reference =
        nullptr;  ///< a row that is scored before each row, if margins are recorded
    double* margins =
        nullptr;               ///< for each position in the order: scores before the row is learned
    std::size_t recorded = 0;  ///< the model whose margins are recorded
    bool undo = true;          ///< restore the model if a row is rejected
    bool check = true;         ///< check for overflow at the end
    std::function<bool()> interrupted;

    std::size_t row(std::size_t i) const {
        return order ? static_cast<std::size_t>(order[first + i]) : first + i;
    }
    double weight(std::size_t row) const { return weights ? weights[row] : 1.0; }
    Target target(std::size_t row) const {
        return {labels ? labels[row] : -1, values ? values + row * columns : nullptr};
    }
};

/// Call `body()` and add the number of the row to its errors.
template <class Body>
[[gnu::always_inline]] inline void with_row_context(std::size_t row, Body&& body) {
    try {
        body();
    } catch (const BadExample& bad) {
        throw BadRow(row, bad.what());
    }
}

/// Return the number of rows to prefetch: some kilobytes.
inline std::size_t rows_ahead(const Matrix& x) {
    constexpr std::size_t bytes = 4096, most = 8;
    const std::size_t entry = (x.doubles ? 8 : 4) + (x.sparse() ? x.wide_indices ? 8 : 4 : 0);
    const std::size_t row = x.stored() * entry / std::max<std::size_t>(x.rows, 1);
    return std::clamp<std::size_t>(bytes / (row + 1), 1, most);
}

/// Learn rows one by one. `at` is the position in the order of the current row. `before(place,
/// count)` is called before `count` rows are learned together.
template <class T, class Row, class Before = DoNothing>
inline void learn_rows(Model<T>& m, Sizes& sizes, Scratch<T>& scratch,
                       const TrainingBatch& training, std::size_t& at, const Before& before = {}) {
    Reader<T, Row> reader(training.x);
    Scaled<T, Row> scaled(sizes, m.shape.features);
    const bool scales = sizes.kind != Scale::none;
    const std::size_t ahead = rows_ahead(training.x);
    with_loops<Learn, T, Row>(m, scratch, [&](auto learn) __attribute__((noinline)) {
        for (std::size_t i = 0; i < training.count; ++i) {
            const std::size_t r = training.row(i);
            at = training.first + i;
            if (i + ahead < training.count) reader.prefetch(training.row(i + ahead));
            before(i, 1);
            with_row_context(r, [&] {
                const Row x = reader.row(r);
                const double weight = training.weight(r);
                if (weight > 0 && scales)
                    learn(scaled.learn(x), training.target(r), weight);
                else if (weight > 0)  // a separate call, so that unscaled rows stay in registers
                    learn(x, training.target(r), weight);
            });
        }
    });
}

template <class T, class Row>
inline void learn_batches(
    Model<T>& m, const TrainingBatch& training, std::size_t& at,
    const std::function<void(std::size_t, std::size_t)>& before = DoNothing()) {
    Scratch<T> scratch(m);
    std::vector<Reader<T, Row>> readers(training.batch_size,
                                        Reader<T, Row>(training.x));  // rows must last
    std::vector<Scaled<T, Row>> scaled(training.batch_size,
                                       Scaled<T, Row>(m.sizes, m.shape.features));
    std::vector<Member<Row>> batch;
    const auto learn = batch_step<T, Row>(m, scratch);
    std::vector<std::size_t> numbers;  // positions of the rows of the batch
    for (std::size_t i = 0; i < training.count; ++i) {
        const std::size_t r = training.row(i);
        if (training.weight(r) > 0) {
            const std::size_t place = batch.size();
            if (place == 0) before(i, std::min(training.batch_size, training.count - i));
            numbers.push_back(i);
            at = training.first + i;
            with_row_context(r, [&] {
                const Row x = scaled[place].learn(readers[place].row(r));
                batch.push_back({x, training.target(r), training.weight(r)});
            });
        }
        if (batch.size() < training.batch_size && i + 1 < training.count) continue;
        try {
            (*learn)(batch);
        } catch (const BadExample& bad) {
            at = training.first + numbers[learn->current()];
            throw BadRow(training.row(numbers[learn->current()]), bad.what());
        }
        batch.clear();
        numbers.clear();
    }
}

/// Return the mean number of multiply-adds for a row of this matrix.
inline std::size_t row_work(const Matrix& x, std::size_t columns) {
    return (x.stored() / std::max<std::size_t>(x.rows, 1) + 8) * columns;
}

/// Return how many of the requested threads have enough work; starting one takes some microseconds.
inline std::size_t busy_threads(const Matrix& x, std::size_t rows, std::size_t columns,
                                std::size_t asked) {
    return std::clamp<std::size_t>(rows * row_work(x, columns) >> 16, 1, asked);
}

/// Write the record of the rows that threads have learned.
template <class T>
inline void write_record(Model<T>& m, const TrainingBatch& training, Journal& journal) {
    if (m.counters.frozen) return;
    const bool models = IndependentOutputs(m, whole(m)).models;
    for (std::size_t i = 0, entry = 0; i < training.count; ++i) {
        const std::size_t r = training.row(i);
        const double weight = training.weight(r);
        if (weight == 0) continue;
        if (models) {
            write_records(m.record, journal.votes(entry), journal.losses(entry), weight);
        } else {
            const Votes votes{journal.votes(entry), journal.votes(entry, m.shape.predictors() - 1)};
            write_record<false>(m, votes, training.target(r), weight);
            add_losses(m, weight, journal.losses(entry));
        }
        ++entry;
    }
}

/// Learn all rows, with one share of the model per thread. Threads synchronise to write the record
/// when the journal has 8 MB or after some hundredths of a second: rarely, because on a busy
/// machine they wait for each other.
template <class T>
inline void learn_shares(Model<T>& m, const TrainingBatch& training,
                         const std::vector<Share>& parts, std::size_t& at) {
    const std::size_t most =
        1 + std::min((std::size_t{1} << 19) / (m.shape.outputs * m.shape.predictors()),
                     (std::size_t{1} << 26) / row_work(training.x, m.columns));
    Journal journal(m, std::min(most, training.count));
    TrainingBatch block = training;
    for (std::size_t done = 0; done < training.count; done += block.count) {
        block.first = training.first + done;
        block.count = std::min(most, training.count - done);
        Counters after;
        std::vector<Sizes> sizes(parts.size(), m.sizes);  // all threads compute the same values
        const auto job = [&](std::size_t t, std::size_t& row) {
            Scratch<T> scratch(m);
            scratch.share = parts[t];
            scratch.journal = &journal;
            scratch.counters = m.counters;
            with_row_type<T>(block.x, [&](auto kind) {
                learn_rows<T, decltype(kind)>(m, sizes[t], scratch, block, row);
            });
            if (t == 0) after = scratch.counters;
        };
        together(parts.size(), parts.size(), job, at);
        m.counters = after;
        m.sizes = std::move(sizes[0]);
        write_record(m, block, journal);
    }
}

/// Learn the rows one by one or in mini-batches; `at` is the current row.
template <class T>
inline void learn_all(Model<T>& m, const TrainingBatch& training, std::size_t& at) {
    const auto parts =
        shares(m, busy_threads(training.x, training.count, m.columns, training.threads));
    if (training.batch_size == 1 && parts.size() > 1) return learn_shares(m, training, parts, at);
    with_row_type<T>(training.x, [&](auto kind) {
        using Row = decltype(kind);
        if (training.batch_size > 1) return learn_batches<T, Row>(m, training, at);
        Scratch<T> scratch(m);
        learn_rows<T, Row>(m, m.sizes, scratch, training, at);
    });
}

/// Call `use(loops, scratch, row, number)` for all rows of a matrix, in several threads.
template <class T, class Use>
inline void for_each_row(Model<T>& m, const Matrix& x, std::size_t threads, Use&& use) {
    const std::size_t count = busy_threads(x, x.rows, m.columns, threads);
    with_row_type<T>(x, [&](auto kind) {
        using Row = decltype(kind);
        together(count, count, [&](std::size_t t, std::size_t& at) {
            Scratch<T> scratch(m);
            Reader<T, Row> reader(x);
            Scaled<T, Row> scaled(m.sizes, m.shape.features);
            with_loops<Learn, T, Row>(m, scratch, [&](auto learn) __attribute__((noinline)) {
                for (at = t * x.rows / count; at < (t + 1) * x.rows / count; ++at)
                    with_row_context(
                        at, [&] { use(learn, scratch, scaled.apply(reader.row(at)), at); });
            });
        });
    });
}

/// Compute the scores of the model's predictor, row-major: out[i * outputs + k].
template <class T>
inline void score_all(Model<T>& m, const Matrix& x, T* out, std::size_t threads) {
    PredictingWeights<T> weights;
    weights.update(m);
    weights.tabulate(m, x.stored());
    for_each_row(m, x, threads, [&](auto& learn, Scratch<T>& s, const auto& row, std::size_t at) {
        learn.score(row, weights);
        for (std::size_t k = 0; k < m.shape.outputs; ++k)
            out[at * m.shape.outputs + k] = static_cast<T>(s.scores[k]);
    });
}

/// Compute the ensemble score of each row.
template <class T>
inline void score_ensemble(Model<T>& m, const Matrix& x, double* out, std::size_t threads) {
    for_each_row(m, x, threads, [&](auto& learn, Scratch<T>&, const auto& row, std::size_t at) {
        out[at] = learn.ensemble(row);
    });
}

/// Return the squared norm of one row after scaling, if it is the first one, or 0 if the row is
/// invalid; learning it then reports why.
inline double square_of(const Matrix& x, std::size_t row, Scale scale) {
    if (row >= x.rows)
        throw std::out_of_range("order contains the index of a row that does not exist");
    double total = 0;
    if (scale == Scale::standard) return total;
    with_row_type<double, std::int64_t>(x, [&](auto kind) {
        try {
            Reader<double, decltype(kind)> reader(x);  // it owns rows that it sorts
            const auto entries = reader.row(row);
            for (std::size_t k = 0; k < entries.size; ++k) {
                const double value = entries.values[k];
                total += scale == Scale::online ? value != 0 : value * value;
            }
        } catch (const BadExample&) {
            total = 0;
        }
    });
    return total;
}

}  // namespace aggro
