// Which of libcuda.so.1's functions a program means that asks for one by its name in the header and a version of CUDA, as cuGetProcAddress and
// cudaGetDriverEntryPointByVersion do: of those served the newest that this version has.
#pragma once

#include <algorithm>
#include <string_view>

#include "schemas/api/driver_versions.h"

namespace rouse::library {

struct DriverName {
  const char* exported = nullptr;  // null: none
  bool tooNew = false;             // there is one of that name, in later versions only
};

inline DriverName findDriverName(std::string_view name, int version, bool perThread) {
  const auto named = std::ranges::equal_range(api::kDriverVersions, name, {}, &api::DriverVersion::name);
  for (const api::DriverVersion& each : named) {
    if (each.since > version || each.isVariant != (perThread && each.hasVariant)) continue;
    return {each.exported, false};
  }
  return {nullptr, !named.empty()};
}

}  // namespace rouse::library
