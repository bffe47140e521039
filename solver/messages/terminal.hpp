#pragma once

#include <cstddef>

namespace femcg::solver {

/// Characters in a line of the terminal that standard output is; 100 where it is none.
std::size_t terminal_width();

}  // namespace femcg::solver
