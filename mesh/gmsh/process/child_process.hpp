#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mesh/gmsh/raw/shared_bytes.hpp"

namespace femcg::mesh {

/// How a child process came to its end.
enum class ChildEnd { done, exited, out_of_memory, interrupted, crashed };

struct ChildResult {
  ChildEnd end = ChildEnd::done;
  std::string reason;                 ///< "segmentation fault", where it crashed
  std::int64_t memory_limit = 0;      ///< bytes that it was allowed beyond those of this process
  std::string_view bytes;             ///< what it wrote, where it is done
  std::shared_ptr<const void> owner;  ///< of the bytes
};

/// Runs work in a child process, made from this one by fork, and waits for it: what the work may do to a process,
/// from a crash to Exit, ends that one only.
///
/// - It runs on a thread of its own, since OpenMP in a child of fork knows threads that are not there: a thread that
///   has seen no OpenMP yet begins with none.
/// - It may take no more memory than is free, and is the first that a system without any ends; where this process ends,
///   so does it.
/// - Its standard output and error go nowhere, it cannot run other programs, and it writes no files (sandbox.hpp).
///
/// `work` must not throw, but for std::bad_alloc. Throws std::runtime_error where there can be no child.
ChildResult run_in_child(const std::function<void(SharedWriter&)>& work);

}  // namespace femcg::mesh
