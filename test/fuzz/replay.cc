// Runs a fuzzer's function once for each file of a corpus, without libFuzzer. An input that crashes is the one named last.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// What a custom mutator may ask of libFuzzer; nothing is changed here.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t size, std::size_t) { return size; }

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: replay-NAME CORPUS\n", stderr);
    return 2;
  }
  std::error_code failure;
  std::size_t inputs = 0;
  for (std::filesystem::directory_iterator file(argv[1], failure), end; !failure && file != end; file.increment(failure)) {
    const std::string path = file->path().string();
    std::ifstream stream(path, std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    if (!stream) {
      std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
      return 1;
    }
    std::fprintf(stderr, "%s (%zu bytes)\n", path.c_str(), input.size());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    ++inputs;
  }
  if (failure || inputs == 0) {
    std::fprintf(stderr, "%s: %s\n", argv[1], failure ? failure.message().c_str() : "no inputs");
    return 1;
  }
  std::printf("%zu inputs\n", inputs);
}
