#include "mesh/gmsh/process/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>

#include "mesh/base/free_memory.hpp"
#include "mesh/gmsh/process/sandbox.hpp"

namespace femcg::mesh {

namespace {

// Nonzero exit statuses of the child.
constexpr int status_exited = 101, status_out_of_memory = 102;

/// Limits the address space relative to what is reserved already, which may be much more than is used (CUDA).
void limit_memory(std::int64_t bytes) {
  rlimit limit{};
  if (bytes >= unlimited_memory || getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(address_space() + bytes));
  setrlimit(RLIMIT_AS, &limit);
}

void silence() {
  const int nowhere = ::open("/dev/null", O_WRONLY);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
}

void prepare_child(pid_t parent, std::int64_t memory) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(status_exited);  // the parent ended in between
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);  // already ignored, as under nohup
  silence();
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  constexpr rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  limit_memory(memory);
  forbid_writing_by_landlock();
  forbid_programs_and_writing();
  std::atexit([] { _exit(status_exited); });
}

struct Work {
  const std::function<void(SharedWriter&)>* run;
  int descriptor;
};

void* run_work(void* argument) {
  const Work& work = *static_cast<const Work*>(argument);
  try {
    SharedWriter writer(work.descriptor);
    (*work.run)(writer);
    writer.flush();
  } catch (const std::bad_alloc&) {
    _exit(status_out_of_memory);
  }
  _exit(0);
}

[[noreturn]] void become_child(pid_t parent, std::int64_t memory, Work work) {
  prepare_child(parent, memory);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  constexpr std::size_t stack = std::size_t{256} << 20;  // a mesher may recurse deeply; untouched stack costs nothing
  pthread_attr_setstacksize(&attributes, stack);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run_work, &work) == 0) pthread_join(thread, nullptr);
  _exit(status_out_of_memory);
}

/// Anonymous file in memory.
class SharedFile {
 public:
  SharedFile() : descriptor_(memfd_create("femcg", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("no shared memory is to be had from the system");
  }
  ~SharedFile() { ::close(descriptor_); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  int descriptor() const { return descriptor_; }

  void map_into(ChildResult& result) const {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || status.st_size <= 0) return;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    result.owner = std::shared_ptr<const void>(memory, [size](const void* m) { munmap(const_cast<void*>(m), size); });
    result.bytes = {static_cast<const char*>(memory), size};
  }

 private:
  int descriptor_;
};

/// Fills `result` from the exit status of the child.
void explain(int status, const rusage& usage, ChildResult& result) {
  if (WIFEXITED(status)) {
    result.end = WEXITSTATUS(status) == 0                      ? ChildEnd::done
                 : WEXITSTATUS(status) == status_out_of_memory ? ChildEnd::out_of_memory
                                                               : ChildEnd::exited;
    return;
  }
  const int signal = WTERMSIG(status);
  // Code that does not handle failed allocations crashes when out of memory.
  const bool took_much = 1024 * static_cast<std::int64_t>(usage.ru_maxrss) > result.memory_limit / 2;
  result.end = signal == SIGINT || signal == SIGTERM || signal == SIGHUP ? ChildEnd::interrupted
               : signal == SIGKILL || took_much                          ? ChildEnd::out_of_memory
                                                                         : ChildEnd::crashed;
  result.reason = strsignal(signal);
}

}  // namespace

ChildResult run_in_child(const std::function<void(SharedWriter&)>& work) {
  const SharedFile file;
  ChildResult result;
  result.memory_limit = free_memory();
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw std::runtime_error(fmt::format("no process can be started: {}", std::strerror(errno)));
  if (child == 0) become_child(parent, result.memory_limit, {&work, file.descriptor()});
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0)
    if (errno != EINTR) throw std::runtime_error(fmt::format("Gmsh's process was lost: {}", std::strerror(errno)));
  explain(status, usage, result);
  if (result.end == ChildEnd::done) file.map_into(result);
  return result;
}

}  // namespace femcg::mesh
