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

/// Conditions under which a tuning applies.
struct TuningKey {
  std::string device;  ///< name of the device
  int threads = 0;     ///< of the processor; 0: a GPU
  std::string op;
  int degree = 1;
  mesh::CellShape cell = mesh::CellShape::quadrilateral;
  Precision precision = Precision::double_;
  operators::Options given = {};  ///< options stated in the case, in addition to which others are tuned

  bool operator==(const TuningKey&) const = default;
};
/// Key of an operator, with the options that the case states, on cells of a space, on a device in use.
TuningKey tuning_key(const OperatorChoice& op, const mesh::FunctionSpace& space, Precision precision,
                     operators::Device device);

/// Result of a tuning: options to add to the given ones; none if the defaults were fastest.
struct CachedTuning {
  TuningKey key;
  operators::Options options = {};
  double seconds = 0, before = 0;  ///< of a product, with these options and with the defaults
  std::int64_t unknowns = 0;       ///< of the problem
};

/// Cache file of tunings, next to the copy bandwidths; empty if the user has no home folder.
std::filesystem::path tuning_file();

/// All cached tunings; `warning` is a sentence if the file is damaged, which counts as empty.
struct AllCached {
  std::vector<CachedTuning> all;
  std::string warning;
};
AllCached all_cached_tuning();

/// Cached tuning of a key; `warning` is a sentence if the file is damaged, or has another device's tuning.
struct FoundTuning {
  std::optional<CachedTuning> kept;
  std::string warning;
};
FoundTuning cached_tuning(const TuningKey& key);

/// Caches a tuning, replacing that of the same key. Returns a warning if that fails, else "".
std::string cache_tuning(const CachedTuning& found);

/// Table of the cached tunings, or a sentence if there are none.
std::string cached_tuning_text();

}  // namespace femcg::solver
