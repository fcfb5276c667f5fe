// A function behind the router: HTTP on the Unix socket that ROUSE_FUNCTION_SOCKET names. Its weights are on the device; POST with a number x
// is answered by the sum of w[i] * (x + i), modulo 2^64, which whoever asks can check by the seed (test/system/serve). GET is answered by 200.
// Without that variable: a few sums of its own, checked.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

using Word = unsigned long long;

inline Word mix(Word x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

__global__ void weigh(const unsigned* w, Word n, Word x, Word* out) {
  Word sum = 0;
  for (Word i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += Word(gridDim.x) * blockDim.x) sum += w[i] * (x + i);
  atomicAdd(out, sum);
}

struct Weights {
  Word n;
  unsigned* device = nullptr;
  Word* sum = nullptr;
  std::vector<unsigned> host;
  void* ballast = nullptr;  // memory that is carried along

  Weights(Word n, Word seed, Word ballastBytes) : n(n), host(n) {
    for (Word i = 0; i < n; ++i) host[i] = unsigned(mix(seed + i));
    CHECK(cudaMalloc(&device, n * 4));
    CHECK(cudaMalloc(&sum, sizeof *sum));
    CHECK(cudaMemcpy(device, host.data(), n * 4, cudaMemcpyHostToDevice));
    if (ballastBytes == 0) return;
    CHECK(cudaMalloc(&ballast, ballastBytes));
    CHECK(cudaMemset(ballast, 1, ballastBytes));
    CHECK(cudaDeviceSynchronize());
  }
  // False: CUDA failed.
  bool answer(Word x, Word& got) {
    if (cudaMemset(sum, 0, sizeof *sum) != cudaSuccess) return false;
    weigh<<<8, 64>>>(device, n, x, sum);
    return cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost) == cudaSuccess;
  }
};

static void serve(int fd, Weights& weights, std::mutex& mutex) {
  std::string bytes;
  char piece[4096];
  for (ssize_t got; (got = recv(fd, piece, sizeof piece, 0)) > 0;) {
    bytes.append(piece, size_t(got));
    size_t end, length = 0;
    while ((end = bytes.find("\r\n\r\n")) != std::string::npos) {
      const size_t field = bytes.find("Content-Length: ");
      length = field < end ? strtoul(bytes.c_str() + field + 16, nullptr, 10) : 0;
      if (bytes.size() < end + 4 + length) break;
      const bool post = bytes.compare(0, 4, "POST") == 0;
      const std::string body = bytes.substr(end + 4, length);
      bytes.erase(0, end + 4 + length);
      std::string text;
      int status = 200;
      if (post) {
        const std::lock_guard<std::mutex> lock(mutex);
        Word sum = 0;
        if (!weights.answer(strtoull(body.c_str(), nullptr, 10), sum)) status = 500;
        text = status == 200 ? std::to_string(sum) : cudaGetErrorString(cudaGetLastError());
      }
      const std::string answer = "HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
      if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) != ssize_t(answer.size())) break;
    }
  }
  close(fd);
}

int main(int argc, char** argv) {
  const Word n = argc > 1 ? strtoull(argv[1], nullptr, 10) : 4096, seed = argc > 2 ? strtoull(argv[2], nullptr, 10) : 7;
  Weights weights(n, seed, argc > 3 ? strtoull(argv[3], nullptr, 10) << 20 : 0);
  const char* path = getenv("ROUSE_FUNCTION_SOCKET");
  if (path == nullptr) {
    for (Word x = 0; x < 5; ++x) {
      Word got = 0, expected = 0;
      for (Word i = 0; i < n; ++i) expected += weights.host[i] * (x + i);
      if (!weights.answer(x, got) || got != expected) return std::printf("FAIL %llu\n", x), 1;
    }
    std::printf("PASS\n");
    return 0;
  }
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 64) != 0) return std::perror(path), 1;
  static std::mutex mutex;
  for (int fd; (fd = accept(listener, nullptr, nullptr)) >= 0;) std::thread([fd, &weights] { serve(fd, weights, mutex); }).detach();
  return 0;
}
