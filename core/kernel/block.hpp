// A block of examples and their kernel values: with all support vectors, and with each other.
#pragma once
#include <vector>

#include "constraints/task.hpp"
#include "kernel/store.hpp"

namespace aggro {

template <class Store>
struct KernelBlock {
    std::size_t rows = 0;
    typename Store::Block examples;
    std::vector<Target> targets;
    std::vector<double> weights;
    std::vector<std::int64_t> ids;
    std::vector<double> self;  ///< k(x, x), including the constant

    double* kernel(std::size_t r) { return values.data() + r * stride; }
    const double* kernel(std::size_t r) const { return values.data() + r * stride; }
    double inner(std::size_t r, std::size_t s) const {
        return r == s ? self[r] : between[r * inner_stride + s];
    }

    void clear() { rows = 0, targets.clear(), weights.clear(), ids.clear(), has_inner = false; }

    /// Reserve memory for the values with `slots` support vectors and with all that may be added.
    void reserve(std::size_t slots) {
        stride = padded_to_vectors(slots + rows);
        values.resize(rows * stride);
        self.resize(rows);
    }

    /// Compute the kernel values with every support vector of the store.
    void evaluate(const KernelFunction& k, double shift, const Store& store) {
        reserve(store.size());
        for (std::size_t r = 0; r < rows; ++r) self[r] = self_value(k, examples.norms[r]) + shift;
        fill(k, shift, store, values.data(), stride);
    }

    /// Compute the kernel values between the examples, on demand: a block that changes nothing does
    /// not need them.
    void need_inner(const KernelFunction& k, double shift) {
        if (has_inner) return;
        has_inner = true;
        if constexpr (std::is_same_v<Store, OutsideStore>)
            return;
        else {
            if (rows == 1) return;
            Store own(width());
            for (std::size_t r = 0; r < rows; ++r) own.append(examples, r);
            inner_stride = padded_to_vectors(rows);
            between.resize(rows * inner_stride);
            fill(k, shift, own, between.data(), inner_stride);
        }
    }

    /// Set the kernel values between the examples.
    void set_inner(const double* matrix) {
        inner_stride = rows;
        between.assign(matrix, matrix + rows * rows);
        for (std::size_t r = 0; r < rows; ++r) self[r] = between[r * rows + r];
        has_inner = true;
    }

    /// Add a column for example r, which became support vector `slot`, to rows `first` and later.
    void add_column(std::size_t slot, std::size_t r, std::size_t first) {
        for (std::size_t i = first; i < rows; ++i) kernel(i)[slot] = inner(i, r);
    }
    void move_column(std::size_t from, std::size_t to, std::size_t first) {
        for (std::size_t i = first; i < rows; ++i) kernel(i)[to] = kernel(i)[from];
    }

  private:
    static std::size_t padded_to_vectors(std::size_t n) { return (n + wide - 1) / wide * wide; }

    std::size_t width() const { return examples.features; }

    void fill(const KernelFunction& k, double shift, const Store& store, double* out,
              std::size_t width) {
        store.products(examples, rows, out, width);
        for (std::size_t r = 0; r < rows; ++r)
            kernel_values(k, shift, examples.norms[r], store.squared_norms().data(), store.size(),
                          out + r * width, [&](std::size_t slot) {
                              return store.squared_distance(examples, r, slot);
                          });
    }

    std::size_t stride = 0, inner_stride = 0;
    bool has_inner = false;
    std::vector<double> values, between;
};

}  // namespace aggro
