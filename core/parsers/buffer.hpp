// Growable arrays with transferable memory, and the rows that a text parser fills.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace aggro::text {

// A vector that does not initialise new elements (the parser overwrites them) and can transfer its
// memory.
template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { std::free(data_); }

    std::size_t size() const { return size_; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](std::size_t i) { return data_[i]; }
    T* tail() { return data_ + size_; }

    void reserve_more(std::size_t count) {
        if (capacity_ - size_ < count) reallocate(std::max(size_ + count, 2 * capacity_));
    }
    void push(T value) {
        reserve_more(1);
        data_[size_++] = value;
    }
    void advance(std::size_t count) { size_ += count; }
    void truncate(std::size_t size) { size_ = size; }

    // Transfer the memory, which the caller frees with std::free. Never null, so that empty arrays
    // have an address, too.
    T* release() {
        reallocate(std::max<std::size_t>(size_, 1));
        T* data = std::exchange(data_, nullptr);
        size_ = capacity_ = 0;
        return data;
    }

  private:
    void swap(Buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    void reallocate(std::size_t capacity) {
        if (capacity > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
        void* data = std::realloc(data_, capacity * sizeof(T));
        if (data == nullptr) throw std::bad_alloc();
        data_ = static_cast<T*>(data);
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

// Class names, numbered in order of appearance.
class Names {
  public:
    std::int32_t code(std::string_view name) {
        const auto [entry, is_new] =
            codes_.try_emplace(std::string(name), static_cast<std::int32_t>(names_.size()));
        if (is_new) names_.push_back(entry->first);
        return entry->second;
    }
    std::vector<std::string> release() {
        codes_.clear();
        return std::exchange(names_, {});
    }

  private:
    std::unordered_map<std::string, std::int32_t> codes_;
    std::vector<std::string> names_;
};

// Labels of all rows: numbers, or codes of names. With several labels per row, `begin` has the
// start of each row.
struct Labels {
    bool as_names = false;
    bool several = false;
    Buffer<double> numbers;
    Buffer<std::int32_t> codes;
    Names names;
    Buffer<std::int64_t> begin;

    std::size_t size() const { return as_names ? codes.size() : numbers.size(); }
    void add_missing() {
        if (as_names) {
            codes.push(names.code(""));
        } else {
            numbers.push(std::numeric_limits<double>::quiet_NaN());
        }
    }
    void end_row() {
        if (several) begin.push(static_cast<std::int64_t>(size()));
    }
    void truncate(std::size_t size, std::size_t rows) {
        (as_names ? codes.truncate(size) : numbers.truncate(size));
        if (several) begin.truncate(rows + 1);
    }
};

// Return the first index that is too large.
template <class Index>
inline constexpr std::int64_t index_limit = std::numeric_limits<Index>::max();

template <class Value>
bool fits(double value) {
    return std::abs(value) <= static_cast<double>(std::numeric_limits<Value>::max());
}

// Rows in compressed sparse form.
template <class Index, class Value>
struct Rows {
    Labels labels;
    Buffer<std::int64_t> indptr;
    Buffer<Index> indices;
    Buffer<Value> values;
    Buffer<double> weights;
    Buffer<std::int64_t> queries;
    std::int64_t initials = 0;  // number of initial predictions, which are ignored
    std::int64_t smallest_index = std::numeric_limits<std::int64_t>::max();
    std::int64_t largest_index = -1;
    bool sorted = true;  // every row strictly increasing

    Rows() { indptr.push(0); }
    Rows(bool label_names, bool several_labels) : Rows() {
        labels.as_names = label_names;
        labels.several = several_labels;
        if (several_labels) labels.begin.push(0);
    }
    std::size_t count() const { return indptr.size() - 1; }
    void end_row() {
        labels.end_row();
        indptr.push(static_cast<std::int64_t>(indices.size()));
    }
    // Add the `size` features written after the last row to the next row. Indices that do not
    // strictly increase may repeat: their values are summed. Return false if a sum is not finite.
    bool add_features(std::size_t size, bool increasing) {
        const std::size_t begin = indices.size();
        indices.advance(size);
        values.advance(size);
        if (size == 0) return true;
        if (!increasing && !sum_repeated(begin)) return false;
        const Index* const first = indices.data() + begin;
        const Index* const last = indices.tail() - 1;
        const auto [low, high] =
            increasing ? std::pair{first, last} : std::minmax_element(first, last + 1);
        smallest_index = std::min<std::int64_t>(smallest_index, *low);
        largest_index = std::max<std::int64_t>(largest_index, *high);
        sorted &= increasing;
        return true;
    }

    // Restore the state before a line that is invalid.
    void rewind(std::size_t label_count, std::size_t feature_count, std::size_t rows) {
        labels.truncate(label_count, rows);
        indices.truncate(feature_count);
        values.truncate(feature_count);
        indptr.truncate(rows + 1);
        weights.truncate(std::min(weights.size(), rows));
        queries.truncate(std::min(queries.size(), rows));
    }

  private:
    // Sum repeated indices at their first position, using a small hash table; the order of the
    // others stays.
    bool sum_repeated(std::size_t begin) {
        const std::size_t size = indices.size() - begin;
        Index* const index = indices.data() + begin;
        Value* const value = values.data() + begin;
        const std::size_t mask = std::bit_ceil(2 * size) - 1;
        slots_.assign(mask + 1, 0);
        std::size_t kept = 0;
        bool finite = true;
        for (std::size_t i = 0; i < size; ++i) {
            std::size_t slot =
                (static_cast<std::uint64_t>(index[i]) * 0x9E3779B97F4A7C15u >> 20) & mask;
            while (slots_[slot] != 0 && index[slots_[slot] - 1] != index[i])
                slot = (slot + 1) & mask;
            if (slots_[slot] == 0) {
                index[kept] = index[i];
                value[kept++] = value[i];
                slots_[slot] = kept;
            } else {
                Value& sum = value[slots_[slot] - 1];
                sum += value[i];
                finite &= std::isfinite(sum);
            }
        }
        indices.truncate(begin + kept);
        values.truncate(begin + kept);
        return finite;
    }

    std::vector<std::size_t> slots_;
};

}  // namespace aggro::text
