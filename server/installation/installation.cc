#include "server/installation/installation.h"

#include <initializer_list>
#include <system_error>

#include "server/installation/layout.h"

namespace rouse::installation {
namespace {

namespace fs = std::filesystem;

// The first that exists; else the last.
fs::path existing(std::initializer_list<fs::path> places) {
  std::error_code ignored;
  for (const fs::path& place : places) {
    if (fs::exists(place, ignored)) return place;
  }
  return *(places.end() - 1);
}

}  // namespace

Parts partsBeside(const fs::path& program) {
  const fs::path folder = program.parent_path();
  const auto from = [&](const fs::path& relative) { return (folder / relative).lexically_normal(); };
  // Of a build tree; of rouse-executor, installed; of roused and rouse, installed. The executor's comes first: its folder has no lib beside it by chance.
  const auto library = [&](const fs::path& name) { return existing({from("../lib" / name), from(kPrivateToLibraries / name), from(kProgramsToLibraries / name)}); };
  return {.executor = existing({folder / "rouse-executor", from(kProgramsToPrivate / fs::path("rouse-executor"))}),
          .backends = library("rouse-backends"),
          .clientLibraries = library("rouse")};
}

Parts ownParts() { return partsBeside(fs::read_symlink("/proc/self/exe")); }

}  // namespace rouse::installation
