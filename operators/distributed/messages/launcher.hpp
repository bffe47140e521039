#pragma once

namespace femcg::operators {

/// Number of processes by the environment variables of Open MPI, MPICH (and Intel MPI), and Slurm; 1 without a
/// launcher.
int processes_of_launcher();
/// Rank of this process among them; 0 if the environment has none.
int rank_of_launcher();

}  // namespace femcg::operators
