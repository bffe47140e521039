#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace femcg::operators {

/// Progress thread: runs one piece of work after the other, waiting in MPI while the other threads compute.
class ProgressThread {
 public:
  ProgressThread() : thread_([this](const std::stop_token& stop) { loop(stop); }) {}

  /// Starts work; the previous work must be done.
  void begin(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    changed_.notify_all();
  }
  /// Waits until the work is done.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !work_; });
  }

 private:
  void loop(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return static_cast<bool>(work_); })) {
      lock.unlock();
      work_();
      lock.lock();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::function<void()> work_;
  std::jthread thread_;  ///< last, as it uses the other members
};

}  // namespace femcg::operators
