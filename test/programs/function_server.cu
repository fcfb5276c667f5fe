// A function that keeps state in device memory between requests, in seven ways, and checks every answer against a model on the
// host. Without arguments: a few requests of each kind. With "serve KIND MIB SEED": one request for each line on
// standard input ("NUMBER"), answered by "NUMBER ok" or "NUMBER wrong: WHAT" (test/system/swap-storm).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver.h"

using Word = unsigned long long;

__host__ __device__ inline Word mix(Word x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr int kBlock = 256, kGrid = 64;

// *out += sum of w[i] * (x + i)
__global__ void weigh(const unsigned* w, Word n, Word x, Word* out) {
  Word sum = 0;
  for (Word i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += Word(gridDim.x) * blockDim.x) sum += w[i] * (x + i);
  atomicAdd(out, sum);
}

__global__ void cast(const unsigned short* from, unsigned* to, Word n) {
  for (Word i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += Word(gridDim.x) * blockDim.x) to[i] = from[i] * 3u + 1;
}

__global__ void bump(unsigned* counters, Word first, Word count, unsigned by) {
  for (Word i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += Word(gridDim.x) * blockDim.x) counters[first + i] += by;
}

struct Node {
  Node* next;
  Word value;
};

__global__ void walk(const Node* at, int steps, Word* out) {
  Word sum = 0;
  for (int i = 0; i < steps; ++i, at = at->next) sum = mix(sum ^ at->value);
  *out = sum;
}

__global__ void rewrite(Node* nodes, Word index, Word value) { nodes[index].value = value; }

struct Function {
  virtual ~Function() = default;
  // Empty: the answer was right.
  virtual std::string answer(Word request) = 0;
};

std::string compare(const char* what, Word got, Word expected) {
  if (got == expected) return "";
  char text[128];
  std::snprintf(text, sizeof text, "%s: %llx, expected %llx", what, got, expected);
  return text;
}

// Weights that are read and never written.
struct Weights : Function {
  Word n, a = 0, b = 0;
  unsigned* device = nullptr;
  Word* sum = nullptr;
  Weights(Word bytes, Word seed) : n(bytes / 4) {
    std::vector<unsigned> host(n);
    for (Word i = 0; i < n; ++i) host[i] = unsigned(mix(seed + i));
    upload(host);
  }
  Weights() = default;
  void upload(const std::vector<unsigned>& host) {
    CHECK(cudaMalloc(&device, n * 4));
    CHECK(cudaMemcpy(device, host.data(), n * 4, cudaMemcpyHostToDevice));
    expect(host);
  }
  void expect(const std::vector<unsigned>& host) {
    CHECK(cudaMalloc(&sum, sizeof *sum));
    for (Word i = 0; i < n; ++i) a += host[i], b += host[i] * i;
  }
  std::string answer(Word request) override {
    CHECK(cudaMemset(sum, 0, sizeof *sum));
    weigh<<<kGrid, kBlock>>>(device, n, request, sum);
    Word got = 0;
    CHECK(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
    return compare("sum of weights", got, a * request + b);
  }
  ~Weights() override {
    CHECK(cudaFree(device));
    CHECK(cudaFree(sum));
  }
};

// Weights that a kernel made from others, which are gone.
struct Casts : Weights {
  Casts(Word bytes, Word seed) {
    n = bytes / 4;
    std::vector<unsigned short> small(n);
    std::vector<unsigned> host(n);
    for (Word i = 0; i < n; ++i) small[i] = static_cast<unsigned short>(mix(seed + i)), host[i] = small[i] * 3u + 1;
    unsigned short* from = nullptr;
    CHECK(cudaMalloc(&from, n * 2));
    CHECK(cudaMemcpy(from, small.data(), n * 2, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&device, n * 4));
    cast<<<kGrid, kBlock>>>(from, device, n);
    CHECK(cudaFree(from));
    expect(host);
  }
};

// A cache that requests change here and there, and whose sum is known.
struct Counters : Function {
  Word n, seed;
  std::vector<unsigned> model;
  unsigned* device = nullptr;
  Counters(Word bytes, Word seed) : n(bytes / 4), seed(seed), model(n) {
    CHECK(cudaMalloc(&device, n * 4));
    CHECK(cudaMemset(device, 0, n * 4));
  }
  std::string answer(Word request) override {
    const Word count = 1 + mix(seed ^ request) % 5000, first = mix(seed + request) % (n - count);
    const unsigned by = unsigned(request) + 1;
    bump<<<4, kBlock>>>(device, first, count, by);
    for (Word i = 0; i < count; ++i) model[first + i] += by;
    // What was just changed, and something from elsewhere, perhaps of long ago.
    std::vector<unsigned> got(count);
    CHECK(cudaMemcpy(got.data(), device + first, count * 4, cudaMemcpyDeviceToHost));
    if (std::memcmp(got.data(), &model[first], count * 4) != 0) return "counters that were just changed";
    const Word other = mix(seed ^ (request << 20)) % (n - count);
    CHECK(cudaMemcpy(got.data(), device + other, count * 4, cudaMemcpyDeviceToHost));
    if (std::memcmp(got.data(), &model[other], count * 4) != 0) return "counters of before";
    return "";
  }
  ~Counters() override { CHECK(cudaFree(device)); }
};

// Device memory that holds addresses of device memory, in an order that jumps about.
struct Linked : Function {
  Word n, seed;
  Node* nodes = nullptr;
  Word* out = nullptr;
  std::vector<Word> next, values;
  Linked(Word bytes, Word seed) : n(bytes / sizeof(Node)), seed(seed), next(n), values(n) {
    CHECK(cudaMalloc(&nodes, n * sizeof(Node)));
    CHECK(cudaMalloc(&out, sizeof *out));
    std::vector<Node> host(n);
    for (Word i = 0; i < n; ++i) {
      next[i] = mix(seed ^ i) % n;
      values[i] = mix(seed + 7 * i);
      host[i] = {nodes + next[i], values[i]};
    }
    CHECK(cudaMemcpy(nodes, host.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
  }
  std::string answer(Word request) override {
    const Word start = mix(request) % n, changed = mix(request + seed) % n;
    const int steps = 200;
    walk<<<1, 1>>>(nodes + start, steps, out);
    Word got = 0, expected = 0, at = start;
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < steps; ++i, at = next[at]) expected = mix(expected ^ values[at]);
    rewrite<<<1, 1>>>(nodes, changed, request);
    values[changed] = request;
    return compare("walk", got, expected);
  }
  ~Linked() override {
    CHECK(cudaFree(nodes));
    CHECK(cudaFree(out));
  }
};

// Two threads with two streams each; work crosses between streams by events.
struct Streams : Function {
  struct Part {
    std::unique_ptr<Weights> weights;
    std::unique_ptr<Counters> counters;
    cudaStream_t a, b;
    cudaEvent_t ready;
    Word* sum;
    Word* back;
  };
  std::vector<std::unique_ptr<Part>> parts;
  Streams(Word bytes, Word seed) {
    for (Word i = 0; i < 2; ++i) {
      auto part = std::make_unique<Part>();
      part->weights = std::make_unique<Weights>(bytes / 4, seed + i);
      part->counters = std::make_unique<Counters>(bytes / 4, seed + 9 * i);
      CHECK(cudaStreamCreateWithFlags(&part->a, cudaStreamNonBlocking));
      CHECK(cudaStreamCreateWithFlags(&part->b, cudaStreamNonBlocking));
      CHECK(cudaEventCreateWithFlags(&part->ready, cudaEventDisableTiming));
      CHECK(cudaMalloc(&part->sum, sizeof(Word)));
      CHECK(cudaMallocHost(&part->back, sizeof(Word)));
      parts.push_back(std::move(part));
    }
  }
  static std::string one(Part& part, Word request) {
    CHECK(cudaMemsetAsync(part.sum, 0, sizeof(Word), part.a));
    weigh<<<kGrid, kBlock, 0, part.a>>>(part.weights->device, part.weights->n, request, part.sum);
    CHECK(cudaEventRecord(part.ready, part.a));
    CHECK(cudaStreamWaitEvent(part.b, part.ready));
    CHECK(cudaMemcpyAsync(part.back, part.sum, sizeof(Word), cudaMemcpyDeviceToHost, part.b));
    CHECK(cudaStreamSynchronize(part.b));
    std::string wrong = compare("sum on streams", *part.back, part.weights->a * request + part.weights->b);
    return wrong.empty() ? part.counters->answer(request) : wrong;
  }
  std::string answer(Word request) override {
    std::string other;
    std::thread thread([&] { other = one(*parts[1], request + 1); });
    std::string first = one(*parts[0], request);
    thread.join();
    return first.empty() ? other : first;
  }
  ~Streams() override {
    for (auto& part : parts) {
      CHECK(cudaStreamDestroy(part->a));
      CHECK(cudaStreamDestroy(part->b));
      CHECK(cudaEventDestroy(part->ready));
      CHECK(cudaFree(part->sum));
      CHECK(cudaFreeHost(part->back));
    }
  }
};

// Requests are launches of a graph that was instantiated once: two branches, a host function, memory of its own, and a node whose argument
// changes with each request.
struct Graph : Function {
  Weights weights;
  Counters counters;  // never asked itself
  Word* sums = nullptr;
  unsigned* scratch = nullptr;
  Word got[2] = {}, calls = 0, requests = 0;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t node = nullptr;
  static void CUDART_CB called(void* self) { ++static_cast<Graph*>(self)->calls; }
  Graph(Word bytes, Word seed) : weights(bytes / 2, seed), counters(bytes / 4, seed) {
    CHECK(cudaMalloc(&sums, 2 * sizeof(Word)));
    // What follows is on streams that do not wait for the fill of the counters, which CUDA does not wait for either.
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaStream_t side;
    cudaEvent_t fork, joined;
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync(&scratch, 4096, stream));
    CHECK(cudaMemsetAsync(sums, 0, 2 * sizeof(Word), stream));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(side, fork));
    bump<<<4, kBlock, 0, side>>>(counters.device, 0, 4096, 1);
    weigh<<<4, kBlock, 0, side>>>(counters.device, 4096, 0, sums + 1);
    weigh<<<kGrid, kBlock, 0, stream>>>(weights.device, weights.n, 0, sums);
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t* last;
    size_t count;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, nullptr, &count));
    node = last[0];
    CHECK(cudaEventRecord(joined, side));
    CHECK(cudaStreamWaitEvent(stream, joined));
    CHECK(cudaMemsetAsync(scratch, 1, 4096, stream));
    CHECK(cudaMemcpyAsync(got, sums, sizeof got, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, called, this));
    CHECK(cudaFreeAsync(scratch, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(joined));
  }
  std::string answer(Word request) override {
    ++requests;
    // Every other request with the argument of the one before: a launch of the graph as it is.
    if (requests % 2 == 1) {
      current = request;
      cudaKernelNodeParams params;
      CHECK(cudaGraphKernelNodeGetParams(node, &params));
      void* arguments[] = {&weights.device, &weights.n, &current, &sums};
      params.kernelParams = arguments;
      CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    }
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::string wrong = compare("sum in a graph", got[0], weights.a * current + weights.b);
    if (wrong.empty()) wrong = compare("counters in a graph", got[1], requests * (4096ull * 4095 / 2));
    return wrong.empty() ? compare("host functions", calls, requests) : wrong;
  }
  Word current = 0;
  ~Graph() override {
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(sums));
  }
};

