// Retention of freed memory.

#include "mesh/base/retained_pages.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "mesh/base/free_memory.hpp"
#include "mesh/base/pages.hpp"

using namespace femcg;

namespace {

constexpr std::int64_t megabyte = 1 << 20, little = 8 * megabyte;

void use(std::size_t bytes) {
  const std::vector<char> numbers = mesh::filled<char>(bytes, 1);
  CHECK(numbers.back() == 1);
}

}  // namespace

TEST_CASE("what is freed is kept, counts as free, and is given back when asked for") {
  constexpr std::int64_t bytes = 200 * megabyte;
  use(bytes);
  CHECK(mesh::kept_bytes() == 0);
  CHECK(mesh::resident_memory() < bytes);
  const bool keeps = mesh::retain_pages();
  CHECK(keeps == (FEMCG_CAN_KEEP_PAGES && !mesh::addresses_are_limited()));
  if (!keeps) return;
  use(bytes);
  CHECK(mesh::kept_bytes() > bytes - little);
  CHECK(mesh::resident_memory() > bytes);
  CHECK(mesh::free_memory() > bytes - little);
  { const auto never_written_to = std::make_unique_for_overwrite<char[]>(2 * bytes); }
  CHECK(mesh::kept_bytes() < 2 * bytes);
  mesh::return_pages();
  CHECK(mesh::kept_bytes() < little);
  CHECK(mesh::resident_memory() < bytes);
}
