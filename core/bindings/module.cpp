// The compiled module: one entry per thing that is bound.
#include <nanobind/nanobind.h>

#include <new>
#include <stdexcept>

#include "base/memory.hpp"

void bind_linear(nanobind::module_&);
void bind_linear32(nanobind::module_&);
void bind_linear64(nanobind::module_&);
void bind_kernel(nanobind::module_&);
void bind_stream(nanobind::module_&);
void bind_text(nanobind::module_&);
void bind_vectorise(nanobind::module_&);
void bind_feature_map(nanobind::module_&);
void bind_log_loss(nanobind::module_&);

namespace {

/// Says in plain words that memory is short, where the standard library would say "std::bad_alloc".
void tell_of_memory(const std::exception_ptr& error, void*) {
    constexpr auto text =
        "there is not enough memory for this; use fewer rows or features at a time.";
    try {
        std::rethrow_exception(error);
    } catch (const aggro::TooLarge& large) {
        PyErr_SetString(PyExc_MemoryError, large.what());
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, text);
    } catch (const std::length_error&) {
        PyErr_SetString(PyExc_MemoryError, text);
    }
}

}  // namespace

NB_MODULE(AGGRO_MODULE, m) {
    nanobind::set_leak_warnings(false);  // models alive when the interpreter exits are no leak
    nanobind::register_exception_translator(tell_of_memory);
    m.doc() = "The compiled core of aggro.";
    m.attr("level") = AGGRO_LEVEL;
    m.def("machine_memory", &aggro::machine_memory,
          "The memory of the machine in bytes; infinity where it cannot be told.");
    bind_linear(m);
    bind_linear32(m);
    bind_linear64(m);
    bind_kernel(m);
    bind_stream(m);
    bind_text(m);
    bind_vectorise(m);
    bind_feature_map(m);
    bind_log_loss(m);
}
