// The pool for containers: a file by which their runtimes (Podman, Docker, containerd, CRI-O) give them the client libraries and the daemon's socket, as the
// Container Device Interface describes it, https://github.com/cncf-tags/container-device-interface. Version 0.4.0, which all of them read.
#pragma once

#include <string>

#include "schemas/base/result.h"

namespace rouse::daemon {

inline constexpr char kCdiKind[] = "rouse.dev/gpu";
inline constexpr char kCdiDevice[] = "all";  // how many GPUs a process sees is the pool's to say (functions.gpus)

// The file's text. Both are absolute paths as they are on this machine: of the daemon's socket, and of the folder of client libraries. What a container gets are
// these folders at the same places, read-only, and variables. Refused: a socket in a folder that is others', too (/run, /tmp): all of it would be mounted.
Result<std::string> cdiSpec(const std::string& socket, const std::string& clientLibraries);

// Whole or not at all; makes the folder that it is in. Readable by everybody, as runtimes expect.
Status writeCdi(const std::string& file, const std::string& text);

}  // namespace rouse::daemon
