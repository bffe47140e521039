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

/// An operator of a comparison, and how it is to be timed.
template <std::floating_point T>
struct MadeOperator {
  std::unique_ptr<operators::Operator<T>> a = {};
  std::optional<operators::Vector<T>> diagonal = {};  ///< where its range was checked
  double conversion = 0;                              ///< seconds
  bool captured = true;                               ///< TimedEntry::captured
  std::function<bool()> stop = {};                    ///< TimedEntry::stop
};

/// Makes and measures the operators of a linear system, and computes the reference product. This class is for one
/// process; DistributedTestbed is for several, where all functions but size() are collective: what fails on one process
/// fails on all.
template <std::floating_point T>
class Testbed {
 public:
  /// The system must outlive it.
  explicit Testbed(const System& system) : system_(system), assembly_(system.form, system.matrix) {}
  virtual ~Testbed() = default;
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  /// Unknowns of this process.
  virtual std::int64_t size() const { return system_.unknowns(); }
  /// Assembles what these entries are made from.
  virtual void assemble(std::span<const BenchmarkEntry> entries);
  /// Memory estimate of one operator and CG, without what is assembled.
  virtual MemoryEstimate need_of(MemoryUser user) const { return assembly_.need_of(user); }
  /// Throws operators::OutOfMemory where that much is not free, and InputError where the loop asked for cannot be had.
  virtual void require(const MemoryEstimate& need, const MemoryUser& user) const;
  /// Makes an operator that leaves so many bytes of its device.
  virtual MadeOperator<T> make(const BenchmarkEntry& entry, std::int64_t reserved_bytes) const;
  /// So many right-hand sides on a device; only of a system that has a load.
  virtual std::vector<operators::Vector<T>> loads(int count, operators::Device device) const;
  virtual ReferenceProduct reference() const;
  virtual CopyBandwidth copy_bandwidth(operators::Device device) const;
  /// Enters into a row what making the operator cost, and later what timing it showed.
  virtual void note_made(const BenchmarkEntry& entry, const operators::Operator<T>& a, BenchmarkResult& row) const;
  virtual void note_timed(const operators::Operator<T>& /*a*/, BenchmarkResult& /*row*/) const {}

 protected:
  const System& system_;

  /// A load and, for more right-hand sides, its entries weighted by 1 + sin(c i) / 2, so that no two are alike;
  /// `number` is that of an entry in the whole system.
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
