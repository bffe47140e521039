#pragma once

// Public headers of the library, installed as <femcg/femcg.hpp>: these and the headers that they include, under the
// paths of the source tree: <femcg/operators/operator.hpp>. No other headers are installed.

#include "mesh/box/box.hpp"
#include "mesh/dofs/function_space.hpp"
#include "mesh/gmsh/gmsh_reader.hpp"
#include "mesh/locate.hpp"
#include "mesh/vtu/vtu.hpp"
#include "operators/catalogue.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/operator.hpp"
#include "operators/ordering.hpp"
#include "operators/plugins/plugins.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/io/matrix_market.hpp"
#include "solver/case/case.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/measures/errors.hpp"
#include "solver/measures/measure.hpp"
#include "solver/messages/error.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/problem/choose_device.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/problem/problem.hpp"
