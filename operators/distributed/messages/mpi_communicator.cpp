// Communicator with MPI.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "operators/distributed/messages/communicator.hpp"
#include "operators/distributed/messages/launcher.hpp"

namespace femcg::operators {

namespace {

/// Most bytes of a message: MPI's counts are of type int.
constexpr std::int64_t largest_piece = std::int64_t{1} << 30;
constexpr int tag_of_texts = 1, tag_of_neighbours = 2, tag_of_lists = 3;

template <class Transfer>
void in_pieces(char* data, std::int64_t bytes, const Transfer& transfer) {
  for (std::int64_t at = 0; at < bytes; at += largest_piece)
    transfer(data + at, static_cast<int>(std::min(largest_piece, bytes - at)));
}

/// Adds up the values of the processes, which are contiguous per process.
void add_up(std::span<const double> of_all, std::span<double> sums) {
  std::ranges::fill(sums, 0.0);
  for (std::size_t i = 0; i < of_all.size(); ++i) sums[i % sums.size()] += of_all[i];
}

}  // namespace

struct Communicator::State {
  MPI_Comm all = MPI_COMM_NULL, failing = MPI_COMM_NULL;
  mutable std::vector<double> given, numbers;  ///< of this process, of all: of a sum
  mutable MPI_Request sum = MPI_REQUEST_NULL;
};

int Communicator::started() { return processes_of_launcher(); }
int Communicator::started_rank() { return rank_of_launcher(); }
bool Communicator::available() {
  int left = 0;
  MPI_Finalized(&left);
  return left == 0;
}

void Communicator::start_for_library() {
  static const struct Session {
    Session() {
      int runs = 0, provided = MPI_THREAD_SINGLE;
      MPI_Initialized(&runs);
      if (runs != 0) return;
      begun = true;
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    }
    ~Session() {
      if (begun) MPI_Finalize();
    }
    bool begun = false;
  } session;
}

// MPI's default error handler is kept: an error ends all processes with MPI's message.
Communicator::Communicator() : state_(std::make_unique<State>()) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  takes_threads_ = provided >= MPI_THREAD_SERIALIZED;
  MPI_Comm_dup(MPI_COMM_WORLD, &state_->all);
  MPI_Comm_dup(MPI_COMM_WORLD, &state_->failing);
  MPI_Comm_rank(state_->all, &rank_);
  MPI_Comm_size(state_->all, &size_);
  if (size_ == started()) return;
  leave();
  throw std::invalid_argument(fmt::format(
      "{} processes were started together, of which this femcg's MPI finds {}: use the mpirun of the MPI that it was "
      "built with",
      started(), size_));
}

Communicator::Communicator(Alone) {}

const Communicator& Communicator::alone() {
  static const Communicator one{Alone()};
  return one;
}

Communicator::~Communicator() {
  if (state_) leave();
}

void Communicator::leave() {
  MPI_Comm_free(&state_->all);
  MPI_Comm_free(&state_->failing);
  MPI_Finalize();
}

void Communicator::sum(std::span<double> numbers) const {
  if (!state_) return;
  const auto count = static_cast<int>(numbers.size());
  state_->numbers.resize(numbers.size() * static_cast<std::size_t>(size_));
  MPI_Allgather(numbers.data(), count, MPI_DOUBLE, state_->numbers.data(), count, MPI_DOUBLE, state_->all);
  add_up(state_->numbers, numbers);
}

void Communicator::begin_sum(std::span<const double> numbers) const {
  const auto count = static_cast<int>(numbers.size());
  state_->given.assign(numbers.begin(), numbers.end());
  state_->numbers.resize(numbers.size() * static_cast<std::size_t>(size_));
  MPI_Iallgather(state_->given.data(), count, MPI_DOUBLE, state_->numbers.data(), count, MPI_DOUBLE, state_->all,
                 &state_->sum);
}

void Communicator::end_sum(std::span<double> sums) const {
  MPI_Wait(&state_->sum, MPI_STATUS_IGNORE);
  add_up(state_->numbers, sums);
}

