// Stub for a C library whose malloc cannot retain pages.

#include "mesh/base/retained_pages.hpp"

namespace femcg::mesh {

bool retain_pages() { return false; }
std::int64_t kept_bytes() { return 0; }
void return_pages() {}

}  // namespace femcg::mesh
