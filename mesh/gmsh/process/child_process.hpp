#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mesh/gmsh/raw/shared_bytes.hpp"

namespace femcg::mesh {

/// Result of a child process that has ended.
enum class ChildEnd { done, exited, out_of_memory, interrupted, crashed };

struct ChildResult {
  ChildEnd end = ChildEnd::done;
  std::string reason;                 ///< "segmentation fault", if it crashed
  std::int64_t memory_limit = 0;      ///< bytes that it was allowed in addition to those of this process
  std::string_view bytes;             ///< its output, if done
  std::shared_ptr<const void> owner;  ///< owns the bytes
};

/// Runs work in a forked child process and waits for it: anything that the work may do to a process, from a crash to
/// Exit, ends only the child.
///
/// - The work runs on a thread of its own: after a fork, OpenMP refers to threads that do not exist, but a thread that
/// has not used OpenMP yet starts without any.
/// - The child may use no more memory than is free, is the first that the kernel kills when out of memory, and ends
/// when this process ends.
/// - Its standard output and error are discarded; it cannot run other programs, and writes no files (sandbox.hpp).
///
/// `work` must throw nothing but std::bad_alloc. Throws std::runtime_error if no child can be made.
ChildResult run_in_child(const std::function<void(SharedWriter&)>& work);

}  // namespace femcg::mesh