void Communicator::broadcast_bytes(void* data, std::int64_t bytes, int from) const {
  if (!state_) return;
  in_pieces(static_cast<char*>(data), bytes,
            [&](char* piece, int size) { MPI_Bcast(piece, size, MPI_BYTE, from, state_->all); });
}

void Communicator::send_text(const std::string& text, int rank) const {
  const auto size = static_cast<std::int64_t>(text.size());
  MPI_Send(&size, 1, MPI_INT64_T, rank, tag_of_texts, state_->all);
  in_pieces(const_cast<char*>(text.data()), size,
            [&](char* piece, int bytes) { MPI_Send(piece, bytes, MPI_BYTE, rank, tag_of_texts, state_->all); });
}

std::string Communicator::text_from(int rank) const {
  std::int64_t size = 0;
  MPI_Recv(&size, 1, MPI_INT64_T, rank, tag_of_texts, state_->all, MPI_STATUS_IGNORE);
  std::string text(static_cast<std::size_t>(size), ' ');
  in_pieces(text.data(), size, [&](char* piece, int bytes) {
    MPI_Recv(piece, bytes, MPI_BYTE, rank, tag_of_texts, state_->all, MPI_STATUS_IGNORE);
  });
  return text;
}

void Communicator::transfer(std::span<const Transfer> transfers) const {
  if (!state_) return;
  std::vector<MPI_Request> requests;
  for (const Transfer& each : transfers) {
    in_pieces(static_cast<char*>(each.received), each.received_bytes, [&](char* piece, int bytes) {
      MPI_Irecv(piece, bytes, MPI_BYTE, each.rank, tag_of_lists, state_->all, &requests.emplace_back());
    });
    in_pieces(static_cast<char*>(const_cast<void*>(each.sent)), each.sent_bytes, [&](char* piece, int bytes) {
      MPI_Isend(piece, bytes, MPI_BYTE, each.rank, tag_of_lists, state_->all, &requests.emplace_back());
    });
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

bool Communicator::all_fail() const {
  using namespace std::chrono_literals;
  if (!state_) return true;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(state_->failing, &request);
  const auto begin = std::chrono::steady_clock::now();
  for (int done = 0; std::chrono::steady_clock::now() - begin < 1s; std::this_thread::sleep_for(1ms)) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
  }
  return false;
}

void Communicator::end_all(int status) const {
  MPI_Abort(state_->all, status);
  std::_Exit(status);
}

struct NeighbourMessages::State {
  std::vector<MPI_Request> requests;
};

NeighbourMessages::NeighbourMessages(const Communicator& communicator, std::span<const Message> messages,
                                     const void* sent, void* received, std::size_t size_of_number)
    : state_(std::make_unique<State>()) {
  const MPI_Datatype number = size_of_number == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT;
  const MPI_Comm all = communicator.state_->all;
  for (const Message& message : messages) {
    if (message.count > largest_piece)
      throw std::length_error("a process shares more than 2^30 numbers with another: use more processes");
    const auto count = static_cast<int>(message.count);
    const std::int64_t at = message.first * static_cast<std::int64_t>(size_of_number);
    MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
    MPI_Recv_init(static_cast<char*>(received) + at, count, number, message.rank, tag_of_neighbours, all, &in);
    MPI_Send_init(static_cast<const char*>(sent) + at, count, number, message.rank, tag_of_neighbours, all, &out);
    state_->requests.insert(state_->requests.end(), {in, out});
  }
}

NeighbourMessages::~NeighbourMessages() {
  for (MPI_Request& request : state_->requests) MPI_Request_free(&request);
}

void NeighbourMessages::start() {
  if (state_->requests.empty()) return;  // Open MPI does not accept an empty list
  MPI_Startall(static_cast<int>(state_->requests.size()), state_->requests.data());
}

void NeighbourMessages::finish() {
  MPI_Waitall(static_cast<int>(state_->requests.size()), state_->requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace femcg::operators
