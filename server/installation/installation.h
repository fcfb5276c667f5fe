// Where the parts of an installation lie, seen from one of its programs: so that it works at any prefix, and a build tree and a bundle as they are.
#pragma once

#include <filesystem>

namespace rouse::installation {

struct Parts {
  std::filesystem::path executor;         // rouse-executor
  std::filesystem::path backends;         // folder of librouse-device-KIND.so
  std::filesystem::path clientLibraries;  // folder of libcudart.so.13 and its like, and of nothing else
};

// `program`: absolute path of roused, rouse or rouse-executor. A part that is nowhere is named where an installation has it. Without effects; any thread.
Parts partsBeside(const std::filesystem::path& program);

// Those of this process's program, links to it followed. Throws std::filesystem::filesystem_error where /proc is not mounted.
Parts ownParts();

}  // namespace rouse::installation
