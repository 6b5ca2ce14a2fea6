// Saving and restoring the state of a kernel model as named arrays.
#pragma once
#include "kernel_core.hpp"

namespace aggro {

/// Return slots x outputs without the padding.
inline std::vector<double> unpadded(const Expansion& e, const std::vector<double>& values) {
    std::vector<double> out;
    for (std::size_t i = 0; i < e.size(); ++i) {
        const auto* row = values.data() + i * e.stride;
        out.insert(out.end(), row, row + e.outputs);
    }
    return out;
}

inline std::vector<double> padded_again(const Expansion& e, const double* values,
                                        std::size_t slots) {
    std::vector<double> out(slots * e.stride);
    for (std::size_t i = 0; i < slots; ++i)
        std::copy_n(values + i * e.outputs, e.outputs, out.data() + i * e.stride);
    return out;
}

template <class T>
inline void put(nb::dict& state, const char* name, std::vector<T> values) {
    const std::size_t size = values.size();
    state[name] = to_numpy(std::move(values), {size});
}

template <class T>
std::vector<T> get(const nb::dict& state, const char* name, std::size_t size) {
    const auto array = array_of<Column<T>>(state, name);
    if (array.size() != size)
        throw nb::value_error((std::string(name) + " has the wrong size").c_str());
    return {array.data(), array.data() + size};
}

inline void put_rows(nb::dict& state, const DenseStore& s) {
    std::vector<double> rows(s.size() * s.width());
    for (std::size_t i = 0; i < s.size(); ++i) s.copy_row(i, rows.data() + i * s.width());
    state["support"] = to_numpy(std::move(rows), {s.size(), s.width()});
    put(state, "norms", s.squared_norms());
}

inline void put_rows(nb::dict& state, const SparseStore& s) {
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

inline void put_rows(nb::dict&, const OutsideStore&) {}

inline void put_rows(nb::dict& state, const KernelCore::AnyStore& store) {
    std::visit([&](const auto& kept) { put_rows(state, kept); }, store);
}

template <class Store>
inline void load_matrix(Store& s, const Matrix& x, const std::vector<double>& norms) {
    Store fresh(x.features);
    with_row_type<double, std::int64_t>(x, [&](auto kind) {
        Reader<double, decltype(kind), Order::rising> reader(x);
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

inline void load_rows(const nb::dict& state, DenseStore& s, std::size_t slots) {
    const Rows rows(array_of<AnyArray>(state, "support"));
    if (rows.matrix.rows != slots || rows.matrix.features != s.width())
        throw nb::value_error("support has the wrong shape");
    load_matrix(s, rows.matrix, get<double>(state, "norms", slots));
}

inline void load_rows(const nb::dict& state, SparseStore& s, std::size_t slots) {
    const Rows rows(array_of<AnyArray>(state, "data"), array_of<AnyArray>(state, "indices"),
                    array_of<AnyArray>(state, "indptr"), s.width());
    if (rows.matrix.rows != slots) throw nb::value_error("support has the wrong shape");
    load_matrix(s, rows.matrix, get<double>(state, "norms", slots));
}

inline void load_rows(const nb::dict&, OutsideStore& s, std::size_t slots) { s.assign(slots); }

inline nb::dict state_of(KernelCore& core) {
    nb::dict state;
    const auto [m, store] = core.guard.read([&] { return std::pair(core.model, core.store); });
    const Expansion& e = m.expansion;
    put(state, "coef", unpadded(e, e.coefs));
    if (e.average) put(state, "average_shift", unpadded(e, e.shifts));
    put(state, "self", e.self), put(state, "ids", e.ids), put(state, "born", e.born);
    put(state, "table", m.budget.known.table.compact());
    put(state, "root", m.budget.known.gram.root.compact());
    put(state, "nearest", m.budget.known.neighbours.nearest),
        put(state, "distance", m.budget.known.neighbours.distance);
    put(state, "counters",
        std::vector<std::int64_t>{m.history.examples, m.history.mistakes, m.history.updates,
                                  e.next_birth, m.budget.known.gram.since_rebuilt});
    put(state, "loss", std::vector<double>{m.history.loss});
    put(state, "ties", std::vector<std::int64_t>{m.history.ties});
    put_rows(state, store);
    return state;
}

inline void load_budget(const nb::dict& state, Budget& b, std::size_t slots) {
    const std::size_t square = product(slots, slots);
    const bool table = b.keeps_table(), inverse = b.keeps_inverse(), nearest = b.keeps_neighbours();
    b.known.table.assign(get<double>(state, "table", table ? square : 0).data(), table ? slots : 0);
    if (state.contains("root"))
        b.known.gram.root.assign(get<double>(state, "root", inverse ? square : 0).data(),
                                 inverse ? slots : 0);
    else if (inverse)
        b.known.gram.rebuild(b.known.table);  // more accurate than saving the root
    b.known.neighbours.nearest = get<std::int64_t>(state, "nearest", nearest ? slots : 0);
    b.known.neighbours.distance = get<double>(state, "distance", nearest ? slots : 0);
    for (const std::int64_t n : b.known.neighbours.nearest)
        if (n < -1 || n >= static_cast<std::int64_t>(slots))
            throw nb::value_error("nearest contains a slot that does not exist");
}

/// Restore what `state_of` returned; if something does not fit, the model is unchanged.
inline void load_state(KernelCore& core, const nb::dict& state) {
    auto [m, store] = core.guard.read([&] { return std::pair(core.model, core.store); });
    Expansion& e = m.expansion;
    const std::size_t slots = array_of<Column<std::int64_t>>(state, "ids").size();
    e.coefs = padded_again(e, get<double>(state, "coef", slots * e.outputs).data(), slots);
    if (e.average)
        e.shifts =
            padded_again(e, get<double>(state, "average_shift", slots * e.outputs).data(), slots);
    e.self = get<double>(state, "self", slots);
    e.ids = get<std::int64_t>(state, "ids", slots);
    e.born = get<std::int64_t>(state, "born", slots);
    const auto counters = get<std::int64_t>(state, "counters", 5);
    m.history.examples = counters[0], m.history.mistakes = counters[1],
    m.history.updates = counters[2];
    e.next_birth = counters[3], m.budget.known.gram.since_rebuilt = counters[4];
    m.history.loss = get<double>(state, "loss", 1)[0];
    m.history.ties = state.contains("ties") ? get<std::int64_t>(state, "ties", 1)[0] : 0;
    e.rebuild_index();
    load_budget(state, m.budget, slots);
    std::visit([&](auto& kept) { load_rows(state, kept, slots); }, store);
    core.guard.write([&] { core.model = std::move(m), core.store = std::move(store); });
}

}  // namespace aggro
