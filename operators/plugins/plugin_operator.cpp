// An operator of a plug-in as one of the catalogue. Its product is the plug-in's; what the plug-in leaves out is made
// up for here: x'Ax by a pass over x and y, several vectors one after the other, the diagonal from the matrix.

#include "operators/plugins/plugin_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "operators/backend/cuda_graph.hpp"
#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/plugins/plugins.hpp"
#include "operators/stored/common/stored_diagonal.hpp"
#include "operators/stored/common/stored_footprint.hpp"

namespace femcg::operators {

namespace {

/// The whole of what a plug-in says of a failure: its buffer may have no end.
std::string text_of(const femcg_message& message) {
  const std::string text(message.text, strnlen(message.text, sizeof message.text));
  return text.empty() ? "it does not say why" : text;
}

template <std::floating_point T>
femcg_matrix described(const CsrMatrix<T>& matrix, std::int64_t nonzeros) {
  return {matrix.rows, sizeof(T), nonzeros, matrix.row_offsets.data(), matrix.columns.data(), matrix.values.data()};
}

/// A matrix on the GPU.
template <std::floating_point T>
CsrMatrix<T> on_gpu(const CsrMatrix<T>& matrix) {
  return {matrix.rows, copied(matrix.row_offsets, Device::cuda), copied(matrix.columns, Device::cuda),
          copied(matrix.values, Device::cuda)};
}

/// Data that all operators of one row share.
struct PluginRow {
  femcg_operator functions;
  std::string file;
  std::vector<OptionDescription> options;
};

/// Every option with what was given for it, or its default.
class Settings {
 public:
  Settings(const PluginRow& row, const Options& given) {
    for (const OptionDescription& option : row.options) {
      const auto found = given.find(std::string(option.name));
      settings_.push_back(
          {option.name.data(), found != given.end() ? found->second.c_str() : option.default_value.data()});
    }
  }
  void describe(femcg_source& source) const {
    source.setting_count = static_cast<std::int32_t>(settings_.size());
    source.settings = settings_.data();
  }

 private:
  std::vector<femcg_setting> settings_;
};

template <std::floating_point T>
class PluginOperator final : public Operator<T> {
 public:
  PluginOperator(std::shared_ptr<const PluginRow> row, const Ingredients<T>& from, const Options& given)
      : Operator<T>(from.matrix->rows, from.device),
        row_(std::move(row)),
        nonzeros_(from.matrix->nonzeros()),
        op_(nullptr, row_->functions.destroy) {
    const femcg_operator& functions = row_->functions;
    const bool cuda = from.device == Device::cuda;
    femcg_source source{};
    source.host = described(*from.matrix, nonzeros_);
    CsrMatrix<T> there;
    if (cuda) {
      there = on_gpu(*from.matrix);
      source.device = described(there, nonzeros_);
      source.stream = cuda_work_stream();
    }
    const Settings settings(*row_, given);
    settings.describe(source);
    femcg_message why_not{};
    op_.reset((cuda ? functions.create_on_cuda : functions.create_on_host)(&source, &why_not));
    if (op_ == nullptr)
      throw std::invalid_argument(
          fmt::format("operator '{}' of plug-in {} cannot be made: {}", functions.name, row_->file, text_of(why_not)));
    synchronize(from.device);  // before the matrix goes
    if (functions.keeps_matrix != 0 && cuda) on_gpu_ = std::move(there);
    if (functions.keeps_matrix != 0 && !cuda) on_host_ = from.matrix;
    if (functions.diagonal == nullptr) diagonal_ = diagonal_of(*from.matrix);
  }

  void diagonal(Vector<T>& d) const override {
    if (row_->functions.diagonal == nullptr) return copy(diagonal_, d);
    Vector<T> on_host(this->size());
    require([&](femcg_message* why_not) { return row_->functions.diagonal(op_.get(), on_host.data(), why_not); },
            "diagonal");
    copy(on_host, d);
  }

  bool runs_concurrently() const override { return false; }
  Footprint footprint() const override {
    femcg_footprint told{};
    row_->functions.footprint(op_.get(), &told);
    return stored_footprint<T>(this->size(), nonzeros_, told.entries, told.stored_bytes, told.read_bytes);
  }

  std::map<std::string, std::string> chosen() const override { return {{"plugin", row_->file}}; }

 private:
  template <class Call>
  void require(const Call& call, std::string_view what) const {
    femcg_message why_not{};
    if (call(&why_not) != 0)
      throw std::runtime_error(fmt::format("the {} of operator '{}' of plug-in {} failed: {}", what,
                                           row_->functions.name, row_->file, text_of(why_not)));
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const bool computes = row_->functions.computes_energy != 0;
    double* asked = computes && energy != nullptr ? energy->data() : nullptr;
    require(
        [&](femcg_message* why_not) { return row_->functions.apply(op_.get(), x.data(), y.data(), asked, why_not); },
        "product");
    if (!computes && energy != nullptr) vector_kernels<T>(this->device()).dot(x, y, *energy);
  }

  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    if (row_->functions.apply_columns == nullptr) return Operator<T>::multiply_multi_vector(x, y, energies);
    const bool computes = row_->functions.computes_energy != 0;
    require(
        [&](femcg_message* why_not) {
          return row_->functions.apply_columns(op_.get(), x.data(), y.data(), x.stride(), computes ? energies : nullptr,
                                               why_not);
        },
        "product with several vectors");
    if (computes || energies == nullptr) return;
    MultiScalar of(energies, x.stride(), this->device());
    multi_vector_kernels<T>(this->device()).dot(x, y, of);
  }

