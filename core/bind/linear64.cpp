// Linear models with weights of 64 bits: compiled apart, so that two cores share the work.
#include "linear_model.hpp"
#include "stream/stream.hpp"

namespace aggro {

// The model and the loops of streams, which are those of sparse arrays.
template struct Model<double>;
template class Learn<double, StreamRow, true, true>;
template class Learn<double, StreamRow, true, false>;
template class Learn<double, StreamRow, false, true>;
template class Learn<double, StreamRow, false, false>;
template class BatchStep<double, StreamRow>;
template std::unique_ptr<BatchStep<double, StreamRow>> batch_step(Model<double>&, Scratch<double>&);

}  // namespace aggro

void bind_linear64(nanobind::module_& m) {
    aggro::bind_model<double>(m, "Model64");
    aggro::bind_several<double>(m, "Before64");
}
