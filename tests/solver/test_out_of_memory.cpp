// A failed allocation ends a command by an exception, never by std::terminate: in small runs and comparisons, one
// allocation after the other fails.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>

#include "solver/case/case.hpp"
#include "solver/case/sweep.hpp"
#include "solver/compare/compare.hpp"
#include "solver/run/run.hpp"
#include "tests/locations.hpp"
#include "tests/threads.hpp"

namespace {

/// Least size in bytes of the allocations that are counted, and number of allocations up to and including the one that
/// fails; 0: none fails.
std::atomic<std::size_t> least_size = 0;
std::atomic<long> until_failure = 0;

void* allocate(std::size_t size, std::size_t alignment) {
  if (size >= least_size && until_failure > 0 && until_failure.fetch_sub(1) == 1) throw std::bad_alloc();
  void* memory = alignment > 0 ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                               : std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 0); }
void* operator new[](std::size_t size) { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) { return allocate(size, std::size_t(alignment)); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return allocate(size, std::size_t(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

namespace solver = femcg::solver;
namespace fs = std::filesystem;

/// Temporary directory of this process, removed by the destructor.
struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  fs::path path = fs::temp_directory_path() / ("femcg_out_of_memory_" + std::to_string(::getpid()));
};

/// Threshold of large allocations in bytes. When they fail, small ones still succeed: the destructor of a json value,
/// for example, needs some thousand bytes.
constexpr std::size_t large = 8192;

/// Runs a command repeatedly; in each run the n-th allocation of at least `size` bytes fails. n grows by 1 below 100,
/// then by `step`, until no allocation fails. Returns the number of runs that ended in an exception.
template <class Command>
int fail_every(long step, std::size_t size, const Command& command) {
  least_size = size;
  int thrown = 0;
  for (long n = 1;; n += n < 100 ? 1 : step) {
    bool failed = false;
    until_failure = n;
    try {
      command();
    } catch (const std::exception&) {
      failed = true;
    }
    const bool all_succeeded = until_failure.exchange(0) > 0;
    if (failed) ++thrown;
    if (all_succeeded) {
      CHECK_FALSE(failed);
      return thrown;
    }
  }
}

solver::Case small_case(const fs::path& folder, const std::vector<solver::Override>& overrides) {
  const fs::path file = folder / "case.yaml";
  std::ofstream(file) << "mesh: {box: {cells: [24, 20], distort: 0.1}}\n"
                         "equation: {source: 1+x}\n"
                         "boundary: {left: {value: 0}}\n"
                         "output: {directory: results, probes: {middle: [0.5, 0.5]}}\n"
                         "solver: {device: cpu}\n";
  solver::Case made = solver::read_case(file, overrides);
  made.output.directory = folder / "results";
  return made;
}

TEST_CASE("a run survives any allocation that fails") {
  const Folder folder;
  femcg::tests::Threads two(2);
  for (const char* op : {"csr", "sell", "matrix-free"}) {
    CAPTURE(op);
    const solver::Case made = small_case(folder.path, {{"solver.operator", op}, {"degree", "2"}});
    const int thrown = fail_every(11, large, [&] { solver::run(made, {.quiet = true}, [] { return false; }); });
    CHECK(thrown > 10);
  }
}

TEST_CASE("reading a case survives any allocation that fails") {
  const Folder folder;
  small_case(folder.path, {});
  CHECK(fail_every(7, 1, [&] { solver::read_case(folder.path / "case.yaml"); }) > 4);
}

TEST_CASE("a matrix from a file survives any allocation that fails") {
  const Folder folder;
  femcg::tests::Threads two(2);
  solver::MatrixChoice choice;
  choice.file = folder.path / "matrix.mtx";
  choice.directory = folder.path / "results";
  std::ofstream file(choice.file);
  file << "%%MatrixMarket matrix coordinate real symmetric\n600 600 1199\n";
  for (int i = 1; i <= 600; ++i) file << i << ' ' << i << " 2\n";
  for (int i = 2; i <= 600; ++i) file << i << ' ' << i - 1 << " -1\n";
  file.close();
  choice.compare = solver::read_compare_choice({{"compare.operators", "[csr, {name: sell, sigma: 64}]"},
                                                {"compare.devices", "[cpu]"},
                                                {"compare.iterations", "2"},
                                                {"compare.repetitions", "1"}});
  CHECK(fail_every(211, large,
                   [&] { solver::compare_matrix(choice, std::nullopt, {.quiet = true}, [] { return false; }); }) > 4);
}

}  // namespace
