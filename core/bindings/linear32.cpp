// Linear models with weights of 32 bits: compiled apart, so that two cores share the work.
#include "linear_model.hpp"

void bind_linear32(nanobind::module_& m) {
    aggro::bind_model<float>(m, "Model32");
    aggro::bind_several<float>(m, "Before32");
}
