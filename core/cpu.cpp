// Which instruction-set level this machine can run, so that the right core is imported.
#include <nanobind/nanobind.h>

static const char* best_level() {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return "avx512";
    if (__builtin_cpu_supports("x86-64-v3")) return "avx2";
#endif
    return "baseline";
}

NB_MODULE(_cpu, m) { m.def("best_level", &best_level, "The best level this machine can run."); }