// Counters in memory that the program maps by itself, piece by piece into addresses that it has reserved: pieces change places, are unmapped and come
// back, and are given up for fresh ones.
struct Mapped : Function {
  Word seed, count, each;  // pieces; counters in each
  std::size_t bytes = 0;   // of a piece
  CUdeviceptr base = 0;
  std::vector<CUmemGenericAllocationHandle> pieces;
  std::vector<unsigned> model;
  Mapped(Word size, Word seed) : seed(seed) {
    DRIVER(cuInit, 0);
    CHECK(cudaFree(nullptr));
    const CUmemAllocationProp properties = made();
    DRIVER(cuMemGetAllocationGranularity, &bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    count = size / bytes < 2 ? 2 : size / bytes;
    each = bytes / 4;
    model.resize(count * each);
    DRIVER(cuMemAddressReserve, &base, 4 * count * bytes, 0, 0, 0);
    pieces.resize(count);
    for (Word i = 0; i < count; ++i) fresh(i);
  }
  static CUmemAllocationProp made() {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return properties;
  }
  CUdeviceptr at(Word piece) const { return base + piece * bytes; }
  void map(Word piece) {
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(cuMemMap, at(piece), bytes, 0, pieces[piece], 0);
    DRIVER(cuMemSetAccess, at(piece), bytes, &access, 1);
  }
  void fresh(Word piece) {
    const CUmemAllocationProp properties = made();
    DRIVER(cuMemCreate, &pieces[piece], bytes, &properties, 0);
    map(piece);
    CHECK(cudaMemset(reinterpret_cast<void*>(at(piece)), 0, bytes));
    std::fill_n(model.begin() + long(piece * each), each, 0u);
  }
  void change(Word request) {
    const Word one = mix(seed ^ request * 3) % count, other = mix(seed ^ request * 5) % count;
    DRIVER(cuMemUnmap, at(one), bytes);
    if (request % 3 == 0) {
      map(one);
    } else if (request % 3 == 1) {
      DRIVER(cuMemRelease, pieces[one]);
      fresh(one);
    } else {
      if (one != other) {
        DRIVER(cuMemUnmap, at(other), bytes);
        std::swap(pieces[one], pieces[other]);
        std::swap_ranges(model.begin() + long(one * each), model.begin() + long((one + 1) * each), model.begin() + long(other * each));
        map(other);
      }
      map(one);
    }
  }
  std::string answer(Word request) override {
    if (request % 4 == 0) change(request);
    // Over the edge of two pieces mostly.
    const Word edge = each * (1 + mix(seed ^ request) % (count - 1)), length = 1 + mix(seed + request) % 5000, first = edge - length / 2;
    auto* const counters = reinterpret_cast<unsigned*>(base);
    const unsigned by = unsigned(request) + 1;
    bump<<<4, kBlock>>>(counters, first, length, by);
    for (Word i = 0; i < length; ++i) model[first + i] += by;
    std::vector<unsigned> got(length);
    CHECK(cudaMemcpy(got.data(), counters + first, length * 4, cudaMemcpyDeviceToHost));
    if (std::memcmp(got.data(), &model[first], length * 4) != 0) return "mapped counters that were just changed";
    const Word before = mix(seed ^ (request << 20)) % (count * each - length);
    CHECK(cudaMemcpy(got.data(), counters + before, length * 4, cudaMemcpyDeviceToHost));
    if (std::memcmp(got.data(), &model[before], length * 4) != 0) return "mapped counters of before";
    return check::failures == 0 ? "" : "a call of the driver failed";
  }
  ~Mapped() override {
    DRIVER(cuMemUnmap, base, count * bytes);
    for (const CUmemGenericAllocationHandle piece : pieces) DRIVER(cuMemRelease, piece);
    DRIVER(cuMemAddressFree, base, 4 * count * bytes);
  }
};

std::unique_ptr<Function> make(const std::string& kind, Word bytes, Word seed) {
  if (kind == "weights") return std::make_unique<Weights>(bytes, seed);
  if (kind == "casts") return std::make_unique<Casts>(bytes, seed);
  if (kind == "counters") return std::make_unique<Counters>(bytes, seed);
  if (kind == "linked") return std::make_unique<Linked>(bytes, seed);
  if (kind == "streams") return std::make_unique<Streams>(bytes, seed);
  if (kind == "graph") return std::make_unique<Graph>(bytes, seed);
  if (kind == "mapped") return std::make_unique<Mapped>(bytes, seed);
  std::fprintf(stderr, "no kind '%s'\n", kind.c_str());
  std::exit(2);
}

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "serve") == 0) {
    const auto function = make(argv[2], std::strtoull(argv[3], nullptr, 10) << 20, std::strtoull(argv[4], nullptr, 10));
    std::printf("ready\n");
    std::fflush(stdout);
    for (Word request = 0; std::scanf("%llu", &request) == 1;) {
      const std::string wrong = function->answer(request);
      if (wrong.empty())
        std::printf("%llu ok\n", request);
      else
        std::printf("%llu wrong: %s\n", request, wrong.c_str());
      std::fflush(stdout);
    }
    return 0;
  }
  for (const char* kind : {"weights", "casts", "counters", "linked", "streams", "graph", "mapped"}) {
    const auto function = make(kind, Word{4} << 20, 42);
    for (Word request = 0; request < 20; ++request) {
      const std::string wrong = function->answer(request);
      if (!wrong.empty()) {
        std::printf("%s: request %llu: %s\n", kind, request, wrong.c_str());
        return 1;
      }
    }
  }
  return check::done();
}
