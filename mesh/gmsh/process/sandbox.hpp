#pragma once

// Restrictions that a process imposes on itself irrevocably. Each function returns true if the kernel supports its
// mechanism; files that are open already are not affected.

namespace femcg::mesh {

/// Forbids this process to execute programs, and to open a file for writing, make, rename, remove or change one: such
/// system calls fail with EPERM (seccomp, Linux 3.5).
bool forbid_programs_and_writing();

/// The same for all writing to file systems, whatever the system call (Landlock, Linux 5.13).
bool forbid_writing_by_landlock();

}  // namespace femcg::mesh
