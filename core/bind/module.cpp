// The compiled module: one entry per thing that is bound.
#include <nanobind/nanobind.h>

void bind_linear(nanobind::module_&);
void bind_kernel(nanobind::module_&);
void bind_stream(nanobind::module_&);
void bind_text(nanobind::module_&);

NB_MODULE(AGGRO_MODULE, m) {
    nanobind::set_leak_warnings(false);  // models alive when the interpreter exits are no leak
    m.doc() = "The compiled core of aggro.";
    m.attr("level") = AGGRO_LEVEL;
    bind_linear(m);
    bind_kernel(m);
    bind_stream(m);
    bind_text(m);
}
