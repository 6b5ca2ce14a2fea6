// Vectorisation of documents, compiled for several instruction sets.
#include "text/vectoriser.hpp"

namespace aggro::words {

template void Vectoriser::rows(const std::vector<Document>&, bool, std::size_t,
                               std::vector<Rows<float>>&);
template void Vectoriser::rows(const std::vector<Document>&, bool, std::size_t,
                               std::vector<Rows<double>>&);

}  // namespace aggro::words
