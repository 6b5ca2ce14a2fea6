// Rollback: copies of what a batch may change, to restore the models if a row is rejected.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "linear/passes.hpp"

namespace aggro {

/// Checks whether all numbers of some arrays are finite. The exponent of other numbers has all bits
/// set, so adding one carries into the sign bit: integer operations run at memory bandwidth.
template <class V>
class FiniteCheck {
  public:
    void add(const V* values, std::size_t size) {
        if constexpr (std::is_floating_point_v<V>) {
            std::size_t i = 0;
            for (; i + chains * width <= size; i += chains * width)
                for (std::size_t c = 0; c < chains; ++c)
                    found_[c] |= carried(values + i + c * width);
            for (; i + width <= size; i += width) found_[0] |= carried(values + i);
            for (; i < size; ++i) rest_ |= carried(std::bit_cast<Bits>(values[i]));
        }
    }

    bool passed() const {
        const Numbers all = (found_[0] | found_[1]) | (found_[2] | found_[3]);
        Bits any = rest_;
        for (std::size_t k = 0; k < width; ++k) any |= all[k];
        return (any & sign) == 0;
    }

  private:
    using Bits = std::conditional_t<sizeof(V) == 8, std::uint64_t, std::uint32_t>;
    static constexpr std::size_t bytes = 64, width = bytes / sizeof(Bits), chains = 4;
    static constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
    using Numbers = Vector<Bits, bytes>;

    template <class Any>
    static Any carried(Any bits) {
        constexpr Bits one = Bits{1} << (std::numeric_limits<V>::digits - 1);  // of the exponent
        return (bits & (sign - one)) + one;
    }
    static Numbers carried(const V* values) {
        return carried(load<Bits, bytes>(reinterpret_cast<const Bits*>(values)));
    }

    Numbers found_[chains] = {};
    Bits rest_ = 0;
};

template <class T>
inline bool intercepts_fit(const Model<T>& m) {
    return std::all_of(m.bias.begin(), m.bias.end(), [](double b) {
        return std::abs(b) <= static_cast<double>(std::numeric_limits<T>::max());
    });
}

inline constexpr const char* model_overflows =
    "learning these rows makes the model overflow; scale the features or the target";

/// The distinct features of the rows of a batch, if keeping or checking only these is cheaper; they
/// must be fewer than the model has. If nothing is kept and the tables are only checked at the end,
/// reading a table is much faster than gathering features; `columns` is the width of all tables.
class TouchedFeatures {
  public:
    TouchedFeatures(const TrainingBatch& batch, std::size_t columns) {
        constexpr std::size_t gathering = 16;  // cost of one feature in columns read
        std::size_t entries = 0;
        for (std::size_t i = 0; batch.x.sparse() && i < batch.count; ++i)
            entries += entries_of(batch, i).second;
        few = batch.x.sparse() && entries < batch.x.features &&
              (batch.undo || entries * gathering < batch.x.features * columns);
        if (!few) return;
        if (batch.x.wide_indices)
            collect(static_cast<const std::int64_t*>(batch.x.indices), batch);
        else
            collect(static_cast<const std::int32_t*>(batch.x.indices), batch);
    }

    bool few = false;
    std::vector<std::size_t> features;

  private:
    /// Return the first entry of a row and the number of its entries.
    static std::pair<std::size_t, std::size_t> entries_of(const TrainingBatch& batch,
                                                          std::size_t i) {
        const std::size_t r = batch.row(i);
        const auto begin = static_cast<std::size_t>(batch.x.start(r));
        return {begin, static_cast<std::size_t>(batch.x.start(r + 1)) - begin};
    }

    template <class Index>
    void collect(const Index* indices, const TrainingBatch& batch) {
        const std::size_t width = batch.x.features;
        for (std::size_t i = 0; i < batch.count; ++i) {
            const auto [begin, size] = entries_of(batch, i);
            for (std::size_t k = begin; k < begin + size; ++k)  // a wrong index is rejected later
                if (const auto j = static_cast<std::size_t>(indices[k]); j < width)
                    features.push_back(j);
        }
        if (features.size() * 64 < width) {
            std::sort(features.begin(), features.end());
            features.erase(std::unique(features.begin(), features.end()), features.end());
            return;
        }
        std::vector<bool> known(width);
        std::size_t distinct = 0;
        for (const std::size_t j : features) {
            if (!known[j]) features[distinct++] = j;
            known[j] = true;
        }
        features.resize(distinct);
    }
};

/// A copy of what a batch may change in one model, unless it is not to be undone. A sparse row
/// changes only its own features, so only their lines of a large table are copied. A change of all
/// lines is announced (`Model::announce_sweep`), and then the tables are copied completely.
template <class T>
class Checkpoint final : private SweepListener {
  public:
    Checkpoint(Model<T>& model, bool keep_it, const TouchedFeatures& touched)
        : m(model),
          keeps(keep_it),
          width(model.shape.features),
          by_lines(touched.few && local()),
          lines(by_lines ? touched.features : none) {
        m.listeners.reserve(m.listeners.size() + 1);
        m.listeners.push_back(this);
        if (!keeps) return;
        groups = m.groups;
        std::size_t bytes = 0;
        m.visit([&](const char*, Per, auto* data, std::size_t size) {
            const std::size_t width = width_of(data);
            bytes += sizeof(*data) * (width == 0 ? size : lines.size() * width);
        });
        rest.reserve(bytes);  // growing step by step would take up to three times as much
        m.visit([&](const char*, Per, auto* data, std::size_t size) {
            const std::size_t width = width_of(data);
            if (width == 0) return keep(rest, data, size);
            for (const std::size_t j : lines) keep(rest, data + j * width, width);
        });
    }
    Checkpoint(const Checkpoint&) = delete;
    ~Checkpoint() { end(); }

