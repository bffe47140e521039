#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/device.hpp"

int main(int count, char** arguments) {
  constexpr int skipped = 77;  // what ctest takes for it
  std::string reason;
  if (femcg::tests::device() == femcg::operators::Device::cuda && femcg::operators::cuda_devices(&reason).empty()) {
    fmt::print("skipped: these tests need a GPU, and there is none: {}\n", reason);
    return skipped;
  }
  return doctest::Context(count, arguments).run();
}
