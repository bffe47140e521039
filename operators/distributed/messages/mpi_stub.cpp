// Communicator of a build without MPI: one process.

#include <cstdlib>
#include <stdexcept>

#include "operators/distributed/messages/communicator.hpp"
#include "operators/distributed/messages/launcher.hpp"

namespace femcg::operators {

struct Communicator::State {};
struct NeighbourMessages::State {};

namespace {

[[noreturn]] void refuse() { throw std::invalid_argument("this femcg was built without MPI: start it without mpirun"); }

}  // namespace

int Communicator::started() { return processes_of_launcher(); }
int Communicator::started_rank() { return rank_of_launcher(); }
bool Communicator::available() { return false; }
void Communicator::start_for_library() { refuse(); }

Communicator::Communicator() { refuse(); }
Communicator::Communicator(Alone) {}
const Communicator& Communicator::alone() {
  static const Communicator one{Alone()};
  return one;
}
Communicator::~Communicator() = default;
void Communicator::leave() {}
void Communicator::sum(std::span<double>) const {}
void Communicator::begin_sum(std::span<const double>) const { refuse(); }
void Communicator::end_sum(std::span<double>) const { refuse(); }
void Communicator::broadcast_bytes(void*, std::int64_t, int) const {}
void Communicator::send_text(const std::string&, int) const { refuse(); }
std::string Communicator::text_from(int) const { refuse(); }
void Communicator::transfer(std::span<const Transfer>) const {}
bool Communicator::all_fail() const { return true; }
void Communicator::end_all(int status) const { std::_Exit(status); }

NeighbourMessages::NeighbourMessages(const Communicator&, std::span<const Message>, const void*, void*, std::size_t) {
  refuse();
}
NeighbourMessages::~NeighbourMessages() = default;
void NeighbourMessages::start() { refuse(); }
void NeighbourMessages::finish() { refuse(); }

}  // namespace femcg::operators
