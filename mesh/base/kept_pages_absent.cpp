// A C library that does not keep memory.

#include "mesh/base/kept_pages.hpp"

namespace femcg::mesh {

bool keep_pages() { return false; }
std::int64_t kept_bytes() { return 0; }
void give_back_pages() {}

}  // namespace femcg::mesh
