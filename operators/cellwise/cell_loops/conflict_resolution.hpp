#pragma once

namespace femcg::operators {

/// How parts of a sum over cells that share unknowns are kept from adding to them at once: atomically; colour by
/// colour, parts of one colour sharing nothing; or by writing what each part has to a place of its own, from where it
/// is gathered in a fixed order. All but the first give the same bits every time.
enum class ConflictResolution { atomic, coloured, gather };

}  // namespace femcg::operators
