// The compiled module.
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

/// Translate std::bad_alloc into a MemoryError with a message.
void translate_bad_alloc(const std::exception_ptr& error, void*) {
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
    nanobind::set_leak_warnings(false);  // models that are alive at exit are not leaks
    nanobind::register_exception_translator(translate_bad_alloc);
    m.doc() = "The compiled core of aggro.";
    m.attr("level") = AGGRO_LEVEL;
    m.def("machine_memory", &aggro::machine_memory,
          "Return the memory of the machine in bytes; infinity if unknown.");
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
