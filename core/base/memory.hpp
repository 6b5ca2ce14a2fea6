// Memory limits and the error for requests above them.
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

/// Raised when a request needs more memory than the machine has; names its purpose and size.
class TooLarge : public std::bad_alloc {
  public:
    explicit TooLarge(const std::string& text) : text_(std::make_shared<std::string>(text)) {}
    const char* what() const noexcept override { return text_->c_str(); }

  private:
    std::shared_ptr<const std::string> text_;  // shared, so that copying the exception cannot fail
};

/// Return the memory of the machine in bytes, or infinity if unknown.
inline double machine_memory() {
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    static const auto pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) return static_cast<double>(pages) * static_cast<double>(size);
#endif
    return std::numeric_limits<double>::infinity();
}

inline std::string in_gib(double bytes) {
    char text[32];
    std::snprintf(text, sizeof(text), bytes < 1e15 ? "%.1f GiB" : "%.3g GiB", bytes / 0x1p30);
    return text;
}

/// Throw TooLarge if `bytes` exceeds the memory of the machine, before anything is allocated. Sizes
/// are doubles, which cannot wrap around; accepted sizes fit into a std::size_t.
inline void check_memory(double bytes, const std::string& what, const char* advice) {
    const double limit = std::min(machine_memory(), 0x1p60);
    if (bytes <= limit) return;
    throw TooLarge(what + " needs " + in_gib(bytes) + " of memory, but this machine has " +
                   in_gib(machine_memory()) + "; " + advice + ".");
}

/// Return the product of sizes; throw TooLarge if it overflows.
template <class... Sizes>
inline std::size_t product(std::size_t first, Sizes... others) {
    std::size_t result = first;
    bool fits = true;
    ((fits = !__builtin_mul_overflow(result, others, &result) && fits), ...);
    if (!fits) throw TooLarge("this needs more memory than can be addressed.");
    return result;
}

}  // namespace aggro
