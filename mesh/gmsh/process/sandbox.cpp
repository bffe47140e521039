#include "mesh/gmsh/process/sandbox.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace femcg::mesh {

namespace {

constexpr sock_filter deny = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
constexpr sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
constexpr sock_filter load_call = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));

// System call numbers that are the same on every architecture and that older headers lack.
constexpr unsigned io_uring_setup = 425, openat2 = 437, landlock_create_ruleset = 444, landlock_restrict_self = 446,
                   fchmodat2 = 452;

using Filter = std::vector<sock_filter>;

void deny_calls(std::initializer_list<unsigned> numbers, Filter& filter) {
  for (const unsigned number : numbers) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    filter.push_back(deny);
  }
}

/// Denies open or openat if the argument has a flag that allows changing a file.
void deny_opening_for_writing(unsigned call, unsigned argument, Filter& filter) {
  constexpr unsigned writing = O_ACCMODE | O_CREAT | O_TRUNC;
  const auto place = static_cast<unsigned>(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, writing, 0, 1));
  filter.push_back(deny);
  filter.push_back(load_call);
}

/// Denies system calls of another architecture: 32-bit calls have other numbers.
void deny_other_kinds(bool x86_64, Filter& filter) {
  constexpr unsigned first_of_x32 = 0x40000000;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, x86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, 1, 0));
  filter.push_back(deny);
  filter.push_back(load_call);
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_of_x32, 0, 1));
  filter.push_back(deny);
}

Filter filter_of_calls() {
  constexpr bool x86_64 = SYS_openat == 257;
  Filter filter;
  deny_other_kinds(x86_64, filter);
  deny_opening_for_writing(SYS_openat, 2, filter);
  deny_calls({SYS_execve,   SYS_execveat,  openat2,    io_uring_setup, SYS_renameat,         SYS_renameat2,
              SYS_unlinkat, SYS_mkdirat,   SYS_linkat, SYS_symlinkat,  SYS_mknodat,          SYS_truncate,
              SYS_fchmod,   SYS_fchmodat,  fchmodat2,  SYS_fchown,     SYS_fchownat,         SYS_utimensat,
              SYS_setxattr, SYS_lsetxattr, SYS_mount,  SYS_ptrace,     SYS_process_vm_writev},
             filter);
  if (x86_64) {  // x86-64 also has older calls
    constexpr unsigned open = 2, truncate = 76, rename = 82, mkdir = 83, rmdir = 84, creat = 85, link = 86, unlink = 87,
                       symlink = 88, chmod = 90, chown = 92, lchown = 94, utime = 132, mknod = 133, utimes = 235,
                       futimesat = 261;
    deny_opening_for_writing(open, 1, filter);
    deny_calls({truncate, rename, mkdir, rmdir, creat, link, unlink, symlink, chmod, chown, lchown, utime, mknod,
                utimes, futimesat},
               filter);
  }
  filter.push_back(allow);
  return filter;
}

bool gain_nothing_any_more() { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; }

}  // namespace

bool forbid_programs_and_writing() {
  Filter filter = filter_of_calls();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return gain_nothing_any_more() && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool forbid_writing_by_landlock() {
  constexpr unsigned ask_for_version = 1;
  const long version = syscall(landlock_create_ruleset, nullptr, 0, ask_for_version);
  if (version < 1) return false;
  // Bits of linux/landlock.h: execute and write files, remove and make directory entries, truncate.
  constexpr std::uint64_t run_and_write = 0x3, entries = 0x1ff0, truncate = 0x4000;
  const std::uint64_t handled = run_and_write | entries | (version >= 3 ? truncate : 0);
  const long rules = syscall(landlock_create_ruleset, &handled, sizeof handled, 0);
  if (rules < 0) return false;
  const bool done = gain_nothing_any_more() && syscall(landlock_restrict_self, rules, 0) == 0;
  ::close(static_cast<int>(rules));
  return done;
}

}  // namespace femcg::mesh
