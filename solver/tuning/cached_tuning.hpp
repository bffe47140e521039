#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/element/cell_shape.hpp"
#include "operators/options.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// The conditions that a tuning holds for.
struct TuningKey {
  std::string device;  ///< its name
  int threads = 0;     ///< of the processor; 0: a GPU
  std::string op;
  int degree = 1;
  mesh::CellShape cell = mesh::CellShape::quadrilateral;
  Precision precision = Precision::double_;
  operators::Options given = {};  ///< options that the case states, which others are tuned beside

  bool operator==(const TuningKey&) const = default;
};
/// The key of an operator, with the options that the case states, on cells of a space, on a device that is in use.
TuningKey tuning_key(const OperatorChoice& op, const mesh::FunctionSpace& space, Precision precision,
                     operators::Device device);

/// The result of tuning: the options to take beside those that are given; none where the defaults were the fastest.
struct CachedTuning {
  TuningKey key;
  operators::Options options = {};
  double seconds = 0, before = 0;  ///< of a product, with these options and with the defaults
  std::int64_t unknowns = 0;       ///< of the problem
};

/// The file that keeps them from one run to the next, beside the copy bandwidth; empty where the user has no home.
std::filesystem::path tuning_file();

/// Everything that is kept, and one sentence where the file is damaged, which is then as good as none.
struct AllCached {
  std::vector<CachedTuning> all;
  std::string warning;
};
AllCached all_cached_tuning();

/// The tuning that is kept for a key; one sentence where the file is damaged, or what it has is of another device.
struct FoundTuning {
  std::optional<CachedTuning> kept;
  std::string warning;
};
FoundTuning cached_tuning(const TuningKey& key);

/// Keeps it in the place of what was kept for its key. One sentence where that cannot be done, else empty.
std::string cache_tuning(const CachedTuning& found);

/// A table for a person, or one sentence where nothing is kept.
std::string cached_tuning_text();

}  // namespace femcg::solver
