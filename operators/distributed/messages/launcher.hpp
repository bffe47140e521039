#pragma once

namespace femcg::operators {

/// How many processes a launcher says that it started, by the variables that Open MPI, MPICH (and Intel MPI), and Slurm
/// give them; 1 where there is none.
int processes_of_launcher();
/// The rank of this one among them; 0 where nothing says it.
int rank_of_launcher();

}  // namespace femcg::operators
