#pragma once

namespace femcg::operators {

/// Methods that keep parts of a sum over cells from adding to shared unknowns concurrently: atomics; colouring, where
/// parts of one colour share nothing; or writing contributions to a buffer, from which they are gathered in a fixed
/// order. All but the first are bitwise reproducible.
enum class ConflictResolution { atomic, coloured, gather };

}  // namespace femcg::operators
