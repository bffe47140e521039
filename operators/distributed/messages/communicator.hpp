#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace femcg::operators {

/// The processes that were started together (mpirun -n 4 femcg ...). One object a program, from the first communication
/// until the end. All of MPI is behind this class; a build without MPI has mpi_stub.cpp, with one process.
///
/// Functions marked "collective" are called by all processes in the same order.
class Communicator {
 public:
  /// Number of processes started by mpirun or srun, from the environment; 1 without them.
  static int started();
  /// The rank of this process among them, known before it joins.
  static int started_rank();
  /// Initializes MPI in a single process, for a library that needs it, until the program ends. Throws
  /// std::invalid_argument in a build without MPI.
  static void start_for_library();
  /// True if this build has MPI, and MPI has not been finalized.
  static bool available();

  /// Joins the other processes. Collective. Throws std::invalid_argument in a build without MPI, and if another MPI
  /// than the build's has started the processes, so that they do not find each other.
  Communicator();
  /// The communicator of a single process: rank 0 of 1, without MPI. Collective functions cost nothing; begin_sum and
  /// messages are not available.
  static const Communicator& alone();
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// True for rank 0, the process that prints and writes.
  bool is_first() const { return rank_ == 0; }
  /// True if a thread other than the main one may communicate (while the main one does not).
  bool takes_threads() const { return takes_threads_; }

  /// Replaces each value by its sum over all processes, added in the order of ranks: the same bits on all processes and
  /// in each run. Collective.
  void sum(std::span<double> numbers) const;
  double sum(double number) const {
    sum(std::span(&number, 1));
    return number;
  }

  /// The same sum split in two, for messages between neighbours meanwhile, but no collective call. One at a time.
  void begin_sum(std::span<const double> numbers) const;
  void end_sum(std::span<double> sums) const;

  /// Sends values of one process to all; the size is the same on all. Collective.
  template <class T>
  void broadcast(std::span<T> values, int from) const {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast_bytes(values.data(), static_cast<std::int64_t>(values.size_bytes()), from);
  }
  /// The same for a vector or text whose size only the sender knows.
  template <class Container>
  void broadcast_all(Container& values, int from) const {
    auto size = static_cast<std::int64_t>(values.size());
    broadcast(std::span(&size, 1), from);
    values.resize(static_cast<std::size_t>(size));
    broadcast(std::span(values), from);
  }
  /// The values of all processes, by rank. Collective.
  template <class Container>
  std::vector<Container> gathered(const Container& mine) const {
    std::vector<Container> all(size_);
    for (int from = 0; from < size_; ++from) {
      if (from == rank_) all[from] = mine;
      broadcast_all(all[from], from);
    }
    return all;
  }

  /// Sends a text to another process, which receives it with text_from.
  void send_text(const std::string& text, int rank) const;
  std::string text_from(int rank) const;

  /// Sends a list to each of some other processes, and receives one from each. Collective over these processes.
  template <class T>
  std::vector<std::vector<T>> exchanged(std::span<const int> ranks, const std::vector<std::vector<T>>& lists) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<std::int64_t> sizes;
    for (const std::vector<T>& list : lists) sizes.push_back(std::ssize(list));
    std::vector<std::int64_t> theirs(ranks.size());
    std::vector<Transfer> transfers;
    for (std::size_t k = 0; k < ranks.size(); ++k)
      transfers.push_back({ranks[k], &sizes[k], sizeof(std::int64_t), &theirs[k], sizeof(std::int64_t)});
    transfer(transfers);
    std::vector<std::vector<T>> received(ranks.size());
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      received[k].resize(static_cast<std::size_t>(theirs[k]));
      transfers[k] = {ranks[k], lists[k].data(), sizes[k] * std::int64_t{sizeof(T)}, received[k].data(),
                      theirs[k] * std::int64_t{sizeof(T)}};
    }
    transfer(transfers);
    return received;
  }

  /// Called by a process that cannot go on: waits at most a second for all others to call it. True if they did: the
  /// error is the same everywhere, and the first process reports it.
  bool all_fail() const;
  /// Ends all processes with this exit status, wherever they are.
  [[noreturn]] void end_all(int status) const;

 private:
  friend class NeighbourMessages;
  struct State;
  /// Data sent to one process, and received from it.
  struct Transfer {
    int rank;
    const void* sent;
    std::int64_t sent_bytes;
    void* received;
    std::int64_t received_bytes;
  };
  struct Alone {};
  explicit Communicator(Alone);
  void leave();
  void transfer(std::span<const Transfer> transfers) const;
  void broadcast_bytes(void* data, std::int64_t bytes, int from) const;

  std::unique_ptr<State> state_;
  int rank_ = 0, size_ = 1;
  bool takes_threads_ = false;
};

/// A message of `count` values to a process and one from it, from index `first` on of both the sent and the received
/// values.
struct Message {
  int rank;
  std::int64_t first, count;
};

/// Repeated messages between neighbours, always from and to the same memory.
class NeighbourMessages {
 public:
  template <class T>
  NeighbourMessages(const Communicator& communicator, std::span<const Message> messages, const T* sent, T* received)
      : NeighbourMessages(communicator, messages, sent, received, sizeof(T)) {}
  ~NeighbourMessages();
  NeighbourMessages(const NeighbourMessages&) = delete;
  NeighbourMessages& operator=(const NeighbourMessages&) = delete;

  /// Starts sending the current values; does not wait.
  void start();
  /// Waits until all messages have arrived, and sent values may change.
  void finish();

 private:
  NeighbourMessages(const Communicator& communicator, std::span<const Message> messages, const void* sent,
                    void* received, std::size_t size_of_number);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace femcg::operators
