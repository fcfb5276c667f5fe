// Which calls of the driver wait for kernels that run: whoever makes such a call for one function holds up all others of the GPU.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "bench/probe/measurements.h"
#include "bench/probe/samples.h"

namespace rouse::probe {
namespace {

constexpr int kKernelMs = 20;
constexpr int kLongKernelMs = 200;  // beside calls that take milliseconds by themselves, compiling for one
constexpr int kSamples = 5;
constexpr double kPatience = 2;  // seconds until a kernel has begun
constexpr std::size_t kBytes = std::size_t{2} << 20;

// Says that it has begun, and ends when so many nanoseconds have passed.
constexpr char kBusy[] = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry busy(.param .u64 begun, .param .u64 nanoseconds)
{
  .reg .u64 %rd<5>;
  .reg .u32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [begun];
  ld.param.u64 %rd2, [nanoseconds];
  mov.u64 %rd3, %globaltimer;
  mov.u32 %r1, 1;
  st.volatile.global.u32 [%rd1], %r1;
  membar.sys;
AGAIN:
  mov.u64 %rd4, %globaltimer;
  sub.u64 %rd4, %rd4, %rd3;
  setp.lt.u64 %p1, %rd4, %rd2;
  @%p1 bra AGAIN;
  ret;
}
)";

// Each has more local memory than the one before, so that its first launch needs more of the GPU's.
constexpr char kLocal[] = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry local(.param .u64 out, .param .u64 at)
{
  .local .align 8 .b8 frame[BYTES];
  .reg .u64 %rd<6>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [at];
  mov.u64 %rd3, frame;
  add.u64 %rd4, %rd3, %rd2;
  st.local.u64 [%rd4], %rd2;
  ld.local.u64 %rd5, [%rd3];
  st.global.u64 [%rd1], %rd5;
  ret;
}
)";

std::string withLocal(std::size_t bytes) {
  std::string text = kLocal;
  return text.replace(text.find("BYTES"), 5, std::to_string(bytes));
}

class BusyKernel {
 public:
  explicit BusyKernel(const Gpu& gpu) : gpu_(gpu), library_(gpu, kBusy), function_(library_.function("busy")), page_(gpu, 4096), stream_(gpu) {}

  void begin(int milliseconds) {
    auto* const begun = new (page_.get()) std::atomic<std::uint32_t>(0);
    CUdeviceptr where = page_.deviceAddress();
    std::uint64_t nanoseconds = static_cast<std::uint64_t>(milliseconds) * 1'000'000;
    void* parameters[] = {&where, &nanoseconds};
    gpu_.check(gpu_.driver().cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, stream_.get(), parameters, nullptr), "cuLaunchKernel");
    const double end = bench::now() + kPatience;
    while (begun->load(std::memory_order_acquire) == 0)
      if (bench::now() > end) throw Failure("a kernel did not begin within 2 s");
  }
  bool runs() const { return gpu_.driver().cuStreamQuery(stream_.get()) == CUDA_ERROR_NOT_READY; }
  void end() const { stream_.synchronize(); }

 private:
  const Gpu& gpu_;
  Library library_;
  CUfunction function_;
  PinnedMemory page_;
  Stream stream_;
};

// Memory that the driver does not know of.
class PlainMemory {
 public:
  PlainMemory() : memory_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw Failure("no memory");
  }
  ~PlainMemory() { ::munmap(memory_, kBytes); }
  PlainMemory(const PlainMemory&) = delete;
  PlainMemory& operator=(const PlainMemory&) = delete;
  void* get() const { return memory_; }

 private:
  void* memory_;
};

}  // namespace

