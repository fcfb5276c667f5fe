// librouse-redirect.so, an auditor of the dynamic linker (rtld-audit(7), LD_AUDIT): whoever loads a library that the pool replaces gets the
// pool's, by whatever way it is asked for. LD_LIBRARY_PATH alone does not do that: a DT_RPATH, as PyTorch's wheels have, comes before it, and
// who opens a library by its full path does not look at either.
//
// What the pool replaces is what lies beside this file. A process that asks for none of it loads none of it, and is not slowed down: there is
// no la_symbind and no la_objopen here, so no binding of symbols is audited. The C library and nothing else: a program's own copy of it is
// in another namespace.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstring>

namespace {

constexpr char kPrefix[] = "libcu";
constexpr std::size_t kPrefixLength = sizeof kPrefix - 1;
constexpr char kManagement[] = "libnvidia-ml.so";
constexpr std::size_t kManagementLength = sizeof kManagement - 1;

char folder[PATH_MAX];      // with a slash at its end; empty: not known
char replacement[PATH_MAX];  // the dynamic linker holds its lock from la_objsearch() until it has read this

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

unsigned int la_version(unsigned int) {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<void*>(&la_version), &self) != 0 && self.dli_fname != nullptr) {
    const char* slash = std::strrchr(self.dli_fname, '/');
    const std::size_t length = slash != nullptr ? static_cast<std::size_t>(slash - self.dli_fname) + 1 : 0;
    if (length > 0 && length < sizeof folder) std::memcpy(folder, self.dli_fname, length);
  }
  // The oldest version of the interface: of it nothing but la_objsearch() is used, which has not changed since.
  return 1;
}

char* la_objsearch(const char* name, uintptr_t*, unsigned int flag) {
  char* const asked = const_cast<char*>(name);
  if (flag != LA_SER_ORIG || folder[0] == '\0') return asked;
  const char* slash = std::strrchr(name, '/');
  const char* file = slash != nullptr ? slash + 1 : name;
  if (std::strncmp(file, kPrefix, kPrefixLength) != 0 && std::strncmp(file, kManagement, kManagementLength) != 0) return asked;
  const std::size_t before = std::strlen(folder), length = std::strlen(file);
  if (before + length >= sizeof replacement) return asked;
  std::memcpy(replacement, folder, before);
  std::memcpy(replacement + before, file, length + 1);
  return ::access(replacement, R_OK) == 0 ? replacement : asked;
}

}  // extern "C"
#pragma GCC visibility pop
