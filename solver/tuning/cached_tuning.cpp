#include "solver/tuning/cached_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "operators/catalogue.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/units.hpp"
#include "solver/problem/cache_folder.hpp"
#include "solver/records/record.hpp"
#include "solver/tuning/tunable.hpp"

namespace femcg::solver {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int schema = 1;

ordered_json to_json(const CachedTuning& kept) {
  return {{"device", kept.key.device},
          {"threads", kept.key.threads},
          {"operator", kept.key.op},
          {"given", kept.key.given},
          {"degree", kept.key.degree},
          {"cell", mesh::name(kept.key.cell)},
          {"precision", name(kept.key.precision)},
          {"options", kept.options},
          {"seconds", kept.seconds},
          {"seconds_before", kept.before},
          {"unknowns", kept.unknowns}};
}

/// Reads an entry. Throws nlohmann's exceptions or std::invalid_argument unless this program has written it.
CachedTuning from_json(const ordered_json& json) {
  CachedTuning kept;
  TuningKey& key = kept.key;
  const auto require = [](bool good) {
    if (!good) throw std::invalid_argument("an entry of kept tuning");
  };
  key.device = json.at("device").get<std::string>();
  key.threads = json.at("threads").get<int>();
  key.op = json.at("operator").get<std::string>();
  key.given = json.at("given").get<operators::Options>();
  key.degree = json.at("degree").get<int>();
  const auto cell = json.at("cell").get<std::string>(), precision = json.at("precision").get<std::string>();
  const auto& shapes = mesh::all_cell_shapes;
  const auto shape = std::ranges::find_if(shapes, [&](mesh::CellShape each) { return mesh::name(each) == cell; });
  require(shape != shapes.end() && (precision == "double" || precision == "single"));
  key.cell = *shape;
  key.precision = precision == "double" ? Precision::double_ : Precision::single;
  kept.options = json.at("options").get<operators::Options>();
  kept.seconds = json.at("seconds").get<double>();
  kept.before = json.at("seconds_before").get<double>();
  kept.unknowns = json.at("unknowns").get<std::int64_t>();
  const operators::OperatorDescription* row = operators::find_operator(key.op);
  require(row != nullptr && std::isfinite(kept.seconds) && kept.seconds >= 0);
  check_options(*row, kept.options);
  const auto is_tuned = [&](const auto& option) {
    return std::ranges::any_of(tunable_options(), [&](const TunableOption& tunable) {
      return tunable.op == key.op && tunable.name == option.first;
    });
  };
  require(std::ranges::all_of(kept.options, is_tuned));
  return kept;
}

bool same_but_for_device(TuningKey a, const TuningKey& b) {
  a.device = b.device;
  a.threads = b.threads;
  return a == b;
}

std::string device_text(const TuningKey& key) {
  return key.threads == 0 ? key.device
                          : fmt::format("{} with {} thread{}", key.device, key.threads, key.threads == 1 ? "" : "s");
}

}  // namespace

TuningKey tuning_key(const OperatorChoice& op, const mesh::FunctionSpace& space, Precision precision,
                     operators::Device device) {
  return {.device = device_name(device),
          .threads = device == operators::Device::host ? this_machine().threads : 0,
          .op = op.name,
          .degree = space.degree(),
          .cell = space.mesh().shape,
          .precision = of_products(precision),
          .given = op.options};
}

fs::path tuning_file() { return cached_file("tuning.json"); }

AllCached all_cached_tuning() {
  AllCached kept;
  const fs::path path = tuning_file();
  std::error_code ignored;
  if (path.empty() || !fs::exists(fs::symlink_status(path, ignored))) return kept;
  try {
    const auto json = ordered_json::parse(cached_content(path).value());
    if (json.at("schema").get<int>() != schema) throw std::invalid_argument("another schema");
    for (const ordered_json& entry : json.at("tuning")) kept.all.push_back(from_json(entry));
  } catch (const std::exception&) {
    kept.all.clear();
    kept.warning =
        fmt::format("the stored tuning is ignored: {} is damaged, or was written by another version of femcg",
                    in_quotes(path.string()));
  }
  return kept;
}

FoundTuning cached_tuning(const TuningKey& key) {
  AllCached kept = all_cached_tuning();
  FoundTuning found{std::nullopt, std::move(kept.warning)};
  if (const auto same = std::ranges::find(kept.all, key, &CachedTuning::key); same != kept.all.end()) {
    found.kept = *same;
    return found;
  }
  const auto elsewhere =
      std::ranges::find_if(kept.all, [&](const CachedTuning& each) { return same_but_for_device(each.key, key); });
  if (elsewhere != kept.all.end())
    found.warning = fmt::format("the stored tuning of {} is ignored: it was measured on another device, {}", key.op,
                                device_text(elsewhere->key));
  return found;
}

std::string cache_tuning(const CachedTuning& found) {
  const fs::path file = tuning_file();
  if (file.empty()) return "results of tuning are not stored: there is no home folder";
  try {
    AllCached kept = all_cached_tuning();
    std::erase_if(kept.all, [&](const CachedTuning& each) { return each.key == found.key; });
    kept.all.push_back(found);
    ordered_json entries = ordered_json::array();
    for (const CachedTuning& each : kept.all) entries.push_back(to_json(each));
    write_cached(file, to_text(ordered_json{{"schema", schema}, {"tuning", std::move(entries)}}));
    return "";
  } catch (const std::exception&) {
    return fmt::format("results of tuning are not stored: {} cannot be written", in_quotes(file.string()));
  }
}

std::string cached_tuning_text() {
  const AllCached kept = all_cached_tuning();
  if (!kept.warning.empty()) return kept.warning + "\n";
  if (kept.all.empty()) return "no tuning is stored; femcg run with solver.tune: on stores its results\n";
  std::string text = fmt::format("tuning kept in {}\n", in_quotes(tuning_file().string()));
  for (const CachedTuning& each : kept.all) {
    const std::string given = each.key.given.empty() ? "" : fmt::format(" with {}", listed(each.key.given));
    const std::string found = each.options.empty()
                                  ? fmt::format("as it is by default, {} a product", duration(each.seconds))
                                  : fmt::format("{}: {} a product instead of {}", listed(each.options),
                                                duration(each.seconds), duration(each.before));
    text += fmt::format("  {}{}, {} precision, degree {}, {}, {}, {} unknowns: {}\n", each.key.op, given,
                        name(each.key.precision), each.key.degree, plural(each.key.cell), device_text(each.key),
                        grouped(each.unknowns), found);
  }
  return text;
}

}  // namespace femcg::solver
