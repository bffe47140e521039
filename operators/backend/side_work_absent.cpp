// A build without CUDA.

#include <stdexcept>

#include "operators/backend/side_work.hpp"

namespace femcg::operators {

struct SideWork::Stream {};
SideWork::SideWork() { throw std::runtime_error("this build has no CUDA"); }
SideWork::~SideWork() = default;
void SideWork::begin(const std::function<void()>&) {}
void SideWork::join() {}

}  // namespace femcg::operators
