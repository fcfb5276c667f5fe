#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "server/installation/installation.h"
#include "server/installation/layout.h"

using namespace rouse::installation;
namespace fs = std::filesystem;

namespace {

// A prefix that nobody knows when programs are built.
class Prefix {
 public:
  Prefix() {
    char name[] = "/tmp/rouse-prefix-XXXXXX";
    path = ::mkdtemp(name);
    fs::create_directories(path / "bin");
  }
  ~Prefix() { fs::remove_all(path); }
  fs::path folder(const fs::path& relative) const {
    const fs::path made = (path / "bin" / relative).lexically_normal();
    fs::create_directories(made);
    return made;
  }
  fs::path path;
};

}  // namespace

TEST_CASE("an installed tree: the executor in its private folder, libraries in theirs, for each of the programs") {
  const Prefix prefix;
  const fs::path backends = prefix.folder(kProgramsToLibraries / "rouse-backends"), client = prefix.folder(kProgramsToLibraries / "rouse"),
                 executor = prefix.folder(kProgramsToPrivate) / "rouse-executor";
  std::ofstream(executor).flush();
  for (const fs::path& program : {prefix.path / "bin/roused", executor}) {
    const Parts parts = partsBeside(program);
    CHECK(parts.executor == executor);
    CHECK(parts.backends == backends);
    CHECK(parts.clientLibraries == client);
  }
}

TEST_CASE("a build tree: the executor beside the daemon, before any that is installed") {
  const Prefix prefix;
  const fs::path backends = prefix.folder("../lib/rouse-backends"), client = prefix.folder("../lib/rouse");
  for (const fs::path& executor : {prefix.path / "bin/rouse-executor", prefix.folder(kProgramsToPrivate) / "rouse-executor"}) std::ofstream(executor).flush();
  const Parts parts = partsBeside(prefix.path / "bin/roused");
  CHECK(parts.executor == prefix.path / "bin/rouse-executor");
  CHECK(parts.backends == backends);
  CHECK(parts.clientLibraries == client);
}

TEST_CASE("what is nowhere is named where an installation has it") {
  const Parts parts = partsBeside("/nonexistent/bin/roused");
  CHECK(parts.executor == (fs::path("/nonexistent/bin") / kProgramsToPrivate / "rouse-executor").lexically_normal());
  CHECK(parts.backends == (fs::path("/nonexistent/bin") / kProgramsToLibraries / "rouse-backends").lexically_normal());
}
