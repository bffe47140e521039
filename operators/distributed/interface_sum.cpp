#include "operators/distributed/interface_sum.hpp"

#include <algorithm>

#include "operators/backend/parallel_rows.hpp"

namespace femcg::operators {

namespace {

std::int64_t numbers_sent(const IndexMap& map) {
  std::int64_t count = 0;
  for (const IndexMap::Neighbour& neighbour : map.neighbours) count += std::ssize(neighbour.shared);
  return count;
}

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

}  // namespace

template <std::floating_point T>
InterfaceSum<T>::InterfaceSum(const Communicator& communicator, const IndexMap& map, int stride)
    : stride_(stride),
      shared_(map.size() - map.first_shared),
      message_count_(std::ssize(map.neighbours)),
      sent_(numbers_sent(map) * stride),
      received_((numbers_sent(map) + shared_) * stride),
      messages_(communicator, messages_of(map, stride), sent_.data(), received_.data()) {
  for (const IndexMap::Neighbour& neighbour : map.neighbours)
    for (const std::int32_t i : neighbour.shared) places_.push_back(i - map.first_shared);
  std::vector<std::vector<std::int32_t>> terms(shared_);
  std::int32_t place = 0;
  const auto add_own = [&] {
    for (std::int64_t i = 0; i < shared_; ++i) terms[i].push_back(static_cast<std::int32_t>(numbers_sent(map) + i));
  };
  bool own_added = false;
  for (const IndexMap::Neighbour& neighbour : map.neighbours) {
    if (neighbour.rank > communicator.rank() && !own_added) {
      add_own();
      own_added = true;
    }
    for (std::size_t k = 0; k < neighbour.shared.size(); ++k, ++place) terms[places_[place]].push_back(place);
  }
  if (!own_added) add_own();
  offsets_.push_back(0);
  for (const auto& of_unknown : terms) {
    terms_.insert(terms_.end(), of_unknown.begin(), of_unknown.end());
    offsets_.push_back(std::ssize(terms_));
  }
}

template <std::floating_point T>
void InterfaceSum<T>::pack(const T* contributions) {
  for_row_blocks(std::ssize(places_), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k)
      std::copy_n(contributions + std::int64_t{places_[k]} * stride_, stride_, sent_.data() + k * stride_);
  });
  std::copy_n(contributions, shared_ * stride_, received_.data() + std::ssize(places_) * stride_);
}

template <std::floating_point T>
void InterfaceSum<T>::add(T* sums) const {
  for_row_blocks(shared_, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      for (int c = 0; c < stride_; ++c) {
        T sum = 0;
        for (std::int64_t k = offsets_[i]; k < offsets_[i + 1]; ++k)
          sum += received_[std::int64_t{terms_[k]} * stride_ + c];
        sums[i * stride_ + c] = sum;
      }
  });
}

template class InterfaceSum<double>;
template class InterfaceSum<float>;

}  // namespace femcg::operators