    /// Ignore later changes, which have checkpoints of their own.
    void end() { std::erase(m.listeners, static_cast<SweepListener*>(this)); }

    /// Restore the model and its rules.
    void restore() {
        if (!keeps) return;
        if (m.shape.features != width) throw std::invalid_argument("the model has grown since");
        m.groups = groups;
        const std::byte *from = rest.data(), *table = tables.data();
        m.visit([&](const char*, Per, auto* data, std::size_t size) {
            const std::size_t width = width_of(data);
            if (width == 0) return put(data, size, from);
            if (swept) put(data, size, table);
            for (const std::size_t j : lines) put(data + j * width, width, from);
        });
    }

    /// Return whether all numbers that may have changed are finite and the intercepts fit into T.
    bool finite() {
        bool finite = intercepts_fit(m);
        m.visit([&](const char*, Per, auto* data, std::size_t size) {
            const std::size_t width = width_of(data);
            FiniteCheck<std::remove_pointer_t<decltype(data)>> check;
            if (width == 0 || swept) check.add(data, size);
            for (const std::size_t j : lines) check.add(data + j * width, width);
            finite &= check.passed();
        });
        return finite;
    }

  private:
    /// Return the number of values per feature of a table that is copied by lines; 0 for arrays
    /// that are copied completely.
    std::size_t width_of(const void* data) const {
        if (!by_lines || data == nullptr) return 0;
        if (data == m.weights.data()) return m.weights.stride();
        if (data == m.sum_rest.data()) return m.sum_rest.stride();
        if (data == m.update_counts.data()) return m.update_counts.stride();
        return data == m.sizes.seen.data() || data == m.sizes.square.data() ? 1 : 0;
    }

    /// Return whether learning a sparse row changes only its features.
    bool local() const {
        return m.shape.metric != Metric::full && m.shape.queue <= 1 && m.shape.reservoir == 0 &&
               m.shape.scale != Scale::standard;
    }

    void before_sweep() override {
        if (swept || !by_lines) return;
        swept = true;
        if (!keeps) return;
        std::size_t bytes = 0;
        m.visit([&](const char*, Per, auto* data, std::size_t size) {
            if (width_of(data) > 0) bytes += size * sizeof(*data);
        });
        tables.reserve(bytes);
        m.visit([&](const char*, Per, auto* data, std::size_t size) {
            if (width_of(data) > 0) keep(tables, data, size);
        });
    }

    template <class V>
    static void keep(std::vector<std::byte>& kept, const V* data, std::size_t size) {
        const auto* bytes = reinterpret_cast<const std::byte*>(data);
        kept.insert(kept.end(), bytes, bytes + size * sizeof(V));
    }

    template <class V>
    static void put(V* data, std::size_t size, const std::byte*& from) {
        if (size > 0) std::memcpy(data, from, size * sizeof(V));
        from += size * sizeof(V);
    }

    Model<T>& m;
    bool keeps;
    std::size_t width;  ///< features of the model
    bool by_lines, swept = false;
    std::vector<Group> groups;
    inline static const std::vector<std::size_t> none;
    const std::vector<std::size_t>&
        lines;  ///< lines copied of each table; other arrays are copied completely
    std::vector<std::byte> rest, tables;
};

/// A rollback for several models that learn the same batch.
template <class T>
class Transaction {
  public:
    Transaction(const std::vector<Model<T>*>& models, const TrainingBatch& batch)
        : touched(batch, columns_of(models)) {
        for (Model<T>* m : models)
            checkpoints.push_back(std::make_unique<Checkpoint<T>>(*m, batch.undo, touched));
    }
    Transaction(const Transaction&) = delete;

    void restore() {
        for (const auto& checkpoint : checkpoints) checkpoint->restore();
    }

    /// Ignore later changes, which have transactions of their own that are restored first.
    void end() {
        for (const auto& checkpoint : checkpoints) checkpoint->end();
    }

    /// Throw if a changed number is no longer finite.
    void check() {
        const auto finite = [](const auto& checkpoint) { return checkpoint->finite(); };
        if (!std::all_of(checkpoints.begin(), checkpoints.end(), finite))
            throw std::overflow_error(model_overflows);
    }

  private:
    static std::size_t columns_of(const std::vector<Model<T>*>& models) {
        std::size_t columns = 0;
        for (const Model<T>* m : models) columns += m->columns;
        return columns;
    }

    TouchedFeatures touched;
    std::vector<std::unique_ptr<Checkpoint<T>>> checkpoints;
};

}  // namespace aggro
