// Names to slots: an open-addressing table keyed on the Python objects.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace aggro {

/// Hashable objects, numbered 0, 1, 2 ... as slots. A str is identified by its address and cached
/// hash, so its characters are rarely compared. Holds strong references.
class Vocabulary {
  public:
    static constexpr std::int32_t absent = -1;
    static constexpr std::int32_t ignored = -2;  ///< and below: ignored - slot

  private:
    struct Entry {
        PyObject* name = nullptr;  // borrowed from names_
        std::uint32_t tag = 0;     // part of the hash: names with other tags are not compared
        std::int32_t slot = absent;
    };

    static std::uint32_t tag_of(Py_hash_t hash) { return static_cast<std::uint32_t>(hash); }

    /// The table without its memory, which a loop keeps in registers.
    struct Table {
        const Entry* entries;
        std::size_t mask;
        int shift;

        // The hash of a small integer is the integer: multiplication spreads it over the upper
        // bits.
        std::size_t home(Py_hash_t hash) const {
            return static_cast<std::size_t>(
                (static_cast<std::uint64_t>(hash) * 0x9E3779B97F4A7C15ULL) >> shift);
        }

        template <class Equal>
        [[gnu::always_inline]] std::int32_t find(PyObject* name, Py_hash_t hash,
                                                 Equal&& equals) const {
            for (std::size_t i = home(hash);; i = (i + 1) & mask) {
                const Entry& e = entries[i];
                if (e.name == name) return e.slot;
                if (e.slot == absent) return absent;
                if (e.tag == tag_of(hash) && equals(e.name, name)) return e.slot;
            }
        }
    };

  public:
    static Py_hash_t hash_of(nanobind::handle name) {
#ifndef Py_LIMITED_API  // a str keeps its hash: no call is needed to read it
        if (PyUnicode_CheckExact(name.ptr())) {
            const Py_hash_t kept = reinterpret_cast<PyASCIIObject*>(name.ptr())->hash;
            if (kept != -1) return kept;
        }
#endif
        const Py_hash_t hash = PyObject_Hash(name.ptr());
        if (hash == -1) throw nanobind::python_error();
        return hash;
    }

    static bool equal(nanobind::handle one, nanobind::handle other) {
        PyObject *a = one.ptr(), *b = other.ptr();
#ifndef Py_LIMITED_API
        if (PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b)) return equal_texts(a, b);
#endif
        const int same = PyObject_RichCompareBool(a, b, Py_EQ);
        if (same < 0) throw nanobind::python_error();
        return same == 1;
    }

#ifndef Py_LIMITED_API
    /// The same text in two objects is common: parsers make new ones.
    [[gnu::always_inline]] static bool equal_texts(PyObject* a, PyObject* b) {
        const auto* x = reinterpret_cast<PyASCIIObject*>(a);
        const auto* y = reinterpret_cast<PyASCIIObject*>(b);
        if (!PyUnicode_IS_COMPACT_ASCII(a) || !PyUnicode_IS_COMPACT_ASCII(b))
            return PyUnicode_Compare(a, b) == 0;
        if (x->length != y->length) return false;
        return same_bytes(reinterpret_cast<const char*>(x + 1),
                          reinterpret_cast<const char*>(y + 1),
                          static_cast<std::size_t>(x->length));
    }
#else
    static bool equal_texts(PyObject* a, PyObject* b) { return equal(a, b); }
