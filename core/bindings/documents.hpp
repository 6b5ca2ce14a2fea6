// Documents from Python for the vectoriser: lists of strings, or Arrow arrays of strings. They are
// read in blocks of about a mebibyte.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string>
#include <string_view>
#include <vector>

#include "parsers/utf8.hpp"
#include "text/vectoriser.hpp"

namespace aggro::words {

namespace nb = nanobind;

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::size_t longest = std::size_t{1} << 31;  // of a document, in bytes

template <class T>
nb::object give(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

[[noreturn]] inline void reject(std::size_t row, const std::string& why) {
    throw nb::value_error(("document " + std::to_string(row) + " " + why).c_str());
}

/// Load the properties of all characters, the first time that a document needs them.
inline void need_letters(std::string_view text) {
    if (!letters().known() && !is_ascii(text))
        nb::module_::import_("aggro.text.alphabet").attr("load")();
}

inline nb::object encoded(nb::handle text) {
    PyObject* bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass");
    if (!bytes) throw nb::python_error();
    return nb::steal(bytes);
}

inline std::string_view view_of(nb::handle bytes) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) < 0) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
}

inline void check_text(std::string_view text, std::size_t row) {
    if (!aggro::text::is_utf8(text.data(), text.data() + text.size()))
        reject(row, "is not valid UTF-8; decode it, or give encoding= and decode_error=");
    if (text.size() >= longest) reject(row, "has more than 2 GiB; cut it");
}

/// A list of Python strings; all are checked before the first is read.
class StringList {
  public:
    StringList(nb::list documents, nb::object prepare)
        : documents_(std::move(documents)), prepare_(std::move(prepare)) {
        for (std::size_t i = 0; i < count(); ++i) {
            const nb::handle each = documents_[i];
            if (PyBytes_Check(each.ptr()))
                check_text(view_of(each), i);
            else if (!PyUnicode_Check(each.ptr()))
                reject(i, "is " + shown(each) + "; expected a string");
        }
    }

    std::size_t count() const { return documents_.size(); }

    /// Return the documents from `next` on, at least one, up to the size of a block.
    std::vector<Document> block(std::size_t& next) {
        held_.clear();
        std::vector<Document> found;
        for (std::size_t size = 0; next < count() && size < block_bytes; ++next) {
            const nb::object each = nb::borrow(documents_[next]);
            const bool bytes = PyBytes_Check(each.ptr());
            if (!bytes && !PyUnicode_Check(each.ptr())) reject(next, "has changed meanwhile");
            std::string_view text = hold(each, bytes);
            bool as_is = false;
            if (!prepare_.is_none() && !is_ascii(text)) {
                const nb::object prepared = prepare_(bytes ? each.attr("decode")() : each);
                text = hold(prepared, false);
                as_is = true;
            }
            if (text.size() >= longest) reject(next, "has more than 2 GiB; cut it");
            need_letters(text);
            found.push_back({text, as_is});
            size += text.size();
        }
        return found;
    }

  private:
    /// Return the bytes of a document, valid as long as the block. Python caches the UTF-8 of a
    /// string, and an ASCII string is stored as such, so nothing is copied.
    std::string_view hold(const nb::object& document, bool bytes) {
        held_.push_back(document);
        if (bytes) return view_of(document);
        Py_ssize_t size = 0;
        if (const char* data = PyUnicode_AsUTF8AndSize(document.ptr(), &size))
            return {data, static_cast<std::size_t>(size)};
        PyErr_Clear();  // lone surrogates
        held_.push_back(encoded(document));
        return view_of(held_.back());
    }

    static std::string shown(nb::handle value) {
        const std::string text = nb::cast<std::string>(nb::repr(value));
        return text.size() <= 60 ? text : text.substr(0, 60) + "...";
    }

    nb::list documents_;
    nb::object prepare_;
    std::vector<nb::object> held_;
};

/// Strings in Arrow's layout.
template <class Offset>
class ArrowStrings {
  public:
    /// `any`: the bytes need not be UTF-8.
    ArrowStrings(Bytes bytes, Input<Offset> offsets, bool any = false)
        : bytes_(std::move(bytes)), offsets_(std::move(offsets)) {
        for (std::size_t i = 0; i < count(); ++i) {
            const auto begin = offsets_(i), end = offsets_(i + 1);
            if (begin < 0 || begin > end || static_cast<std::size_t>(end) > bytes_.size())
                throw nb::value_error("offsets must not decrease, nor reach beyond the bytes");
            if (!any) check_text(at(i), i);
        }
    }

    std::size_t count() const { return offsets_.size() == 0 ? 0 : offsets_.size() - 1; }

    std::vector<Document> block(std::size_t& next) {
        std::vector<Document> found;
        for (std::size_t size = 0; next < count() && size < block_bytes; ++next) {
            need_letters(at(next));
            found.push_back({at(next)});
            size += found.back().text.size();
        }
        return found;
    }

    std::string_view at(std::size_t i) const {
        return {reinterpret_cast<const char*>(bytes_.data()) + offsets_(i),
                static_cast<std::size_t>(offsets_(i + 1) - offsets_(i))};
    }

  private:
    Bytes bytes_;
    Input<Offset> offsets_;
};

}  // namespace aggro::words
