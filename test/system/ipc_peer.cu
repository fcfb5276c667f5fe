// One of several processes that share memory and events, told what to do line by line (test/system/ipc). Answers each line by "ok", with what was
// asked for, by the name of CUDA's error, or by "wrong".
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

__host__ __device__ unsigned first(unsigned seed, unsigned i) { return seed * 2654435761u + i * 40503u; }

__global__ void filled(unsigned* data, unsigned count, unsigned seed) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] = first(seed, i);
}
__global__ void added(unsigned* data, unsigned count, unsigned value) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] += value;
}
__global__ void added64(unsigned* data, unsigned count, unsigned value, unsigned times) {
  for (unsigned n = 0; n < times; ++n)
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
      atomicAdd(&data[i], value);
}

template <class Handle>
std::string hex(const Handle& handle) {
  char text[2 * sizeof handle + 1];
  for (size_t i = 0; i < sizeof handle; ++i) std::snprintf(text + 2 * i, 3, "%02x", reinterpret_cast<const unsigned char*>(&handle)[i]);
  return text;
}
template <class Handle>
Handle handleOf(const std::string& text) {
  Handle handle{};
  for (size_t i = 0; i < sizeof handle && 2 * i + 1 < text.size(); ++i)
    reinterpret_cast<unsigned char*>(&handle)[i] = static_cast<unsigned char>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  return handle;
}

struct Memory {
  unsigned* data = nullptr;
  unsigned count = 0;
};
std::map<std::string, Memory> memories;
std::map<std::string, cudaEvent_t> events;
std::string told;

cudaError_t obey(const std::string& verb, std::istringstream& in) {
  std::string name, text;
  unsigned a = 0, b = 0;
  in >> name;
  Memory& memory = memories[name];
  if (verb == "alloc") {
    in >> memory.count;
    return cudaMalloc(&memory.data, memory.count * sizeof(unsigned));
  }
  if (verb == "free") return cudaFree(memory.data);
  if (verb == "fill") {
    in >> a;
    filled<<<8, 128>>>(memory.data, memory.count, a);
    return cudaGetLastError();
  }
  if (verb == "add") {
    in >> a;
    added<<<8, 128>>>(memory.data, memory.count, a);
    return cudaGetLastError();
  }
  if (verb == "work") {
    in >> a >> b;
    added64<<<8, 128>>>(memory.data, memory.count, a, b);
    return cudaGetLastError();
  }
  if (verb == "expect") {
    in >> a >> b;
    std::vector<unsigned> got(memory.count);
    if (cudaError_t error = cudaMemcpy(got.data(), memory.data, got.size() * sizeof(unsigned), cudaMemcpyDeviceToHost)) return error;
    for (unsigned i = 0; i < memory.count; ++i)
      if (got[i] != first(a, i) + b) {
        std::ostringstream wrong;
        wrong << "wrong at " << i << ": " << got[i] << ", not " << first(a, i) + b;
        told = wrong.str();
        return cudaSuccess;
      }
    return cudaSuccess;
  }
  if (verb == "export") {
    in >> a;
    cudaIpcMemHandle_t handle;
    const cudaError_t error = cudaIpcGetMemHandle(&handle, reinterpret_cast<char*>(memory.data) + a);
    if (error == cudaSuccess) told = "ok " + hex(handle);
    return error;
  }
  if (verb == "open") {
    in >> text >> memory.count;
    void* opened = nullptr;
    const cudaError_t error = cudaIpcOpenMemHandle(&opened, handleOf<cudaIpcMemHandle_t>(text), cudaIpcMemLazyEnablePeerAccess);
    if (error == cudaSuccess) memory.data = static_cast<unsigned*>(opened);
    return error;
  }
  if (verb == "close") return cudaIpcCloseMemHandle(memory.data);
  cudaEvent_t& event = events[name];
  if (verb == "event") return cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming);
  if (verb == "event-export") {
    cudaIpcEventHandle_t handle;
    const cudaError_t error = cudaIpcGetEventHandle(&handle, event);
    if (error == cudaSuccess) told = "ok " + hex(handle);
    return error;
  }
  if (verb == "event-open") {
    in >> text;
    return cudaIpcOpenEventHandle(&event, handleOf<cudaIpcEventHandle_t>(text));
  }
  if (verb == "record") return cudaEventRecord(event);
  if (verb == "await") return cudaStreamWaitEvent(nullptr, event, 0);
  if (verb == "synchronize") return cudaEventSynchronize(event);
  if (verb == "query") return cudaEventQuery(event);
  if (verb == "destroy") return cudaEventDestroy(event);
  if (verb == "sync") return cudaDeviceSynchronize();
  if (verb == "reset") return cudaDeviceReset();
  if (verb == "callback") {
    // Holds the stream for so many milliseconds.
    return cudaLaunchHostFunc(nullptr, [](void* ms) { std::this_thread::sleep_for(std::chrono::milliseconds(reinterpret_cast<size_t>(ms))); },
                              reinterpret_cast<void*>(static_cast<size_t>(std::stoul(name))));
  }
  told = "no such verb: " + verb;
  return cudaSuccess;
}

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string verb;
    in >> verb;
    told = "ok";
    const cudaError_t error = obey(verb, in);
    if (error != cudaSuccess) {
      told = cudaGetErrorName(error);
      cudaGetLastError();
    }
    std::cout << told << std::endl;
  }
  return 0;
}
