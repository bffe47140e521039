#include "operators/backend/threads/thread_team.hpp"

#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace femcg::operators {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Sleeps on a futex until woken, for at most `most` if that is given, or less; returns immediately if word != value.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, const timespec* most = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, most, nullptr, 0);
}
void wake_all(std::atomic<std::uint32_t>& word) {
  word.fetch_add(1);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

/// Yields the core to its other hardware thread for a moment; CMake chooses the instruction for the processor.
void pause_briefly() { asm volatile(FEMCG_PAUSE); }

/// Time that a thread spins before it sleeps: about as long as waking up takes. Sleeping threads are woken at most once
/// in this time: where other programs use the processors, woken threads come too late for short work.
constexpr Clock::duration time_of_waking = 100us;

Clock::duration time_to_spin() {
  const char* variable = std::getenv("OMP_WAIT_POLICY");
  const std::string_view policy = variable != nullptr ? variable : "";
  if (policy == "passive" || policy == "PASSIVE") return 0us;
  if (policy == "active" || policy == "ACTIVE") return 10ms;  // in other loops OpenMP's threads need the processors
  return time_of_waking;
}

/// True while this thread works on a share: nested calls have one share.
thread_local bool in_a_share = false;

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return static_cast<int>(shares_.size()); }
  void run(CallOfShare call, const void* body);

 private:
  static constexpr std::uint64_t end = std::numeric_limits<std::uint64_t>::max();

  /// Jobs are numbered from 1 and only grow: taking a share of job n replaces a smaller number, so that a late thread,
  /// still with job n while n + 1 is under way, finds all shares of n taken.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> taken{0}, done{0};  ///< the last job in which the share was taken, done
    std::atomic<int> processor{-1};                ///< on which the share was begun
    std::atomic<bool> awaited{false};              ///< the caller sleeps until the share is done
    std::atomic<std::uint32_t> alarm{0};
    std::exception_ptr failure;
  };

  void serve(int thread);
  std::uint64_t next_job(std::uint64_t last);
  bool take(Share& share, int number, std::uint64_t job);
  void await(Share& share, std::uint64_t job);
  void wake_sleepers();
  [[noreturn]] void rethrow_first();
  template <class Condition>
  bool spin_until(const Condition& holds, const std::atomic<int>& processor_of_other) const;

  const Clock::duration spin_ = time_to_spin();
  alignas(64) std::atomic<std::uint64_t> job_{0};
  CallOfShare call_ = nullptr;   ///< of the current job
  const void* body_ = nullptr;   ///< of the current job
  std::atomic<int> caller_{-1};  ///< processor on which the caller began the job
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<std::uint32_t> alarm_{0};
  Clock::time_point woken_{};
  std::atomic<bool> failed_{false};
  alignas(64) std::vector<Share> shares_;
  std::vector<std::jthread> workers_;
};

/// CPU sets of the places to which OpenMP binds its threads; empty if it does not bind them.
std::vector<cpu_set_t> places_of_threads(int threads) {
  if (omp_get_proc_bind() == omp_proc_bind_false) return {};
  std::vector<cpu_set_t> places(threads);
#pragma omp parallel num_threads(threads)
  sched_getaffinity(0, sizeof(cpu_set_t), &places[omp_get_thread_num()]);
  return places;
}

Team::Team(int threads) : shares_(threads) {
  const std::vector<cpu_set_t> places = places_of_threads(threads);
  try {
    for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { serve(thread); });
  } catch (...) {
    job_.store(end);
    wake_all(alarm_);
    throw;
  }
  for (int thread = 1; thread < threads && !places.empty(); ++thread)
    pthread_setaffinity_np(workers_[thread - 1].native_handle(), sizeof(cpu_set_t), &places[thread]);
}

Team::~Team() {
  job_.store(end);
  wake_all(alarm_);
}

/// Spins until the condition holds; returns false if the time is over, or if the other thread was last seen on this
/// processor.
template <class Condition>
bool Team::spin_until(const Condition& holds, const std::atomic<int>& processor_of_other) const {
  constexpr int turns = 32;
  if (holds()) return true;
  if (spin_ == 0us) return false;
  for (const Clock::time_point begin = Clock::now(); Clock::now() - begin < spin_;) {
    for (int turn = 0; turn < turns; ++turn) {
      if (holds()) return true;
      pause_briefly();
    }
    if (processor_of_other.load(std::memory_order_relaxed) == sched_getcpu()) break;
  }
  return holds();
}

