#pragma once

#include <cstdint>
#include <vector>

#include "operators/forms/bilinear_form.hpp"
#include "operators/transfers/local_solves.hpp"

namespace femcg::solver {

/// Inverses of diagonal blocks of A with the unknowns of some cells. Connected cells form one block, up to the size of
/// a few dozen cells. Larger connected sets get overlapping blocks: one per tensor cell; for simplices, many of which
/// meet at an edge, one per vertex, with the unknowns of all entities at that vertex (Pavarino 1993; Schoeberl, Melenk,
/// Pechstein & Zaglmayr 2008). `left_out`, [unknowns] or empty: nonzero for unknowns that no block contains.
operators::BlockInverses inverses_round(const operators::BilinearForm& form, const std::vector<std::int32_t>& cells,
                                        const std::vector<char>& left_out = {});

}  // namespace femcg::solver
