#pragma once

#include "operators/backend/vector.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// a(phi_i, phi_i) of every unknown in double precision, straight from the form, on all threads: no element matrix is
/// made. Several cells at once, one a lane; on tensor cells by sum factorisation. Sums are in the order of the cells,
/// the same to the bit for any number of threads.
Vector<double> diagonal_of_form(const BilinearForm& form);

}  // namespace femcg::operators
