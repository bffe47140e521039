#pragma once

// Restrictions that a process puts upon itself and cannot take back. Each function returns whether the kernel knows its
// means; what is open already stays as it is.

namespace femcg::mesh {

/// This process can become no other program and start none, and no call of the system that it makes opens a file for
/// writing, makes, renames, removes or changes one: such calls fail with EPERM (seccomp, Linux 3.5).
bool forbid_programs_and_writing();

/// The same for all that writes to a file system, whatever calls there are for it (Landlock, Linux 5.13).
bool forbid_writing_by_landlock();

}  // namespace femcg::mesh
