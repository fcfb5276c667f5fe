// Says which file it has the runtime from: redirect_program [LIBRARY…] opens these, and says which files it got.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>

extern "C" int cudaGetLastError();

int main(int count, char** names) {
  Dl_info info{};
  std::printf("%s\n", ::dladdr(reinterpret_cast<void*>(&cudaGetLastError), &info) != 0 ? info.dli_fname : "?");
  std::printf("%d\n", cudaGetLastError());
  for (int i = 1; i < count; ++i) {
    link_map* map = nullptr;
    void* library = ::dlopen(names[i], RTLD_NOW);
    if (library != nullptr) (void)::dlinfo(library, RTLD_DI_LINKMAP, &map);
    std::printf("%s\n", map != nullptr ? map->l_name : "not found");
  }
  return 0;
}
