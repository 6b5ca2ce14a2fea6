// Python module that returns the best instruction set of this machine, to import the matching core.
#include <nanobind/nanobind.h>

#include "level.hpp"

NB_MODULE(_cpu, m) {
    m.def("best_level", &aggro::best_level, "The best level this machine can run.");
}
