// Memory and events of two processes: the parent's array is worked on by both in turn, ordered by interprocess events alone, and is what the same
// steps make of it on the host. Handles: the same one opens to the same address, and is closed as often; nothing opens that is no handle.
// known-gap-check: a process whose accesses are checked shares no memory with others
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

constexpr int kCount = 3 << 18, kRounds = 60;

__host__ __device__ unsigned mixed(unsigned value, unsigned step, unsigned i) { return (value ^ step) * 2654435761u + (value >> 15) + i; }

__global__ void stepped(unsigned* data, unsigned count, unsigned step) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = mixed(data[i], step, i);
}

struct Handles {
  cudaIpcMemHandle_t memory, small;
  cudaIpcEventHandle_t ping, pong;
};

template <class T>
void send(int to, const T& value) {
  EXPECT(write(to, &value, sizeof value) == sizeof value);
}
template <class T>
T receive(int from) {
  T value{};
  for (size_t at = 0; at < sizeof value;) {
    const ssize_t got = read(from, reinterpret_cast<char*>(&value) + at, sizeof value - at);
    if (got <= 0) {
      std::printf("the other process has ended\n");
      std::exit(1);
    }
    at += got;
  }
  return value;
}

int child(int from, int to) {
  const Handles handles = receive<Handles>(from);
  void *opened = nullptr, *again = nullptr, *small = nullptr;
  CHECK(cudaIpcOpenMemHandle(&opened, handles.memory, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaIpcOpenMemHandle(&again, handles.memory, cudaIpcMemLazyEnablePeerAccess));
  EXPECT(again == opened);
  CHECK(cudaIpcOpenMemHandle(&small, handles.small, cudaIpcMemLazyEnablePeerAccess));
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, opened));
  EXPECT(attributes.type == cudaMemoryTypeDevice);
  unsigned char text[100] = {};
  CHECK(cudaMemcpy(text, small, sizeof text, cudaMemcpyDeviceToHost));
  EXPECT(text[0] == 0x5a && text[99] == 0x5a);
  CHECK(cudaMemset(small, 0xa5, sizeof text));

  cudaEvent_t ping, pong;
  CHECK(cudaIpcOpenEventHandle(&ping, handles.ping));
  CHECK(cudaIpcOpenEventHandle(&pong, handles.pong));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  auto* data = static_cast<unsigned*>(opened);
  for (int round = 0; round < kRounds; ++round) {
    receive<int>(from);
    CHECK(cudaStreamWaitEvent(stream, ping, 0));
    stepped<<<kCount / 256, 256, 0, stream>>>(data, kCount, 2 * round + 1);
    CHECK(cudaEventRecord(pong, stream));
    send(to, round);
  }
  CHECK(cudaStreamSynchronize(stream));
  // All of it, by a copy between its memory and the other's.
  unsigned* own = check::deviceArray<unsigned>(kCount);
  CHECK(cudaMemcpy(own, data, kCount * sizeof(unsigned), cudaMemcpyDeviceToDevice));
  const std::vector<unsigned> seen = check::toHost(own, kCount), direct = check::toHost(data, kCount);
  EXPECT(seen == direct);

  EXPECT(cudaFree(opened) != cudaSuccess);
  CHECK(cudaIpcCloseMemHandle(opened));
  CHECK(cudaMemset(data, 0, 4));  // it has been opened twice
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaIpcCloseMemHandle(opened));
  EXPECT(cudaIpcCloseMemHandle(opened) != cudaSuccess);
  CHECK(cudaIpcCloseMemHandle(small));
  cudaGetLastError();
  CHECK(cudaEventDestroy(ping));
  CHECK(cudaEventDestroy(pong));
  send(to, check::failures);
  return check::failures != 0;
}

int main(int argc, char** argv) {
  if (argc == 3) return child(std::atoi(argv[1]), std::atoi(argv[2]));
  int down[2], up[2];
  EXPECT(pipe(down) == 0 && pipe(up) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    close(down[1]);
    close(up[0]);
    execl("/proc/self/exe", argv[0], std::to_string(down[0]).c_str(), std::to_string(up[1]).c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(down[0]);
  close(up[1]);

  std::vector<unsigned> wanted(kCount);
  for (int i = 0; i < kCount; ++i) wanted[i] = i * 7u;
  unsigned* data = check::toDevice(wanted);
  unsigned char* small = check::deviceArray<unsigned char>(100);
  CHECK(cudaMemset(small, 0x5a, 100));
  cudaEvent_t ping, pong, plain;
  CHECK(cudaEventCreateWithFlags(&ping, cudaEventInterprocess | cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&pong, cudaEventInterprocess | cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaEventCreateWithFlags(&plain, cudaEventInterprocess));
  CHECK(cudaEventRecord(ping));  // what has been recorded before counts as well
  Handles handles;
  CHECK(cudaIpcGetMemHandle(&handles.memory, data));
  CHECK(cudaIpcGetMemHandle(&handles.small, small));
  CHECK(cudaIpcGetEventHandle(&handles.ping, ping));
  CHECK(cudaIpcGetEventHandle(&handles.pong, pong));
  cudaIpcMemHandle_t again;
  CHECK(cudaIpcGetMemHandle(&again, data));
  EXPECT(std::memcmp(&again, &handles.memory, sizeof again) == 0);
  cudaIpcEventHandle_t none;
  EXPECT(cudaIpcGetEventHandle(&none, plain) != cudaSuccess);
  EXPECT(cudaIpcGetMemHandle(&again, &handles) != cudaSuccess);
  void* own = nullptr;
  EXPECT_ERROR(cudaErrorDeviceUninitialized, cudaIpcOpenMemHandle(&own, handles.memory, cudaIpcMemLazyEnablePeerAccess));
  std::memset(&again, 0x33, sizeof again);
  EXPECT(cudaIpcOpenMemHandle(&own, again, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess);
  EXPECT(cudaIpcCloseMemHandle(data) != cudaSuccess);
  cudaGetLastError();
  CHECK(cudaDeviceSynchronize());
  send(down[1], handles);

  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int round = 0; round < kRounds; ++round) {
    stepped<<<kCount / 256, 256, 0, stream>>>(data, kCount, 2 * round);
    CHECK(cudaEventRecord(ping, stream));
    send(down[1], round);
    EXPECT(receive<int>(up[0]) == round);
    CHECK(cudaStreamWaitEvent(stream, pong, 0));
  }
  CHECK(cudaEventSynchronize(pong));
  CHECK(cudaEventQuery(pong));
  for (int step = 0; step < 2 * kRounds; ++step)
    for (int i = 0; i < kCount; ++i) wanted[i] = mixed(wanted[i], step, i);
  const std::vector<unsigned> got = check::toHost(data, kCount);
  EXPECT(receive<int>(up[0]) == 0);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  // The child may have set the first element to 0 by then.
  check::equal("data", got.data() + 1, wanted.data() + 1, kCount - 1);
  const std::vector<unsigned char> text = check::toHost(small, 100);
  EXPECT(text[0] == 0xa5 && text[99] == 0xa5);
  CHECK(cudaFree(data));
  CHECK(cudaFree(small));
  return check::done();
}