  std::shared_ptr<const PluginRow> row_;
  std::int64_t nonzeros_;
  std::shared_ptr<const CsrMatrix<T>> on_host_;  ///< what the plug-in keeps
  CsrMatrix<T> on_gpu_;                          ///< likewise
  std::unique_ptr<void, void (*)(void*)> op_;    ///< goes before these
  Vector<T> diagonal_;                           ///< on the host, where the plug-in has none
};

class PluginMaker final : public AddedOperator {
 public:
  explicit PluginMaker(std::shared_ptr<const PluginRow> row) : row_(std::move(row)) {}

  bool on_host() const override { return row_->functions.create_on_host != nullptr; }
  std::unique_ptr<Operator<double>> make(const Ingredients<double>& from, const Options& given) const override {
    return std::make_unique<PluginOperator<double>>(row_, from, given);
  }
  std::unique_ptr<Operator<float>> make(const Ingredients<float>& from, const Options& given) const override {
    return std::make_unique<PluginOperator<float>>(row_, from, given);
  }
  StorageEstimate estimate(const Extent<double>& of, const Options& given) const override {
    return estimated(of, given);
  }
  StorageEstimate estimate(const Extent<float>& of, const Options& given) const override {
    return estimated(of, given);
  }
  bool accepts(const OptionDescription& option, const std::string& value) const override {
    return row_->functions.accepts == nullptr || row_->functions.accepts(option.name.data(), value.c_str()) != 0;
  }

 private:
  template <std::floating_point T>
  StorageEstimate estimated(const Extent<T>& of, const Options& given) const {
    const femcg_operator& functions = row_->functions;
    const std::int64_t of_matrix = bytes_of_rows(*of.matrix), nonzeros = of.matrix->nonzeros();
    femcg_source source{};
    source.host = described(*of.matrix, nonzeros);
    source.host.columns = nullptr;
    source.host.values = nullptr;
    const Settings settings(*row_, given);
    settings.describe(source);
    const bool keeps = functions.keeps_matrix != 0;
    const std::int64_t own = functions.estimate != nullptr ? functions.estimate(&source) : keeps ? 0 : of_matrix;
    StorageEstimate made{.arrays = {{"what the plug-in stores", own, own}}};
    const bool cuda = of.device == Device::cuda;
    if (keeps) made.arrays.push_back({"matrix", nonzeros, of_matrix});
    if (cuda && !keeps) made.making = of_matrix;
    made.keeps_matrix = keeps && !cuda && own == 0;
    made.product = stored_footprint<T>(of.matrix->rows, nonzeros, nonzeros, made.stored(), made.stored());
    return made;
  }

  std::shared_ptr<const PluginRow> row_;
};

/// Throws PluginError where something must be there and is not.
void check_parts(const femcg_operator& from, const std::string& file) {
  if (from.name == nullptr || from.description == nullptr)
    throw PluginError(fmt::format("plug-in {} has an operator without a name or a description", file));
  const std::string_view name = from.name;
  constexpr std::string_view marks = "-_.";
  const bool is_plain = std::ranges::all_of(name, [&](unsigned char c) {
    return (c < 128 && std::isalnum(c) != 0) || marks.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (name.empty() || !is_plain || name == "auto" || name == "all")
    throw PluginError(
        fmt::format("plug-in {} calls an operator '{}'; a name has letters, digits, '-', '_' and '.', and is "
                    "not auto or all",
                    file, name));
  const auto require = [&](bool is_there, std::string_view what) {
    if (!is_there) throw PluginError(fmt::format("plug-in {}: its operator '{}' has no {}", file, name, what));
  };
  require(from.create_on_host != nullptr || from.create_on_cuda != nullptr, "create_on_host and no create_on_cuda");
  require(from.apply != nullptr, "apply");
  require(from.footprint != nullptr, "footprint");
  require(from.destroy != nullptr, "destroy");
  require(from.option_count == 0 || from.options != nullptr, "options, and says that it has some");
  for (std::int32_t i = 0; i < from.option_count; ++i) {
    const femcg_option& option = from.options[i];
    require(option.name != nullptr && option.values != nullptr && option.default_value != nullptr &&
                option.meaning != nullptr,
            fmt::format("name, values, default or meaning of option {}", i + 1));
  }
}

}  // namespace

OperatorDescription describe_plugin_operator(const femcg_operator& from, const std::filesystem::path& file) {
  check_parts(from, file.string());
  auto row = std::make_shared<PluginRow>(PluginRow{from, file.string(), {}});
  for (std::int32_t i = 0; i < from.option_count; ++i) {
    const femcg_option& option = from.options[i];
    row->options.push_back({option.name, option.values, option.default_value, option.meaning, nullptr});
  }
  const bool gains = from.apply_columns != nullptr;
  return {.name = from.name,
          .stores = from.description,
          .source = from.source != nullptr ? from.source : "plug-in",
          .needs = Needs::matrix,
          .cuda = from.create_on_cuda != nullptr,
          .options = row->options,
          .host_gains_from_multi_vectors = gains,
          .cuda_gains_from_multi_vectors = gains,
          .added = std::make_shared<PluginMaker>(row)};
}

}  // namespace femcg::operators
