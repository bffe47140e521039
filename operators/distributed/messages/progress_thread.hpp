#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace femcg::operators {

/// A thread beside those that compute, which does one piece of work after the other: it waits in the library of
/// messages while they multiply.
class ProgressThread {
 public:
  ProgressThread() : thread_([this](const std::stop_token& stop) { loop(stop); }) {}

  /// Has it begin. What it began before is done.
  void begin(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    changed_.notify_all();
  }
  /// Waits until it is done.
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
  std::jthread thread_;  ///< last: it uses the others
};

}  // namespace femcg::operators
