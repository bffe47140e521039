// Lets waiting threads spin only briefly, then sleep. By default libgomp's threads spin for milliseconds, which slows
// down other programs on the same cores, and for minutes if OMP_WAIT_POLICY is active, which slows down the thread team
// of products. libgomp reads its setting before main(), so the program restarts itself once, with the same arguments
// and GOMP_SPINCOUNT. Does nothing if the user has chosen otherwise (OMP_WAIT_POLICY=passive, GOMP_SPINCOUNT), or if
// restarting is impossible.
//
// The restart precedes the constructors of the libraries, so that they run once. None of the libraries' functions may
// be used here: only system calls.

#include <elf.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace {

/// True if a text begins with another; `rest` is then the text after it.
bool begins(const char* text, const char* with, const char** rest) {
  while (*with != '\0' && *text == *with) ++text, ++with;
  *rest = text;
  return *with == '\0';
}

bool equal(const char* a, const char* b) {
  const char* rest = nullptr;
  return begins(a, b, &rest) && *rest == '\0';
}

/// True for commands that compute products.
bool is_long(int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    for (const char* command : {"run", "compare", "matrix", "predict"})
      if (equal(arguments[i], command)) return true;
  return false;
}

/// True if started as "ld.so femcg ...", where /proc/self/exe is ld.so. The auxiliary vector follows the environment.
bool begun_by_loader(char** end_of_environment) {
  for (const auto* each = reinterpret_cast<const ElfW(auxv_t)*>(end_of_environment + 1); each->a_type != AT_NULL;
       ++each)
    if (each->a_type == AT_BASE) return each->a_un.a_val == 0;
  return true;
}

void begin_anew(int count, char** arguments, char** environment) {
  static std::array<char*, 4096> with_spins;
  static std::array<char, 4096> program;
  static char briefly[] = "GOMP_SPINCOUNT=1000", active[] = "GOMP_SPINCOUNT=200000";  // 50 us, about 10 ms
  if (!is_long(count, arguments)) return;
  char* spins = briefly;
  std::size_t size = 0;
  for (; environment[size] != nullptr; ++size) {
    const char* value = nullptr;
    if (size + 2 >= with_spins.size() || begins(environment[size], "GOMP_SPINCOUNT=", &value)) return;
    if (begins(environment[size], "OMP_WAIT_POLICY=", &value)) {
      if (!equal(value, "active") && !equal(value, "ACTIVE")) return;
      spins = active;
    }
    with_spins[size] = environment[size];
  }
  with_spins[size] = spins;
  if (begun_by_loader(environment + size)) return;
  if (syscall(SYS_readlink, "/proc/self/exe", program.data(), program.size() - 1) <= 0) return;
  syscall(SYS_execve, program.data(), arguments, with_spins.data());  // under its own name, which ps and top show
}

__attribute__((section(".preinit_array"), used)) void (*const before_libraries)(int, char**, char**) = begin_anew;

}  // namespace
