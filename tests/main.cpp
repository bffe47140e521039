#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/device.hpp"

int main(int count, char** arguments) {
  constexpr int skipped = 77;  // status that ctest takes for skipped
  std::string reason;
  const bool has_gpu = femcg::operators::cuda_device_in_use(&reason).has_value();
  if (femcg::tests::device() == femcg::operators::Device::cuda && !has_gpu) {
    fmt::print("skipped: these tests need a GPU, and there is none: {}\n", reason);
    return skipped;
  }
  doctest::Context context(count, arguments);
  if (has_gpu) context.addFilter("test-suite-exclude", "without a GPU");  // needs_no_gpu()
  return context.run();
}
