#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace femcg::operators {

/// The processes that were started together (mpirun -n 4 femcg ...). One object a program, from the first call that
/// needs the others until its end. MPI is behind it and nowhere else; a build without MPI has mpi_stub.cpp, where there
/// is one process.
///
/// All processes call what is marked "together", in the same order.
class Communicator {
 public:
  /// Number of processes started by mpirun or srun, from the environment; 1 without them.
  static int started();
  /// The rank of this one among them, known before it joins.
  static int started_rank();
  /// Starts MPI in a process alone, for a library that needs it; it ends with the program. Throws std::invalid_argument
  /// in a build without MPI.
  static void start_for_library();
  /// True if this build has MPI, and processes can join or have joined.
  static bool available();

  /// Joins the other processes, together. Throws std::invalid_argument in a build without MPI, and where another MPI
  /// than the build's has started them, so that they cannot find each other.
  Communicator();
  /// The communicator of one process by itself: rank 0 of 1, without MPI. What is marked "together" costs nothing; no
  /// begin_sum and no messages.
  static const Communicator& alone();
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// True if this process is the one that speaks and writes.
  bool is_first() const { return rank_ == 0; }
  /// True if another thread than the main one may send and receive (while the main one does not).
  bool takes_threads() const { return takes_threads_; }

  /// Replaces each number by its sum over all processes, together. Added in the order of their ranks, so that all have
  /// the same bits, and from run to run.
  void sum(std::span<double> numbers) const;
  double sum(double number) const {
    sum(std::span(&number, 1));
    return number;
  }

  /// The same sum in two, for what goes on meanwhile: messages between neighbours, but no other call to all. One at a
  /// time.
  void begin_sum(std::span<const double> numbers) const;
  void end_sum(std::span<double> sums) const;

  /// Gives all processes what one of them has, together; all know its size.
  template <class T>
  void broadcast(std::span<T> values, int from) const {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast_bytes(values.data(), static_cast<std::int64_t>(values.size_bytes()), from);
  }
  /// The same of what only that process knows the size of: a vector or a text.
  template <class Container>
  void broadcast_all(Container& values, int from) const {
    auto size = static_cast<std::int64_t>(values.size());
    broadcast(std::span(&size, 1), from);
    values.resize(static_cast<std::size_t>(size));
    broadcast(std::span(values), from);
  }
  /// Collective. The values of all processes, by rank.
  template <class Container>
  std::vector<Container> gathered(const Container& mine) const {
    std::vector<Container> all(size_);
    for (int from = 0; from < size_; ++from) {
      if (from == rank_) all[from] = mine;
      broadcast_all(all[from], from);
    }
    return all;
  }

  /// A text to another process, which asks for it with text_from.
  void send_text(const std::string& text, int rank) const;
  std::string text_from(int rank) const;

  /// Gives each of some other processes a list, and gets one from each, with all of which go together.
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

  /// Called by a process that goes no further: waits a second for all others to call it as well. True where they did:
  /// what is wrong is wrong everywhere, and the first process says it.
  bool all_fail() const;
  /// Ends all processes with this exit status, whatever they are doing.
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

/// As many numbers as these to a process, from a place on in what is sent, and as many from it to the same place in
/// what is received.
struct Message {
  int rank;
  std::int64_t first, count;
};

/// Messages between neighbours that are sent again and again, always from and to the same memory.
class NeighbourMessages {
 public:
  template <class T>
  NeighbourMessages(const Communicator& communicator, std::span<const Message> messages, const T* sent, T* received)
      : NeighbourMessages(communicator, messages, sent, received, sizeof(T)) {}
  ~NeighbourMessages();
  NeighbourMessages(const NeighbourMessages&) = delete;
  NeighbourMessages& operator=(const NeighbourMessages&) = delete;

  /// Sends what is there now, and returns at once.
  void start();
  /// Waits until all has arrived, and what is sent may change again.
  void finish();

 private:
  NeighbourMessages(const Communicator& communicator, std::span<const Message> messages, const void* sent,
                    void* received, std::size_t size_of_number);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace femcg::operators
