// Stub for a build without hypre.

#include <stdexcept>

#include "solver/preconditioners/hypre_amg.hpp"

namespace femcg::solver {

struct AmgByHypre::State {};

bool built_with_hypre() { return false; }

AmgByHypre::AmgByHypre(const operators::CsrMatrix<double>&, const AmgChoice&) {
  throw std::runtime_error("this femcg was built without hypre");
}
AmgByHypre::~AmgByHypre() = default;
void AmgByHypre::apply(const double*, double*) const {}
std::vector<AmgLevel> AmgByHypre::levels() const { return {}; }

}  // namespace femcg::solver
