// Conversion of a dict of features to a row: names to slots, values to doubles.
#pragma once
#include <nanobind/nanobind.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "stream/stream.hpp"
#include "stream/vocabulary.hpp"

namespace aggro {

namespace nb = nanobind;

[[noreturn]] inline void raise_about(PyObject* error, const std::string& what, nb::handle value,
                                     const char* advice) {
    PyErr_Format(error, "%s is %R; %s.", what.c_str(), value.ptr(), advice);
    throw nb::python_error();
}

inline std::string feature_called(nb::handle name) {
    return std::string("feature ") + nb::repr(name).c_str();
}

/// Convert an int, float, bool or NumPy scalar to a finite number, or raise; `what()` names the
/// value in the message.
template <class What>
inline double number_of(nb::handle value, What&& what) {
    PyObject* v = value.ptr();
    const bool nested = PySequence_Check(v) || PyComplex_Check(v);
    const double number = nested ? -1.0 : PyFloat_AsDouble(v);
    if (nested || (number == -1.0 && PyErr_Occurred())) {
        const bool large = !nested && PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
        if (!nested && !large && !PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
        PyErr_Clear();
        if (large) raise_about(PyExc_ValueError, what(), value, "it is too large for a float");
        raise_about(PyExc_TypeError, what(), value, "give a number");
    }
    if (!std::isfinite(number))
        raise_about(PyExc_ValueError, what(), value, "give a finite number");
    return number;
}

/// Return a hash that is the same in every process, for names made of str, bytes, numbers and
/// tuples. Equal numbers have equal hashes, as in Python.
inline std::uint32_t stable_hash(nb::handle name, std::uint32_t seed = 0) {
    PyObject* n = name.ptr();
    if (PyUnicode_Check(n)) {
        Py_ssize_t size = 0;
        const char* text = PyUnicode_AsUTF8AndSize(n, &size);
        if (!text) throw nb::python_error();
        return murmur3({text, static_cast<std::size_t>(size)}, seed);
    }
    if (PyBytes_Check(n))
        return murmur3({PyBytes_AsString(n), static_cast<std::size_t>(PyBytes_Size(n))}, seed + 1);
    if (PyTuple_Check(n)) {
        std::uint32_t hash = seed + 2;
        for (nb::handle part : nb::borrow<nb::tuple>(name)) hash = stable_hash(part, hash);
        return hash;
    }
    if (PyIndex_Check(n) || PyFloat_Check(n)) {
        const Py_hash_t hash =
            Vocabulary::hash_of(name);  // hashes of numbers do not depend on the process
        char bytes[8];
        for (int i = 0; i < 8; ++i)
            bytes[i] = static_cast<char>(static_cast<std::uint64_t>(hash) >> 8 * i);
        return murmur3({bytes, 8}, seed + 3);
    }
    raise_about(PyExc_TypeError, "the name of a feature", name,
                "overflow='hash' needs names of str, bytes, numbers or tuples of these");
}

/// The features of one dict: known ones by slot, then new ones.
class Reading {
  public:
    struct Fresh {
        nb::object name;
        Py_hash_t hash;
        double value;
    };

    /// Slots of the new features, and those taken from other features.
    struct Slots {
        std::vector<std::int32_t> fresh, replaced;
    };

    std::vector<Fresh> fresh;

    /// Return the first new feature with the same name.
    std::size_t first_like(std::size_t i) const {
        for (std::size_t j = 0; repeats_ && j < i; ++j)
            if (fresh[j].hash == fresh[i].hash && Vocabulary::equal(fresh[j].name, fresh[i].name))
                return j;
        return i;
    }

    /// Return whether no feature is new or repeated, so that the row stays as it is.
    bool complete() const { return fresh.empty() && !repeats_; }

    StreamRow row() const { return {values_.data(), slots_.data(), size_}; }

    /// Return the squared length, including new features.
    double squared() const {
        double sum = squared_length(row());
        for (const Fresh& feature : fresh) sum += feature.value * feature.value;
        return sum;
    }

    /// Read a dict. Names are hashed if `buckets` > 0, otherwise searched in the vocabulary. With
    /// `zeros`, new features of value zero are read as well.
    void read(nb::handle x, const Vocabulary& vocabulary, std::size_t buckets, bool zeros) {
        size_ = 0;
        fresh.clear();
        repeats_ = buckets > 0;
        zeros_ = zeros;
        const nb::object copied = PyDict_Check(x.ptr()) ? nb::object() : as_dict(x);
        const nb::handle dict = copied ? nb::handle(copied) : x;
        reserve(static_cast<std::size_t>(PyDict_Size(dict.ptr())));
        if (vocabulary.plain() && read_plain(dict, vocabulary, buckets)) return;
        PyObject *name, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(dict.ptr(), &at, &name, &value))
            read_any(nb::borrow(name), nb::borrow(value), vocabulary, buckets);
    }

    /// Append a new feature with its slot.
    void place(std::int32_t slot, double value) {
        reserve(size_ + 1);
        values_[size_] = value;
        slots_[size_++] = slot;
    }

    /// Sum the values of features that share a slot; separate entries would give a wrong norm.
    void merge(std::size_t capacity) {
        if (!repeats_) return;
        if (places_.size() < capacity) places_.resize(capacity);
        std::size_t kept = 0;
        for (std::size_t k = 0; k < size_; ++k) {
            std::uint32_t& place = places_[static_cast<std::size_t>(
                slots_[k])];  // correct or arbitrary: checked below
            if (place < kept && slots_[place] == slots_[k]) {
                values_[place] += values_[k];
                continue;
            }
            place = static_cast<std::uint32_t>(kept);
            slots_[kept] = slots_[k];
            values_[kept++] = values_[k];
        }
        size_ = kept;
    }

  private:
    static nb::object as_dict(nb::handle x) {
        if (!PyObject_HasAttrString(x.ptr(), "keys"))
            raise_about(PyExc_TypeError, "x", x, "give a dict of feature names to numbers");
        nb::object copy = nb::steal(PyDict_New());
        if (PyDict_Merge(copy.ptr(), x.ptr(), 1) != 0) throw nb::python_error();
        return copy;
    }

    /// An item of a dict of strs to numbers; the references are borrowed.
    struct Item {
        PyObject *name, *value;
        Py_hash_t hash;
        double number;
    };

    void reserve(std::size_t size) {
        if (size <= values_.size()) return;
        values_.resize(2 * size + 16);
        slots_.resize(2 * size + 16);
        items_.resize(2 * size + 16);
    }

    /// Read a dict of strs to finite floats and ints; return false if there is anything else. Names
    /// from a parser are scattered in memory, so all are prefetched before the first is read, and
    /// all their places in the table before the first search. No Python code runs, so the borrowed
    /// references stay valid.
    [[gnu::noinline]] bool read_plain(nb::handle dict, const Vocabulary& vocabulary,
                                      std::size_t buckets) {
        Item* const items = items_.data();
        Item* end = items;
        PyObject *name, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(dict.ptr(), &at, &name, &value)) {
            Vocabulary::prefetch_name(name);
            __builtin_prefetch(value);
            *end++ = {name, value, 0, 0};
        }
        for (Item* item = items; item != end; ++item) {
            if (!PyUnicode_CheckExact(item->name) || !plain_number(item->value, item->number))
                return false;
            item->hash = Vocabulary::hash_of(item->name);
            vocabulary.prefetch(item->hash);
        }
        if (buckets > 0)
            hash_items({items, end}, buckets);
        else
            find_items({items, end}, vocabulary.text_search());
        return true;
    }

