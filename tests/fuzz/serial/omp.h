#pragma once

// One thread, so that a fuzzer counts the same executions every time; clang without -fopenmp passes the pragmas over.
inline int omp_get_max_threads() { return 1; }
inline int omp_get_num_threads() { return 1; }
inline int omp_get_thread_num() { return 0; }
inline void omp_set_num_threads(int) {}
