// Recorded work and mailboxes of a build without CUDA.

#include <stdexcept>

#include "operators/backend/recorded_work.hpp"

namespace femcg::operators {

struct RecordedWork::Graph {};
RecordedWork::RecordedWork(Device, std::function<void()> work) : work_(std::move(work)) {}
RecordedWork::~RecordedWork() = default;
RecordedWork::RecordedWork(RecordedWork&&) noexcept = default;
RecordedWork& RecordedWork::operator=(RecordedWork&&) noexcept = default;
void RecordedWork::run() const { work_(); }

void* cuda_work_stream() { throw std::runtime_error("this build has no CUDA"); }

struct Mailbox::Slot {
  std::vector<double> numbers;
};
Mailbox::Mailbox(std::int64_t size, Device)
    : slot_(std::make_unique<Slot>(Slot{std::vector<double>(static_cast<std::size_t>(size))})) {}
Mailbox::~Mailbox() = default;
Mailbox::Mailbox(Mailbox&&) noexcept = default;
Mailbox& Mailbox::operator=(Mailbox&&) noexcept = default;
void Mailbox::post(const Vector<double>& from) {
  copy_bytes(from.data(), Device::host, slot_->numbers.data(), Device::host, from.bytes());
}
std::span<const double> Mailbox::receive() const { return slot_->numbers; }

}  // namespace femcg::operators
