// Linear models with weights of 64 bits: compiled apart, so that two cores share the work.
#include "linear_model.hpp"
#include "stream/stream.hpp"

namespace aggro {

// The loops of streams, which are those of sparse arrays.
template class Learn<double, StreamRow, true, true>;
template class Learn<double, StreamRow, true, false>;
template class Learn<double, StreamRow, false, true>;
template class Learn<double, StreamRow, false, false>;
template class LearnBatch<double, StreamRow, true, true>;
template class LearnBatch<double, StreamRow, true, false>;
template class LearnBatch<double, StreamRow, false, true>;
template class LearnBatch<double, StreamRow, false, false>;

}  // namespace aggro

void bind_linear64(nanobind::module_& m) {
    aggro::bind_model<double>(m, "Model64");
    aggro::bind_several<double>(m, "Before64");
}
