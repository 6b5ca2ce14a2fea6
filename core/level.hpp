// Detection of the instruction set of this machine.
#pragma once

namespace aggro {

inline const char* best_level() {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return "avx512";
    if (__builtin_cpu_supports("x86-64-v3")) return "avx2";
#endif
    return "baseline";
}

}  // namespace aggro
