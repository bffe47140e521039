#pragma once

#include <cstdint>

namespace femcg::operators {

/// Copies from one place of the host to another, by all threads where it is much, which then also fetch the target's
/// pages.
void copy_on_host(const void* from, void* to, std::int64_t bytes);

}  // namespace femcg::operators
