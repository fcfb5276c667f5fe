#include "client-shim/library/refuse.h"

#include <algorithm>
#include <cstdio>

#include "client-shim/library/host.h"
#include "schemas/api/library_names.h"

namespace rouse::library {

void refuse(std::uint32_t name) noexcept {
  if (const client::LibraryHost* host = client::libraryHost()) {
    host->countUnsupported(name);
    char text[128];
    std::snprintf(text, sizeof text, "%s is not supported", name < api::kAllNameCount ? api::kAllNames[name].data() : "?");
    host->warn(text);
  }
}

void refuse(std::string_view function, const char* why) noexcept {
  if (const client::LibraryHost* host = client::libraryHost()) {
    const auto name = std::ranges::find(api::kLibraryNames, function);
    host->countUnsupported(static_cast<std::uint32_t>(api::kApiNameCount + static_cast<std::size_t>(name - api::kLibraryNames.begin())));
    char text[192];
    std::snprintf(text, sizeof text, "%.*s: not supported: %s", static_cast<int>(function.size()), function.data(), why);
    host->warn(text);
  }
}

}  // namespace rouse::library
