#include "tools/sim/command_torpor.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "tools/sim/figures.h"
#include "tools/sim/targets.h"

namespace rouse::sim {
namespace {

struct Request {
  Figures figures;
  std::vector<int> which = {3, 8, 9, 10, 11, 12, 13};
  std::string svg;
  bool asJson = false, check = false;
};

void table(const char* name, const Json& section) {
  std::printf("\n%s: %s\n", name, section.at("what").get<std::string>().c_str());
  for (const char* key : {"paper", "note", "assumption", "bound"})
    if (section.contains(key)) std::printf("  %s: %s\n", key, section.at(key).get<std::string>().c_str());
  for (const auto& [key, value] : section.items()) {
    if (value.is_object()) std::printf("  %-14s %s\n", key.c_str(), value.dump().c_str());
    if (key != "rows") continue;
    for (const auto& [column, one] : value.at(0).items()) std::printf("  %18s", column.c_str());
    std::printf("\n");
    for (const Json& row : value) {
      for (const auto& [column, one] : row.items()) {
        if (one.is_number_float()) std::printf("  %18.4g", one.get<double>());
        else std::printf("  %18s", one.is_string() ? one.get<std::string>().c_str() : one.is_null() ? "-" : one.dump().c_str());
      }
      std::printf("\n");
    }
  }
}

int run(const Request& request) {
  Figures figures = request.figures;
  if (!request.svg.empty()) {
    std::filesystem::create_directories(request.svg);
    figures.svg = request.svg;
  }
  Json report{{"schema", 1}, {"simulation", "torpor"}, {"trace", figures.workload.trace.empty() ? "generated" : "file"},
              {"arrivals", figures.workload.arrivals}, {"minutes", figures.workload.minutes}, {"seed", figures.workload.seed}};
  for (const int which : request.which) {
    switch (which) {
      case 3: figures.table3(report); break;
      case 8: figures.figure8(report); break;
      case 9: figures.figure9(report); break;
      case 10: figures.figure10(report); break;
      case 11: figures.figure11(report); break;
      case 12: figures.figure12(report); break;
      case 13: figures.figure13(report); break;
    }
  }
  if (request.asJson) {
    print(report, true);
  } else {
    for (const auto& [key, value] : report.items())
      if (value.is_object() && value.contains("what")) table(key.c_str(), value);
    std::printf("\n");
    for (const auto& [key, value] : report.items())
      if (!value.is_object()) std::printf("%-32s %s\n", key.c_str(), value.dump().c_str());
  }
  return request.check ? checkTargets(torporTargets(), report) : 0;
}

}  // namespace

void addTorpor(CLI::App& app, int& status) {
  auto request = std::make_shared<Request>();
  auto* command = app.add_subcommand("torpor", "Figures 8 to 13 and Table 3 of the Torpor paper, beside this scheduler's own");
  command->add_option("--figure", request->which, "Which, separated by commas: 3 (the table), 8, 9, 10, 11, 12, 13 (default: all)")
      ->delimiter(',')->check(CLI::IsMember({3, 8, 9, 10, 11, 12, 13}));
  command->add_option("--counts", request->figures.counts, "Numbers of functions of Figure 11, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(8, 100'000));
  addWorkloadOptions(*command, request->figures.workload);
  command->add_flag("--json", request->asJson, "Print one JSON object");
  command->add_option("--svg", request->svg, "A folder for pictures of the figures");
  command->add_flag("--check", request->check, "Exit with 4 where a promised figure is missed or was not simulated");
  command->callback([request, &status] { status = run(*request); });
}

}  // namespace rouse::sim
