#include "tools/rouse/doctor.h"

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/rouse/diagnosis.h"
#include "tools/rouse/exit_codes.h"
#include "tools/rouse/node_check.h"
#include "tools/rouse/table.h"

namespace rouse::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kDoctorSchema = 1;

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::runs:
      return "runs";
    case Verdict::partly:
      return "partly";
    case Verdict::no:
      return "no";
    case Verdict::noCuda:
      return "no-cuda";
  }
  return "?";
}

const char* name(Runtime runtime) {
  switch (runtime) {
    case Runtime::none:
      return "none";
    case Runtime::shared:
      return "shared";
    case Runtime::statically:
      return "static";
    case Runtime::otherMajor:
      return "other-major";
  }
  return "?";
}

const char* sentence(Verdict verdict) {
  switch (verdict) {
    case Verdict::runs:
      return "ready for the pool";
    case Verdict::partly:
      return "runs, but some of what it may call fails";
    case Verdict::no:
      return "cannot use the pool as it is";
    case Verdict::noCuda:
      return "does not use CUDA";
  }
  return "?";
}

const char* colour(Verdict verdict) {
  switch (verdict) {
    case Verdict::runs:
      return "\033[32m";
    case Verdict::partly:
      return "\033[33m";
    case Verdict::no:
      return "\033[31m";
    case Verdict::noCuda:
      return "";
  }
  return "";
}

ordered_json asJson(const Diagnosis& found) {
  return {{"file", found.file},
          {"verdict", name(found.verdict)},
          {"runtime", name(found.runtime)},
          {"cuda_libraries", found.cudaLibraries},
          {"imports", found.imports},
          {"unsupported", found.unsupported},
          {"unknown", found.unknown},
          {"ptx", found.ptx},
          {"cubins", found.cubins},
          {"problems", found.problems},
          {"remarks", found.remarks},
          {"hints", found.hints}};
}

std::string architectures(const std::set<std::uint32_t>& numbers, const char* prefix) {
  std::string text;
  for (const std::uint32_t number : numbers)
    text += std::string(text.empty() ? "" : " ") + prefix + std::to_string(number);
  return text.empty() ? "none" : text;
}

void print(const Diagnosis& found) {
  const bool coloured = colours(STDOUT_FILENO);
  std::cout << found.file << ": " << (coloured ? colour(found.verdict) : "") << sentence(found.verdict)
            << (coloured ? "\033[0m" : "") << "\n";
  if (found.verdict == Verdict::noCuda) return;
  if (found.runtime != Runtime::none) std::cout << "  runtime: " << name(found.runtime) << "\n";
  if (!found.imports.empty()) {
    std::cout << "  calls: " << found.imports.size() << " names, " << found.unsupported.size() << " not supported\n";
  }
  if (!found.ptx.empty() || !found.cubins.empty()) {
    std::cout << "  device code: PTX " << architectures(found.ptx, "compute_") << "; cubins "
              << architectures(found.cubins, "sm_") << "\n";
  }
  for (const std::string& problem : found.problems) std::cout << "  problem: " << problem << "\n";
  for (const std::string& remark : found.remarks) std::cout << "  remark: " << remark << "\n";
  for (const std::string& call : found.unsupported) std::cout << "  not supported: " << call << "\n";
  for (const std::string& call : found.unknown) std::cout << "  unknown: " << call << "\n";
  for (const std::string& hint : found.hints) std::cout << "  hint: " << hint << "\n";
}

void print(const NodeFindings& found) {
  for (const auto& gpu : found.gpus) {
    if (gpu["state"] != "serving") continue;
    std::cout << "GPU " << gpu["index"].get<std::uint64_t>() << ": " << gpu["name"].get<std::string>() << ", "
              << gpu["uuid"].get<std::string>() << ", " << gpu["pci"].get<std::string>() << ": can be served ("
              << found.asked << " says so)\n";
  }
  for (const std::string& problem : found.problems) std::cout << "problem: " << problem << "\n";
}

}  // namespace

int doctor(const DoctorOptions& options) {
  ordered_json report{{"schema", kDoctorSchema}, {"files", ordered_json::array()}};
  bool problem = false;
  PoolDevices pool;
  if (!options.files.empty()) {
    auto devices = devicesOf(options.socket);
    if (!devices) {
      std::cerr << "rouse: " << devices.error().message << "\n";
      return kUnreachable;
    }
    pool = std::move(devices).value();
  }
  for (const std::string& file : options.files) {
    const Diagnosis found = diagnose(file, pool);
    problem = problem || found.verdict == Verdict::no;
    if (options.json) {
      report["files"].push_back(asJson(found));
    } else {
      print(found);
    }
  }
  if (options.files.empty()) {
    const NodeFindings found = checkNode(options.socket);
    problem = !found.problems.empty();
    report["node"] = {{"asked", found.asked}, {"gpus", found.gpus}, {"problems", found.problems}};
    if (!options.json) print(found);
  }
  // File names need not be UTF-8.
  if (options.json) std::cout << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return problem ? kProblemFound : kOk;
}

}  // namespace rouse::cli
