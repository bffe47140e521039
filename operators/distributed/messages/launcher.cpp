#include "operators/distributed/messages/launcher.hpp"

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace femcg::operators {

namespace {

/// The first of these variables that is a number; `otherwise` if none is.
int first_of(std::initializer_list<const char*> variables, int otherwise) {
  for (const char* variable : variables)
    if (const char* text = std::getenv(variable); text != nullptr) {
      const std::string_view digits(text);
      int number = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error == std::errc() && end == digits.data() + digits.size()) return number;
    }
  return otherwise;
}

}  // namespace

int processes_of_launcher() {
  // A script under Slurm has the number of tasks in its environment without being one; only srun sets a rank for MPI.
  const bool by_slurm = std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
  const int of_step = by_slurm ? first_of({"SLURM_STEP_NUM_TASKS"}, 1) : 1;
  return first_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, of_step);
}

int rank_of_launcher() { return first_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}, 0); }

}  // namespace femcg::operators
