#pragma once

#include <omp.h>

namespace femcg::tests {

/// Sets the number of threads of parallel regions; the destructor restores the former number.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace femcg::tests
