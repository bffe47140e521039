#pragma once

#include "operators/backend/vector.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// a(phi_i, phi_i) of every unknown in double precision, directly from the form without element matrices, on all
/// threads. Computes several cells at a time, one a lane; tensor cells by sum factorisation. Sums are in the order of
/// the cells: the same bits for any number of threads.
Vector<double> diagonal_of_form(const BilinearForm& form);

}  // namespace femcg::operators
