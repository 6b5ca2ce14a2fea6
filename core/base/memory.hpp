// Limits of memory, and the error for requests beyond them.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <string>
#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace aggro {

/// A request for more memory than the machine has, with its purpose and size.
class TooLarge : public std::bad_alloc {
  public:
    explicit TooLarge(const std::string& text) : text_(std::make_shared<std::string>(text)) {}
    const char* what() const noexcept override { return text_->c_str(); }

  private:
    std::shared_ptr<const std::string> text_;  // exceptions are copied, and must not fail then
};

/// The memory of the machine in bytes; infinity if unknown.
inline double machine_memory() {
    double bytes = std::numeric_limits<double>::infinity();
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    const auto pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) bytes = static_cast<double>(pages) * static_cast<double>(size);
#endif
    return bytes;
}

inline std::string in_gib(double bytes) {
    char text[32];
    std::snprintf(text, sizeof(text), bytes < 1e15 ? "%.1f GiB" : "%.3g GiB", bytes / 0x1p30);
    return text;
}

/// Throws if the machine cannot hold this many bytes, before any are allocated. Sizes are doubles:
/// they do not wrap around, and accepted ones fit into a std::size_t.
inline void check_memory(double bytes, const std::string& what, const char* advice) {
    const double limit = std::min(machine_memory(), 0x1p60);
    if (bytes <= limit) return;
    throw TooLarge(what + " needs " + in_gib(bytes) + " of memory, but this machine has " +
                   in_gib(machine_memory()) + "; " + advice + ".");
}

/// The product of sizes that no check has bounded before.
template <class... Sizes>
inline std::size_t product(std::size_t first, Sizes... others) {
    std::size_t result = first;
    bool fits = true;
    ((fits = !__builtin_mul_overflow(result, others, &result) && fits), ...);
    if (!fits) throw TooLarge("this needs more memory than can be addressed.");
    return result;
}

}  // namespace aggro
