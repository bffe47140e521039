#include <stdexcept>

#include "mesh/parts/partition.hpp"

namespace femcg::mesh {

std::vector<std::int32_t> partition_by_metis(const Mesh&, int) {
  throw std::invalid_argument("this femcg was built without METIS: use distribution.partition: curve");
}

}  // namespace femcg::mesh
