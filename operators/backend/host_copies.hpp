#pragma once

#include <cstdint>

namespace femcg::operators {

/// Copies host memory; from 1 MiB on with all threads, which also fault in the pages of the target.
void copy_on_host(const void* from, void* to, std::int64_t bytes);

}  // namespace femcg::operators