    /// Convert a float or int; return false if it is something else or not finite.
    static bool plain_number(PyObject* value, double& number) {
        if (PyFloat_CheckExact(value)) {
#ifdef Py_LIMITED_API
            number = PyFloat_AsDouble(value);
#else
            number = PyFloat_AS_DOUBLE(value);
#endif
            return std::isfinite(number);
        }
        if (!PyLong_CheckExact(value)) return false;
        number = PyLong_AsDouble(value);
        if (number == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
        return true;
    }

    /// Append the features that are not zero, and new ones.
    template <class Search>
    [[gnu::noinline]] void find_items(std::span<const Item> items, Search search) {
        double* const values = values_.data();
        std::int32_t* const slots = slots_.data();
        std::size_t known = 0;
        for (const Item& item : items) {
            if (item.number == 0 && !zeros_) continue;
            const std::int32_t slot = search(item.name, item.hash);
            values[known] = item.number;
            slots[known] = slot;
            known += slot >= 0 && item.number != 0;
            if (slot == Vocabulary::absent) add_fresh(item.name, item.hash, item.number);
        }
        size_ = known;
    }

    void hash_items(std::span<const Item> items, std::size_t buckets) {
        for (const Item& item : items)
            if (item.number != 0)
                place(static_cast<std::int32_t>(stable_hash(item.name) % buckets), item.number);
    }

    [[gnu::noinline]] void add_fresh(nb::handle name, Py_hash_t hash, double value) {
        fresh.push_back({nb::borrow(name), hash, value});
    }

    /// Read a name and a value of any type. A string value is a feature of its own.
    void read_any(nb::object name, const nb::object& value, const Vocabulary& vocabulary,
                  std::size_t buckets) {
        double number = 1.0;
        if (PyUnicode_Check(value.ptr())) {
            name = nb::steal(PyTuple_Pack(2, name.ptr(), value.ptr()));
            repeats_ = true;
        } else {
            number = number_of(value, [&] { return feature_called(name); });
        }
        if (number == 0 && !zeros_) return;
        if (buckets > 0)
            return place(static_cast<std::int32_t>(stable_hash(name) % buckets), number);
        const Py_hash_t hash = Vocabulary::hash_of(name);
        const std::int32_t slot = vocabulary.find(name, hash);
        if (slot == Vocabulary::absent)
            add_fresh(name, hash, number);
        else if (slot >= 0 && number != 0)
            place(slot, number);
    }

    bool repeats_ = false;  ///< two entries may be the same feature
    bool zeros_ = false;    ///< new features may be zero
    std::size_t size_ = 0;
    std::vector<double> values_;
    std::vector<std::int32_t> slots_;
    std::vector<std::uint32_t> places_;
    std::vector<Item> items_;  ///< valid during one call
};

}  // namespace aggro
