// Memory that a process keeps when it is freed.

#include "mesh/kept_pages.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "mesh/free_memory.hpp"
#include "mesh/pages.hpp"

using namespace femcg;

namespace {

constexpr std::int64_t megabyte = 1 << 20;

/// Bytes of memory that this process has.
std::int64_t resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::int64_t kibibytes = 0; word == "VmRSS:" && status >> kibibytes) return kibibytes * 1024;
  return 0;
}

void use(std::size_t bytes) {
  const std::vector<char> numbers = mesh::filled<char>(bytes, 1);
  CHECK(numbers.back() == 1);
}

}  // namespace

TEST_CASE("what is freed is kept, counts as free, and is given back when asked for") {
  constexpr std::int64_t bytes = 200 * megabyte;
  use(bytes);
  CHECK(mesh::kept_bytes() == 0);
  CHECK(resident() < bytes);
  if (!mesh::keep_pages()) return;
  use(bytes);
  CHECK(mesh::kept_bytes() >= bytes);
  CHECK(resident() > bytes);
  CHECK(mesh::free_memory() >= bytes);
  mesh::give_back_pages();
  CHECK(resident() < bytes);
}
