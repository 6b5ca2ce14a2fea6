// Linear models with 64-bit weights, in a separate unit to compile in parallel.
#include "linear_model.hpp"
#include "stream/stream.hpp"

namespace aggro {
AGGRO_STREAM_LOOPS()
}

void bind_linear64(nanobind::module_& m) {
    aggro::bind_model<double>(m, "Model64");
    aggro::bind_several<double>(m, "Before64");
}
