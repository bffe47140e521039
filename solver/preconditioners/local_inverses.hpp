#pragma once

#include <cstdint>
#include <vector>

#include "operators/forms/bilinear_form.hpp"
#include "operators/transfers/local_solves.hpp"

namespace femcg::solver {

/// The inverses of diagonal blocks of A that have the unknowns of some cells. Cells with common unknowns are in one
/// block up to the size of a few dozen cells. Where more hang together blocks overlap: a tensor cell has one of its own;
/// of simplices, many of which meet at an edge, a vertex has one with the unknowns of all entities that it is a vertex
/// of (Pavarino 1993; Schoeberl, Melenk, Pechstein & Zaglmayr 2008).
/// `left_out`, of all unknowns if not empty: is not 0 for those that no block has.
operators::BlockInverses inverses_round(const operators::BilinearForm&form, const std::vector<std::int32_t>&cells,
                                            const std::vector<char>&left_out = {});

}  // namespace femcg::solver
