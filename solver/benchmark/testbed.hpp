#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "solver/benchmark/agreement.hpp"
#include "solver/benchmark/assembly.hpp"
#include "solver/benchmark/cached_bandwidth.hpp"
#include "solver/benchmark/comparison.hpp"

namespace femcg::solver {

/// An operator of a comparison, with settings for its timing.
template <std::floating_point T>
struct MadeOperator {
  std::unique_ptr<operators::Operator<T>> a = {};
  std::optional<operators::Vector<T>> diagonal = {};  ///< set if the range of the diagonal was checked
  double conversion = 0;                              ///< seconds
  bool captured = true;                               ///< TimedEntry::captured
  std::function<bool()> stop = {};                    ///< TimedEntry::stop
};

/// Makes and measures the operators of a linear system, and computes the reference product. This class is for one
/// process. DistributedTestbed is for several: there all functions but size() are collective, and a failure on one
/// process is a failure on all.
template <std::floating_point T>
class Testbed {
 public:
  /// The system must outlive this object.
  explicit Testbed(const System& system) : system_(system), assembly_(system.form, system.matrix) {}
  virtual ~Testbed() = default;
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  /// Unknowns of this process.
  virtual std::int64_t size() const { return system_.unknowns(); }
  /// Assembles what these entries are made from.
  virtual void assemble(std::span<const BenchmarkEntry> entries);
  /// Memory estimate of one operator and CG, without the assembled data.
  virtual MemoryEstimate need_of(MemoryUser user) const { return assembly_.need_of(user); }
  /// Throws operators::OutOfMemory if the need exceeds the free memory, and InputError if the requested loop is not
  /// available.
  virtual void require(const MemoryEstimate& need, const MemoryUser& user) const;
  /// Makes an operator that leaves `reserved_bytes` free on its device.
  virtual MadeOperator<T> make(const BenchmarkEntry& entry, std::int64_t reserved_bytes) const;
  /// `count` right-hand sides on a device; requires a system with a load.
  virtual std::vector<operators::Vector<T>> loads(int count, operators::Device device) const;
  virtual ReferenceProduct reference() const;
  virtual CopyBandwidth copy_bandwidth(operators::Device device) const;
  /// Record in a row the cost of making the operator, and later the findings of its timing.
  virtual void note_made(const BenchmarkEntry& entry, const operators::Operator<T>& a, BenchmarkResult& row) const;
  virtual void note_timed(const operators::Operator<T>& /*a*/, BenchmarkResult& /*row*/) const {}

 protected:
  const System& system_;

  /// The load and further right-hand sides, whose entries are weighted by 1 + sin(c i) / 2 so that all differ;
  /// number(i) is the global number of entry i.
  template <class Number>
  static std::vector<operators::Vector<T>> right_hand_sides(std::span<const double> load, int count,
                                                            operators::Device device, const Number& number) {
    std::vector<operators::Vector<T>> loads;
    for (int c = 0; c < count; ++c) {
      operators::Vector<T> on_host(std::ssize(load));
      for (std::int64_t i = 0; i < on_host.size(); ++i)
        on_host[i] = static_cast<T>(load[static_cast<std::size_t>(i)] *
                                    (1 + 0.5 * std::sin(static_cast<double>(c) * static_cast<double>(number(i)))));
      loads.push_back(operators::copied(on_host, device));
    }
    return loads;
  }

 private:
  Assembly<T> assembly_;
  std::shared_ptr<const operators::MatrixStatistics> statistics_;
  std::map<operators::Device, std::int64_t> cached_input_bytes_;
};

extern template class Testbed<double>;
extern template class Testbed<float>;

}  // namespace femcg::solver