void measureBeside(const Emit& emit, int ordinal, double seconds) {
  const Gpu gpu(ordinal);
  const Context context(gpu);
  const auto& driver = gpu.driver();
  BusyKernel kernel(gpu);
  const double share = seconds / 34;
  using Call = std::function<CUresult()>;
  // `before` and `after` while no kernel runs.
  const auto besideFor = [&](int milliseconds, const char* name, const Call& before, const Call& call, const Call& after) {
    std::vector<double> samples;
    int waited = 0;
    const double end = bench::now() + share;
    do {
      gpu.check(before(), name);
      kernel.begin(milliseconds);
      const double begin = bench::now();
      const CUresult result = call();
      samples.push_back(bench::now() - begin);
      if (!kernel.runs()) ++waited;
      kernel.end();
      gpu.check(result, name);
      gpu.check(after(), name);
    } while (static_cast<int>(samples.size()) < kSamples && bench::now() < end);
    nlohmann::json line = cost(std::string(name) + " beside a kernel of " + std::to_string(milliseconds) + " ms", samples);
    line["waited"] = waited;
    emit(line);
  };
  const auto beside = [&](const char* name, const Call& before, const Call& call, const Call& after) { besideFor(kKernelMs, name, before, call, after); };
  const Call nothing = [] { return CUDA_SUCCESS; };

  const PlainMemory memory;
  const Call pin = [&] { return driver.cuMemHostRegister(memory.get(), kBytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP); };
  const Call unpin = [&] { return driver.cuMemHostUnregister(memory.get()); };
  beside("cuMemHostRegister", nothing, pin, unpin);
  beside("cuMemHostUnregister", pin, unpin, nothing);

  std::unique_ptr<Library> library;
  const Call load = [&] { return library = std::make_unique<Library>(gpu, kBusy), library->function("busy"), CUDA_SUCCESS; };
  const Call unload = [&] { return library->unload(); };
  besideFor(kLongKernelMs, "cuLibraryLoadData and cuFuncLoad", nothing, load, unload);
  beside("cuLibraryUnload", load, unload, nothing);

  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp prop = allocation(gpu);
  const CUmemAccessDesc desc = readWrite(gpu);
  gpu.check(driver.cuMemAddressReserve(&address, kBytes, 0, 0, 0), "cuMemAddressReserve");
  const Call create = [&] { return driver.cuMemCreate(&handle, kBytes, &prop, 0); };
  const Call release = [&] { return driver.cuMemRelease(handle); };
  const Call map = [&] { return driver.cuMemMap(address, kBytes, 0, handle, 0); };
  const Call access = [&] { return driver.cuMemSetAccess(address, kBytes, &desc, 1); };
  const Call unmap = [&] { return driver.cuMemUnmap(address, kBytes); };
  const auto both = [](const Call& first, const Call& second) {
    return [first, second] {
      const CUresult result = first();
      return result == CUDA_SUCCESS ? second() : result;
    };
  };
  beside("cuMemCreate", nothing, create, release);
  beside("cuMemMap and cuMemSetAccess", create, both(map, access), both(unmap, release));
  beside("cuMemUnmap", both(create, both(map, access)), unmap, release);
  beside("cuMemRelease", create, release, nothing);
  gpu.check(driver.cuMemAddressFree(address, kBytes), "cuMemAddressFree");

  CUstream stream = nullptr;
  CUevent event = nullptr;
  const Call makeStream = [&] { return driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0); };
  const Call endStream = [&] { return driver.cuStreamDestroy(stream); };
  const Call makeEvent = [&] { return driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING); };
  const Call endEvent = [&] { return driver.cuEventDestroy(event); };
  beside("cuStreamCreateWithPriority", nothing, makeStream, endStream);
  beside("cuStreamDestroy", makeStream, endStream, nothing);
  beside("cuEventCreate", nothing, makeEvent, endEvent);
  beside("cuEventDestroy", makeEvent, endEvent, nothing);

  CUarray array = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Width = shape.Height = 256;
  shape.Format = CU_AD_FORMAT_FLOAT;
  shape.NumChannels = 4;
  const Call makeArray = [&] { return driver.cuArray3DCreate(&array, &shape); };
  const Call endArray = [&] { return driver.cuArrayDestroy(array); };
  beside("cuArray3DCreate", nothing, makeArray, endArray);
  beside("cuArrayDestroy", makeArray, endArray, nothing);

  CUmipmappedArray levels = nullptr;
  const Call makeLevels = [&] { return driver.cuMipmappedArrayCreate(&levels, &shape, 4); };
  const Call endLevels = [&] { return driver.cuMipmappedArrayDestroy(levels); };
  beside("cuMipmappedArrayCreate", nothing, makeLevels, endLevels);
  beside("cuMipmappedArrayDestroy", makeLevels, endLevels, nothing);

  const DeviceMemory texels(gpu, kBytes);
  const Stream other(gpu);
  CUDA_RESOURCE_DESC ofMemory{}, ofArray{};
  ofMemory.resType = CU_RESOURCE_TYPE_LINEAR;
  ofMemory.res.linear = {texels.address(), CU_AD_FORMAT_FLOAT, 1, 65536};
  ofArray.resType = CU_RESOURCE_TYPE_ARRAY;
  const CUDA_TEXTURE_DESC sampling{};
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
  const Call makeTexture = [&] { return driver.cuTexObjectCreate(&texture, &ofMemory, &sampling, nullptr); };
  const Call endTexture = [&] { return driver.cuTexObjectDestroy(texture); };
  const Call makeSurface = [&] { return ofArray.res.array.hArray = array, driver.cuSurfObjectCreate(&surface, &ofArray); };
  const Call endSurface = [&] { return driver.cuSurfObjectDestroy(surface); };
  beside("cuTexObjectCreate", nothing, makeTexture, endTexture);
  beside("cuTexObjectDestroy", makeTexture, endTexture, nothing);
  beside("cuSurfObjectCreate", makeArray, makeSurface, both(endSurface, endArray));
  beside("cuSurfObjectDestroy", both(makeArray, makeSurface), endSurface, endArray);

  // What the driver has as kernels of its own, which it may load at the first call. Later ones tell what the call itself does.
  const Call synchronized = [&] { return driver.cuStreamSynchronize(other.get()); };
  const Call fill = [&] { return driver.cuMemsetD2D8Async(texels.address(), 512, 1, 100, 16, other.get()); };
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = texels.address();
  box.srcPitch = box.WidthInBytes = 4096;
  box.srcHeight = box.Height = 256;
  box.Depth = 1;
  box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  const Call copy = [&] { return box.dstArray = array, driver.cuMemcpy3DAsync(&box, other.get()); };
  beside("cuMemsetD2D8Async", nothing, fill, synchronized);
  beside("cuMemcpy3DAsync to an array", makeArray, copy, both(synchronized, endArray));

  // Launches that need more local memory than any before, and the limit that asks for it in advance. Both stay for the process, so each sample takes more.
  std::size_t bytes = 4096;
  std::unique_ptr<Library> framed;
  CUfunction frame = nullptr;
  const Call compile = [&] { return framed = std::make_unique<Library>(gpu, withLocal(bytes += 2048).c_str()), frame = framed->function("local"), CUDA_SUCCESS; };
  const Call launch = [&] {
    CUdeviceptr out = texels.address();
    std::uint64_t at = 0;
    void* parameters[] = {&out, &at};
    return driver.cuLaunchKernel(frame, 1, 1, 1, 1, 1, 1, 0, other.get(), parameters, nullptr);
  };
  beside("cuLaunchKernel with more local memory", compile, launch, both(synchronized, [&] { return framed->unload(); }));
  std::size_t stack = 0;
  gpu.check(driver.cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE), "cuCtxGetLimit");
  stack = std::max<std::size_t>(stack, bytes);
  beside("cuCtxSetLimit of a larger stack", nothing, [&] { return driver.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, stack += 1024); }, nothing);

  // Whether others can go on while somebody's call waits: on another thread, from when that call has begun.
  const Library plain(gpu, withLocal(16).c_str());
  const CUfunction small = plain.function("local");
  const Call launchSmall = [&] {
    CUdeviceptr out = texels.address();
    std::uint64_t at = 0;
    void* parameters[] = {&out, &at};
    return driver.cuLaunchKernel(small, 1, 1, 1, 1, 1, 1, 0, other.get(), parameters, nullptr);
  };
  gpu.check(launchSmall(), "cuLaunchKernel");
  other.synchronize();
  CUcontext here = nullptr;
  gpu.check(driver.cuCtxGetCurrent(&here), "cuCtxGetCurrent");
  const auto meanwhile = [&](const char* waits, const Call& before, const Call& waiting, const Call& after, const char* name, const Call& call) {
    std::vector<double> samples;
    int waited = 0;
    for (int sample = 0; sample < 3; ++sample) {
      gpu.check(before(), waits);
      kernel.begin(kLongKernelMs);
      std::atomic<bool> begun{false};
      std::string failed;
      CUresult theirs = CUDA_SUCCESS;
      std::thread thread([&] {
        try {
          gpu.check(driver.cuCtxSetCurrent(here), "cuCtxSetCurrent");
          begun = true;
          theirs = waiting();
        } catch (const Failure& failure) {
          failed = failure.what();
        }
      });
      while (!begun) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const double begin = bench::now();
      const CUresult result = call();
      samples.push_back(bench::now() - begin);
      if (!kernel.runs()) ++waited;
      thread.join();
      kernel.end();
      gpu.check(result, name);
      gpu.check(theirs, waits);
      other.synchronize();
      if (!failed.empty()) throw Failure(failed);
      gpu.check(after(), waits);
    }
    nlohmann::json line = cost(std::string(name) + " by another thread while one " + waits + ", beside a kernel of " + std::to_string(kLongKernelMs) + " ms", samples);
    line["waited"] = waited;
    emit(line);
  };
  std::unique_ptr<Library> loaded;
  const Call loadLocal = [&] { return loaded = std::make_unique<Library>(gpu, withLocal(bytes += 2048).c_str()), loaded->function("local"), CUDA_SUCCESS; };
  const Call dropLocal = [&] { return loaded->unload(); };
  const Call unloadFramed = [&] { return framed->unload(); };
  CUdeviceptr range = 0;
  gpu.check(driver.cuMemAddressReserve(&range, kBytes, 0, 0, 0), "cuMemAddressReserve");
  const Call mapRange = [&] { return driver.cuMemMap(range, kBytes, 0, handle, 0); };
  const Call accessRange = [&] { return driver.cuMemSetAccess(range, kBytes, &desc, 1); };
  const Call unmapRange = [&] { return driver.cuMemUnmap(range, kBytes); };
  meanwhile("loads", nothing, loadLocal, dropLocal, "a fill", fill);
  meanwhile("loads", nothing, loadLocal, dropLocal, "a launch", launchSmall);
  meanwhile("unloads", load, unload, nothing, "a launch", launchSmall);
  meanwhile("unpins host memory", pin, unpin, nothing, "a launch", launchSmall);
  meanwhile("unpins host memory", both(create, pin), unpin, both(unmapRange, release), "a mapping", both(mapRange, accessRange));
  meanwhile("destroys an array", makeArray, endArray, nothing, "a launch", launchSmall);
  meanwhile("needs more local memory", compile, launch, unloadFramed, "a launch", launchSmall);
  gpu.check(driver.cuMemAddressFree(range, kBytes), "cuMemAddressFree");
}

}  // namespace rouse::probe
