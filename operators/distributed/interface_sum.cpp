#include "operators/distributed/interface_sum.hpp"

#include <algorithm>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

template <std::floating_point T>
InterfaceSum<T>::InterfaceSum(const Communicator& communicator, const IndexMap& map, int stride, Device device)
    : stride_(stride), message_count_(std::ssize(map.neighbours)), plan_(map, communicator.rank()) {
  if (device == Device::cuda) {
    gpu_ = make_gpu_interface<T>(plan_, stride);
    messages_ =
        std::make_unique<NeighbourMessages>(communicator, messages_of(map, stride), gpu_->sent(), gpu_->received());
    return;
  }
  const std::int64_t others = std::ssize(plan_.places);
  sent_ = Vector<T>(others * stride);
  received_ = Vector<T>((others + plan_.shared) * stride);
  messages_ =
      std::make_unique<NeighbourMessages>(communicator, messages_of(map, stride), sent_.data(), received_.data());
}

template <std::floating_point T>
void InterfaceSum<T>::pack(const T* contributions) {
  if (gpu_) return gpu_->pack(contributions);
  const std::int64_t others = std::ssize(plan_.places);
  for_row_blocks(others, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k)
      std::copy_n(contributions + std::int64_t{plan_.places[k]} * stride_, stride_, sent_.data() + k * stride_);
  });
  std::copy_n(contributions, plan_.shared * stride_, received_.data() + others * stride_);
}

template <std::floating_point T>
void InterfaceSum<T>::start() {
  if (gpu_) gpu_->wait_until_packed();
  messages_->start();
}

template <std::floating_point T>
void InterfaceSum<T>::finish() {
  messages_->finish();
  if (gpu_) gpu_->fetch();
}

template <std::floating_point T>
void InterfaceSum<T>::add(T* sums) const {
  if (gpu_) return gpu_->add(sums);
  for_row_blocks(plan_.shared, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      for (int c = 0; c < stride_; ++c) {
        T sum = 0;
        for (std::int64_t k = plan_.offsets[i]; k < plan_.offsets[i + 1]; ++k)
          sum += received_[std::int64_t{plan_.terms[k]} * stride_ + c];
        sums[i * stride_ + c] = sum;
      }
  });
}

template class InterfaceSum<double>;
template class InterfaceSum<float>;

}  // namespace femcg::operators
