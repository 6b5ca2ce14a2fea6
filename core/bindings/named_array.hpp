// Access to the named arrays of a state.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>

namespace aggro {

namespace nb = nanobind;

/// Return a named array of a state; raise if it is missing or has another type or shape.
template <class A>
inline A array_of(const nb::dict& arrays, const char* name) {
    if (!arrays.contains(name)) throw nb::key_error(name);
    A array;
    if (!nb::try_cast<A>(arrays[name], array))
        throw nb::value_error((std::string(name) + " has another type or shape").c_str());
    return array;
}

}  // namespace aggro