std::uint64_t Team::next_job(std::uint64_t last) {
  const auto has_come = [&] { return job_.load(std::memory_order_acquire) != last; };
  if (!spin_until(has_come, caller_)) {
    // The first nap has a time limit: a job may have begun too soon after the last waking to wake this thread.
    constexpr timespec nap{0, std::chrono::nanoseconds(time_of_waking).count()};
    const timespec* most = &nap;
    sleepers_.fetch_add(1);
    for (std::uint32_t alarm = alarm_.load(); job_.load() == last; alarm = alarm_.load()) {
      sleep_while(alarm_, alarm, most);
      most = nullptr;
    }
    sleepers_.fetch_sub(1);
  }
  return job_.load(std::memory_order_acquire);
}

/// Does the share, unless another thread has taken it; returns true if it did.
bool Team::take(Share& share, int number, std::uint64_t job) {
  std::uint64_t before = share.taken.load(std::memory_order_relaxed);
  if (before >= job || !share.taken.compare_exchange_strong(before, job)) return false;
  share.processor.store(sched_getcpu(), std::memory_order_relaxed);
  in_a_share = true;
  try {
    call_(body_, number, threads());
  } catch (...) {
    share.failure = std::current_exception();
    failed_.store(true, std::memory_order_relaxed);
  }
  in_a_share = false;
  share.done.store(job);
  if (share.awaited.load()) wake_all(share.alarm);
  return true;
}

void Team::serve(int thread) {
  constexpr int others = 2;  // shares it tries while work is short: their cache lines are busy
  for (std::uint64_t job = 0; (job = next_job(job)) != end;) {
    const Clock::time_point begin = Clock::now();
    for (int k = 0; k < threads() && (k <= others || Clock::now() - begin > time_of_waking); ++k) {
      const int number = (thread + k) % threads();
      take(shares_[number], number, job);
    }
  }
}

void Team::await(Share& share, std::uint64_t job) {
  const auto is_done = [&] { return share.done.load(std::memory_order_acquire) == job; };
  if (spin_until(is_done, share.processor)) return;
  share.awaited.store(true);
  for (std::uint32_t alarm = share.alarm.load(); share.done.load() != job; alarm = share.alarm.load())
    sleep_while(share.alarm, alarm);
  share.awaited.store(false);
}

void Team::wake_sleepers() {
  if (sleepers_.load() == 0) return;
  const Clock::time_point now = Clock::now();
  if (now - woken_ < time_of_waking) return;
  woken_ = now;
  wake_all(alarm_);
}

void Team::run(CallOfShare call, const void* body) {
  call_ = call;
  body_ = body;
  caller_.store(sched_getcpu(), std::memory_order_relaxed);
  const std::uint64_t job = job_.load(std::memory_order_relaxed) + 1;
  job_.store(job);
  for (int number = 0; number < threads(); ++number) {
    wake_sleepers();
    take(shares_[number], number, job);
  }
  for (Share& share : shares_) await(share, job);
  if (failed_.load(std::memory_order_relaxed)) rethrow_first();
}

void Team::rethrow_first() {
  std::exception_ptr first;
  for (Share& share : shares_)
    if (std::exception_ptr failure = std::exchange(share.failure, nullptr); failure && !first) first = failure;
  failed_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(first);
}

}  // namespace

int most_shares() {
  return in_a_share || omp_in_parallel() ? 1 : std::min(omp_get_max_threads(), omp_get_thread_limit());
}

namespace {

/// Never deleted at exit, where its threads sleep, nor in a child process, which has none of the threads.
Team* team = nullptr;
std::mutex one_caller;

void forget_in_children() {
  static const int once = pthread_atfork(nullptr, nullptr, [] { team = nullptr; });
  static_cast<void>(once);
}

}  // namespace

void run_shares(CallOfShare call, const void* body) {
  const int threads = most_shares();
  if (threads == 1) return call(body, 0, 1);
  const std::unique_lock lock(one_caller, std::try_to_lock);
  if (!lock.owns_lock()) return call(body, 0, 1);
  forget_in_children();
  if (team != nullptr && team->threads() != threads) delete std::exchange(team, nullptr);
  if (team == nullptr) team = new Team(threads);
  team->run(call, body);
}

}  // namespace femcg::operators
