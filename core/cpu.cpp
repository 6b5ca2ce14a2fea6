// Tells Python which level this machine can run, so that the right core is imported.
#include <nanobind/nanobind.h>

#include "level.hpp"

NB_MODULE(_cpu, m) {
    m.def("best_level", &aggro::best_level, "The best level this machine can run.");
}
