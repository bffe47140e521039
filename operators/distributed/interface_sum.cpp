#include "operators/distributed/interface_sum.hpp"

#include <algorithm>
#include <exception>

#include "operators/backend/parallel_rows.hpp"
#include "operators/distributed/gpu_sums.hpp"
#include "operators/distributed/machines.hpp"

namespace femcg::operators {

namespace {

std::vector<Message> messages_of(const IndexMap& map, int stride) {
  std::vector<Message> messages;
  std::int64_t first = 0;
  for (const IndexMap::Neighbour& neighbour : map.neighbours) {
    const std::int64_t count = std::ssize(neighbour.shared) * stride;
    messages.push_back({neighbour.rank, first, count});
    first += count;
  }
  return messages;
}

InterfacePlan plan_of(const IndexMap& map, int rank) {
  InterfacePlan plan;
  plan.shared = map.size() - map.first_shared;
  for (const IndexMap::Neighbour& neighbour : map.neighbours)
    for (const std::int32_t i : neighbour.shared) plan.places.push_back(i - map.first_shared);
  std::vector<std::vector<std::int32_t>> terms(plan.shared);
  std::int32_t place = 0;
  const auto add_own = [&] {
    for (std::int64_t i = 0; i < plan.shared; ++i)
      terms[i].push_back(static_cast<std::int32_t>(std::ssize(plan.places) + i));
  };
  bool own_added = false;
  for (const IndexMap::Neighbour& neighbour : map.neighbours) {
    if (neighbour.rank > rank && !own_added) {
      add_own();
      own_added = true;
    }
    for (std::size_t k = 0; k < neighbour.shared.size(); ++k, ++place) terms[plan.places[place]].push_back(place);
  }
  if (!own_added) add_own();
  plan.offsets.push_back(0);
  for (const auto& of_unknown : terms) {
    plan.terms.insert(plan.terms.end(), of_unknown.begin(), of_unknown.end());
    plan.offsets.push_back(std::ssize(plan.terms));
  }
  return plan;
}

}  // namespace

template <std::floating_point T>
InterfaceSum<T>::InterfaceSum(const Communicator& communicator, const IndexMap& map, int stride, Device device)
    : communicator_(communicator),
      stride_(stride),
      message_count_(std::ssize(map.neighbours)),
      plan_(plan_of(map, communicator.rank())) {
  if (device == Device::cuda) {
    gpu_ = make_gpu_interface<T>(plan_, stride);
    connect_gpus(map);
    if (!messages_ && !tells_peers())
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
InterfaceSum<T>::~InterfaceSum() {
  if (!reads_peers() || std::uncaught_exceptions() > 0) return;
  gpu_->close();
  communicator_.sum(0.0);  // memory that others read goes after they have closed it
}

/// Has GPUs read what others have packed, where all of them can.
template <std::floating_point T>
void InterfaceSum<T>::connect_gpus(const IndexMap& map) {
  const auto handles = communicator_.gathered(gpu_->handle());
  const std::vector<Message> mine = messages_of(map, 1);
  std::vector<std::int64_t> firsts(communicator_.size(), -1);
  for (const Message& message : mine) firsts[message.rank] = message.first;
  const auto all_firsts = communicator_.gathered(firsts);
  std::vector<typename GpuInterface<T>::Peer> peers;
  for (const Message& message : mine)
    peers.push_back({message.rank, handles[message.rank], all_firsts[message.rank][communicator_.rank()], message.first,
                     message.count});
  const bool opened = on_one_machine(communicator_) && gpu_->open(peers);
  if (communicator_.sum(opened ? 0.0 : 1.0) > 0) return gpu_->close();
  if (gpus_are_beside_each_other(communicator_)) return gpu_->tell_peers(communicator_.rank());
  std::vector<Message> tokens;
  for (const Message& message : mine) tokens.push_back({message.rank, std::ssize(tokens), 1});
  sent_ = Vector<T>(std::ssize(tokens));
  received_ = Vector<T>(std::ssize(tokens));
  fill(sent_, T(0));
  messages_ = std::make_unique<NeighbourMessages>(communicator_, tokens, sent_.data(), received_.data());
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
  if (tells_peers()) return gpu_->tell();
  if (gpu_) gpu_->wait_until_packed();
  messages_->start();
}

template <std::floating_point T>
void InterfaceSum<T>::finish() {
  if (messages_) messages_->finish();
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
