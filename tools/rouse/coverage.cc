#include "tools/rouse/coverage.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>

#include "schemas/api/library_names.h"
#include "schemas/api/tested_names.h"
#include "tools/rouse/exit_codes.h"

namespace rouse::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kCoverageSchema = 1;

struct Library {
  std::string_view name;
  std::size_t first, end;  // of api::kAllNames
};
constexpr Library kLibraries[] = {{"libcudart.so.13", 0, api::kApiNameCount},
                                  {"libcublas.so.13", api::kCublasNames, api::kCublasltNames},
                                  {"libcublasLt.so.13", api::kCublasltNames, api::kCudnnNames},
                                  {"libcudnn.so.9", api::kCudnnNames, api::kCufftNames},
                                  {"libcufft.so.12", api::kCufftNames, api::kCurandNames},
                                  {"libcurand.so.10", api::kCurandNames, api::kCusparseNames},
                                  {"libcusparse.so.12", api::kCusparseNames, api::kCusolverNames},
                                  {"libcusolver.so.12", api::kCusolverNames, api::kNvmlNames},
                                  {"libnvidia-ml.so.1", api::kNvmlNames, api::kCudaNames},
                                  {"libcuda.so.1", api::kCudaNames, api::kAllNameCount}};

bool tested(std::string_view name) { return std::ranges::binary_search(api::kTestedNames, name); }

struct Counts {
  std::size_t exported = 0, implemented = 0, tested = 0;
};
Counts count(const Library& library) {
  Counts counts;
  for (std::size_t i = library.first; i < library.end; ++i) {
    ++counts.exported;
    counts.implemented += api::kAllSupported[i];
    counts.tested += api::kAllSupported[i] && tested(api::kAllNames[i]);
  }
  return counts;
}

void printNames(const Library& library) {
  std::cout << "\n## " << library.name << "\n\n| name | implemented | tested |\n|---|---|---|\n";
  for (std::size_t i = library.first; i < library.end; ++i) {
    const bool implemented = api::kAllSupported[i];
    std::cout << "| `" << api::kAllNames[i] << "` | " << (implemented ? "yes" : "no") << " | "
              << (implemented && tested(api::kAllNames[i]) ? "yes" : "no") << " |\n";
  }
}

}  // namespace

int coverage(const CoverageOptions& options) {
  const auto shown = [&](const Library& library) { return options.library.empty() || options.library == library.name; };
  if (std::ranges::none_of(kLibraries, shown)) {
    std::cerr << "rouse: the pool has no library " << options.library << "; it has";
    for (const Library& library : kLibraries) std::cerr << " " << library.name;
    std::cerr << "\n";
    return kUsage;
  }
  if (options.json) {
    ordered_json report{{"schema", kCoverageSchema}, {"libraries", ordered_json::array()}};
    for (const Library& library : kLibraries) {
      if (!shown(library)) continue;
      const Counts counts = count(library);
      ordered_json names = ordered_json::array();
      for (std::size_t i = library.first; i < library.end; ++i)
        names.push_back({{"name", api::kAllNames[i]},
                         {"implemented", api::kAllSupported[i]},
                         {"tested", api::kAllSupported[i] && tested(api::kAllNames[i])}});
      report["libraries"].push_back({{"library", library.name},
                                     {"exported", counts.exported},
                                     {"implemented", counts.implemented},
                                     {"tested", counts.tested},
                                     {"names", std::move(names)}});
    }
    std::cout << report.dump(2) << "\n";
    return kOk;
  }
  std::cout << "| library | exported | implemented | tested |\n|---|---:|---:|---:|\n";
  for (const Library& library : kLibraries) {
    if (!shown(library)) continue;
    const Counts counts = count(library);
    std::cout << "| " << library.name << " | " << counts.exported << " | " << counts.implemented << " | " << counts.tested << " |\n";
  }
  if (!options.names) return kOk;
  for (const Library& library : kLibraries)
    if (shown(library)) printNames(library);
  return kOk;
}

}  // namespace rouse::cli
