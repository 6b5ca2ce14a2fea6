// Linear models with 32-bit weights, in a separate unit to compile in parallel.
#include "linear_model.hpp"

void bind_linear32(nanobind::module_& m) {
    aggro::bind_model<float>(m, "Model32");
    aggro::bind_several<float>(m, "Before32");
}
