// Whether a library that was opened by its name is the pool's own, which programs get: an executor that calls it would ask the daemon, or wait for itself.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

namespace rouse::installation {

// By what lies beside it where the loader found it. `library`: of dlopen().
inline bool isPoolLibrary(void* library) {
  const link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return false;
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(map->l_name).parent_path() / "librouse-redirect.so", ignored);
}

}  // namespace rouse::installation