#endif

    std::size_t size() const { return names_.size(); }
    nanobind::handle name(std::size_t slot) const { return names_[slot]; }

    nanobind::list list() const {
        nanobind::list all;
        for (const nanobind::object& name : names_) all.append(name);
        return all;
    }

    /// Make `find` return a negative number other than `absent` for the name of a slot.
    void ignore(std::int32_t slot) {
        if (ignores_.size() <= static_cast<std::size_t>(slot))
            ignores_.resize(static_cast<std::size_t>(slot) + 1);
        if (ignores_[static_cast<std::size_t>(slot)]) return;
        table_[place_of(slot)].slot = ignored - slot;
        ignores_[static_cast<std::size_t>(slot)] = true;
    }
    std::vector<std::int32_t> all_ignored() const {
        std::vector<std::int32_t> slots;
        for (std::size_t slot = 0; slot < ignores_.size(); ++slot)
            if (ignores_[slot]) slots.push_back(static_cast<std::int32_t>(slot));
        return slots;
    }

    /// Return whether every name is a plain str, so that a lookup runs no other Python code.
    bool plain() const { return plain_; }

    /// Prefetch a name: its hash, and its first characters, which may be in the next cache line.
    static void prefetch_name(const PyObject* name) {
        __builtin_prefetch(name);
        __builtin_prefetch(reinterpret_cast<const char*>(name) + 48);
    }
    /// Prefetch the memory where the search for a name starts.
    void prefetch(Py_hash_t hash) const { __builtin_prefetch(&table_[home(hash)]); }

    /// Return a function that finds plain strs until the next change, if all names are `plain`.
    auto text_search() const {
        return [table = table()](PyObject* name, Py_hash_t hash)
                   __attribute__((always_inline)) { return table.find(name, hash, equal_texts); };
    }

    std::int32_t find(nanobind::handle name, Py_hash_t hash) const {
        return table().find(name.ptr(), hash, equal);
    }

    /// Add a new name with the next slot.
    std::int32_t add(nanobind::handle name, Py_hash_t hash) {
        if (2 * (names_.size() + 1) > table_.size()) resize(2 * table_.size());
        const auto slot = static_cast<std::int32_t>(names_.size());
        names_.push_back(nanobind::borrow(name));
        hashes_.push_back(hash);
        put(slot);
        return slot;
    }

    /// Replace the name of a slot by a new one.
    void replace(std::int32_t slot, nanobind::handle name, Py_hash_t hash) {
        erase(slot);
        const nanobind::object old = names_[static_cast<std::size_t>(slot)];  // released last
        names_[static_cast<std::size_t>(slot)] = nanobind::borrow(name);
        hashes_[static_cast<std::size_t>(slot)] = hash;
        put(slot);
    }

  private:
    /// Compare two texts inline: names are so short that a call of memcmp takes longer.
    static bool same_bytes(const char* a, const char* b, std::size_t size) {
        if (size < 8) return std::equal(a, a + size, b);
        const auto differ = [&](std::size_t at) {
            std::uint64_t x, y;
            std::memcpy(&x, a + at, 8);
            std::memcpy(&y, b + at, 8);
            return x != y;
        };
        for (std::size_t at = 0; at + 8 < size; at += 8)
            if (differ(at)) return false;
        return !differ(size - 8);
    }

    Table table() const { return {table_.data(), mask_, shift_}; }
    std::size_t home(Py_hash_t hash) const { return table().home(hash); }
    std::size_t home_of(const Entry& e) const {
        const std::int32_t slot = e.slot < 0 ? ignored - e.slot : e.slot;
        return home(hashes_[static_cast<std::size_t>(slot)]);
    }
    std::size_t next(std::size_t i) const { return (i + 1) & mask_; }

    void put(std::int32_t slot) {
        const auto s = static_cast<std::size_t>(slot);
        std::size_t i = home(hashes_[s]);
        while (table_[i].slot != absent) i = next(i);
        const bool ignore = s < ignores_.size() && ignores_[s];
        table_[i] = {names_[s].ptr(), tag_of(hashes_[s]), ignore ? ignored - slot : slot};
        plain_ = plain_ && PyUnicode_CheckExact(names_[s].ptr());
    }

    /// Return the position of the entry of a slot.
    std::size_t place_of(std::int32_t slot) const {
        std::size_t i = home(hashes_[static_cast<std::size_t>(slot)]);
        while (table_[i].slot != slot && table_[i].slot != ignored - slot) i = next(i);
        return i;
    }

    /// Remove an entry and close the gap, so that searches do not end early.
    void erase(std::int32_t slot) {
        std::size_t hole = place_of(slot);
        if (static_cast<std::size_t>(slot) < ignores_.size())
            ignores_[static_cast<std::size_t>(slot)] = false;
        for (std::size_t i = next(hole); table_[i].slot != absent; i = next(i)) {
            if (((i - home_of(table_[i])) & mask_) < ((i - hole) & mask_)) continue;
            table_[hole] = table_[i];
            hole = i;
        }
        table_[hole] = {};
    }

    void resize(std::size_t size) {
        std::vector<Entry> larger(size);
        table_.swap(larger);
        mask_ = size - 1;
        shift_ = 64;
        for (std::size_t n = size; n > 1; n /= 2) --shift_;
        for (std::size_t slot = 0; slot < names_.size(); ++slot)
            put(static_cast<std::int32_t>(slot));
    }

    std::vector<Entry> table_ = std::vector<Entry>(16);  // a power of two, at most half full
    std::vector<nanobind::object> names_;
    std::vector<Py_hash_t> hashes_;
    std::vector<bool> ignores_;
    std::size_t mask_ = 15;
    int shift_ = 60;
    bool plain_ = true;
};

}  // namespace aggro
