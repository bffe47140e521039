#pragma once

#include <omp.h>

namespace femcg::tests {

/// So many threads for parallel regions, as long as it lives; then as many as before.
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
