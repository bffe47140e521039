#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "operators/backend/memory.hpp"
#include "operators/backend/vector.hpp"
#include "operators/distributed/maps/interface_plan.hpp"

namespace femcg::operators {

/// The lists of an InterfacePlan on the GPU.
struct PlanOnGpu {
  explicit PlanOnGpu(const InterfacePlan& plan)
      : places(there(plan.places)), offsets(there(plan.offsets)), terms(there(plan.terms)) {}

  Vector<std::int32_t> places;
  Vector<std::int64_t> offsets;
  Vector<std::int32_t> terms;

 private:
  template <class Number>
  static Vector<Number> there(const std::vector<Number>& numbers) {
    Vector<Number> made(std::ssize(numbers), Device::cuda);
    copy_bytes(numbers.data(), Device::host, made.data(), Device::cuda, made.bytes());
    return made;
  }
};

}  // namespace femcg::operators
