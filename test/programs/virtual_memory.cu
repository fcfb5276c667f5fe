// Virtual memory management by the driver API: reservations, memory apart from addresses, mappings that grow one behind the other, move and keep their
// content, sleep and wake at the same address; what is refused, and how; and how much there is, to the last piece.
// alone
// gpus: 2
#include "driver.h"

#include <numeric>

std::size_t piece = 0;  // the granularity

CUmemAllocationProp deviceMemory(int device = 0) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

CUdeviceptr reserve(std::size_t bytes) {
  CUdeviceptr address = 0;
  DRIVER(cuMemAddressReserve, &address, bytes, 0, 0, 0);
  EXPECT(address != 0 && address % piece == 0);
  return address;
}

CUmemGenericAllocationHandle create(std::size_t bytes) {
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = deviceMemory();
  DRIVER(cuMemCreate, &handle, bytes, &properties, 0);
  return handle;
}

CUmemAccessDesc access(CUmemAccess_flags flags) {
  CUmemAccessDesc wanted = {};
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.flags = flags;
  return wanted;
}

void map(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle) {
  DRIVER(cuMemMap, address, bytes, 0, handle, 0);
  const CUmemAccessDesc both = access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  DRIVER(cuMemSetAccess, address, bytes, &both, 1);
}

std::size_t freeBytes() {
  std::size_t free = 0, total = 0;
  DRIVER(cuMemGetInfo_v2, &free, &total);
  return free;
}

__global__ void number(unsigned* words, size_t count, unsigned first) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) words[i] = first + unsigned(i);
}

// Counts what is not first, first + 1, first + 2…
__global__ void compare(const unsigned* words, size_t count, unsigned first, unsigned* wrong) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
    if (words[i] != first + unsigned(i)) atomicAdd(wrong, 1);
}

void fill(CUdeviceptr memory, std::size_t bytes, unsigned first) {
  number<<<16, 128>>>(reinterpret_cast<unsigned*>(memory), bytes / 4, first);
  CHECK(cudaGetLastError());
}

bool holds(CUdeviceptr memory, std::size_t bytes, unsigned first) {
  static unsigned* wrong = nullptr;
  if (wrong == nullptr) CHECK(cudaMalloc(&wrong, sizeof *wrong));
  CHECK(cudaMemset(wrong, 0, sizeof *wrong));
  compare<<<16, 128>>>(reinterpret_cast<const unsigned*>(memory), bytes / 4, first, wrong);
  unsigned found = 1;
  CHECK(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost));
  std::vector<unsigned> words(bytes / 4), wanted(bytes / 4);
  CHECK(cudaMemcpy(words.data(), reinterpret_cast<void*>(memory), bytes, cudaMemcpyDeviceToHost));
  std::iota(wanted.begin(), wanted.end(), first);
  return found == 0 && words == wanted;
}

// As llama.cpp's pool: a large reservation that grows at its end, each piece's handle released as soon as it is mapped.
void growth() {
  constexpr std::size_t kPieces = 6;
  const std::size_t before = freeBytes(), reserved = std::size_t{1} << 30;
  const CUdeviceptr base = reserve(reserved);
  EXPECT(freeBytes() == before);  // addresses are no memory
  for (std::size_t i = 0; i < kPieces; ++i) {
    const CUmemGenericAllocationHandle handle = create(piece);
    map(base + i * piece, piece, handle);
    DRIVER(cuMemRelease, handle);
    fill(base, (i + 1) * piece, 1000 * unsigned(i));
    EXPECT(holds(base, (i + 1) * piece, 1000 * unsigned(i)));
  }
  EXPECT(freeBytes() <= before - kPieces * piece);
  // Copies that begin in one piece and end in another; a sum over all of them by one kernel has been made.
  std::vector<unsigned char> some(3 * piece, 7), back(3 * piece);
  CHECK(cudaMemcpy(reinterpret_cast<void*>(base + piece / 2), some.data(), some.size(), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(back.data(), reinterpret_cast<void*>(base + piece / 2), back.size(), cudaMemcpyDeviceToHost));
  EXPECT(some == back);
  CHECK(cudaMemset(reinterpret_cast<void*>(base + piece - 100), 9, piece + 200));
  DRIVER(cuMemUnmap, base, kPieces * piece);
  DRIVER(cuMemAddressFree, base, reserved);
  if (check::throughRouse()) EXPECT(freeBytes() == before);
}

// As vLLM's sleep mode: everything is unmapped and freed, and comes back at its address, with the content that was saved.
void sleep() {
  const std::size_t bytes = 8 * piece;
  const CUdeviceptr base = reserve(bytes);
  CUmemGenericAllocationHandle handle = create(bytes);
  map(base, bytes, handle);
  fill(base, bytes, 5);
  std::vector<unsigned char> saved(bytes);
  CHECK(cudaMemcpy(saved.data(), reinterpret_cast<void*>(base), bytes, cudaMemcpyDeviceToHost));
  for (int round = 0; round < 3; ++round) {
    const std::size_t awake = freeBytes();
    DRIVER(cuMemUnmap, base, bytes);
    DRIVER(cuMemRelease, handle);
    if (check::throughRouse()) EXPECT(freeBytes() == awake + bytes);
    handle = create(bytes);
    map(base, bytes, handle);
    CHECK(cudaMemcpy(reinterpret_cast<void*>(base), saved.data(), bytes, cudaMemcpyHostToDevice));
    EXPECT(holds(base, bytes, 5));
  }
  DRIVER(cuMemUnmap, base, bytes);
  DRIVER(cuMemRelease, handle);
  DRIVER(cuMemAddressFree, base, bytes);
}

// Memory keeps what it holds for as long as it has a handle, wherever it is mapped.
void content() {
  const std::size_t bytes = 3 * piece;
  const CUdeviceptr base = reserve(16 * piece);
  const CUmemGenericAllocationHandle first = create(bytes), second = create(bytes);
  map(base, bytes, first);
  map(base + bytes, bytes, second);
  fill(base, bytes, 1);
  fill(base + bytes, bytes, 2'000'000);
  DRIVER(cuMemUnmap, base, 2 * bytes);
  map(base, bytes, first);
  EXPECT(holds(base, bytes, 1));
  DRIVER(cuMemUnmap, base, bytes);
  map(base, bytes, second);  // each where the other was
  map(base + bytes, bytes, first);
  EXPECT(holds(base, bytes, 2'000'000));
  EXPECT(holds(base + bytes, bytes, 1));
  fill(base + bytes, bytes, 77);
  DRIVER(cuMemUnmap, base + bytes, bytes);
  map(base + bytes + piece, bytes, first);  // shifted over itself
  EXPECT(holds(base + bytes + piece, bytes, 77));
  DRIVER(cuMemUnmap, base + bytes + piece, bytes);
  DRIVER(cuMemUnmap, base, bytes);
  DRIVER(cuMemAddressFree, base, 16 * piece);
  const CUdeviceptr other = reserve(bytes);
  map(other, bytes, second);
  EXPECT(holds(other, bytes, 2'000'000));
  DRIVER(cuMemUnmap, other, bytes);
  DRIVER(cuMemAddressFree, other, bytes);
  DRIVER(cuMemRelease, first);
  DRIVER(cuMemRelease, second);
}

// What other calls say of such memory.
void facts() {
  const CUdeviceptr base = reserve(8 * piece);
  const CUmemGenericAllocationHandle first = create(2 * piece), second = create(piece);
  map(base, 2 * piece, first);
  map(base + 2 * piece, piece, second);

  CUdeviceptr start = 0;
  std::size_t size = 0;
  int ordinal = -1;
  unsigned type = 0;
  DRIVER(cuPointerGetAttribute, &start, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, base + 2 * piece + 5);
  DRIVER(cuPointerGetAttribute, &size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, base + 2 * piece + 5);
  EXPECT(start == base + 2 * piece && size == piece);
  DRIVER(cuPointerGetAttribute, &start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, base + 2 * piece + 5);
  DRIVER(cuPointerGetAttribute, &size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + 2 * piece + 5);
  EXPECT(start == base && size == 8 * piece);
  DRIVER(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base);
  DRIVER(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base);
  EXPECT(ordinal == 0 && type == CU_MEMORYTYPE_DEVICE);
  unsigned exportable = 1;
  DRIVER(cuPointerGetAttribute, &exportable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, base);
  EXPECT(exportable == 0);
  cudaPointerAttributes attributes = {};
  CHECK(cudaPointerGetAttributes(&attributes, reinterpret_cast<void*>(base + piece)));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);

  CUmemGenericAllocationHandle found = 0;
  DRIVER(cuMemRetainAllocationHandle, &found, reinterpret_cast<void*>(base + 2 * piece - 1));
  EXPECT(found == first);
  DRIVER(cuMemRelease, found);
  CUmemAllocationProp properties = {};
  DRIVER(cuMemGetAllocationPropertiesFromHandle, &properties, second);
  EXPECT(properties.type == CU_MEM_ALLOCATION_TYPE_PINNED && properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties.location.id == 0);

  unsigned long long flags = 0;
  CUmemLocation here = {};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  DRIVER(cuMemGetAccess, &flags, &here, base + piece);
  EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  const CUmemAccessDesc reading = access(CU_MEM_ACCESS_FLAGS_PROT_READ);
  DRIVER(cuMemSetAccess, base, 2 * piece, &reading, 1);
  DRIVER(cuMemGetAccess, &flags, &here, base + piece);
  EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READ);
  DRIVER(cuMemGetAccess, &flags, &here, base + 2 * piece);
  EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(reinterpret_cast<void*>(base)));
  (void)cudaGetLastError();
  DRIVER(cuMemUnmap, base, 3 * piece);
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base);
  DRIVER(cuMemRelease, first);
  DRIVER(cuMemRelease, second);
  DRIVER(cuMemAddressFree, base, 8 * piece);
}

void refusals() {
  constexpr std::size_t kHuge = std::size_t{1} << 63;
  CUmemAllocationProp properties = deviceMemory();
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  std::size_t granularity = 0;
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &handle, piece + 512, &properties, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &handle, 0, &properties, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &handle, piece, &properties, 1);
  properties.location.id = 1000;
  DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuMemCreate, &handle, piece, &properties, 0);
  properties = {};
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity, &granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve, &address, 0, 0, 0, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve, &address, piece, 3, 0, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve, &address, piece, 0, 0, 1);
  DRIVER_ERROR(CUDA_ERROR_OUT_OF_MEMORY, cuMemAddressReserve, &address, kHuge, 0, 0, 0);

  const CUdeviceptr base = reserve(8 * piece);
  properties = deviceMemory();
  handle = create(2 * piece);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, base + piece / 2, piece, 0, handle, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, base, piece / 2, 0, handle, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, base, 0, 0, handle, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, base, 3 * piece, 0, handle, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, base, piece, 0, handle, 1);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemUnmap, base, piece);
  map(base, 2 * piece, handle);
  const CUmemGenericAllocationHandle other = create(2 * piece);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, base + piece, 2 * piece, 0, other, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree, base, 4 * piece);
  if (check::throughRouse()) {
    // What CUDA leaves open, or serves and Rouse does not.
    int stranger = 0;
    DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuMemMap, base + 4 * piece, 2 * piece, 0, handle, 0);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, base + 7 * piece, 2 * piece, 0, other, 0);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, base + 4 * piece, kHuge, 0, other, 0);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, reinterpret_cast<CUdeviceptr>(&stranger) / piece * piece, piece, 0, other, 0);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemMap, base + 4 * piece, piece, 0, 0x1234567, 0);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemUnmap, base, piece);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemUnmap, base, kHuge);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemRelease, 0x1234567);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree, base, 8 * piece);
    CUmemAccessDesc wanted = access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess, base, 4 * piece, &wanted, 1);
    wanted.flags = static_cast<CUmemAccess_flags>(2);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess, base, 2 * piece, &wanted, 1);
    wanted.location.id = 1000;
    wanted.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuMemSetAccess, base, 2 * piece, &wanted, 1);
    cudaIpcMemHandle_t shared;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaIpcGetMemHandle(&shared, reinterpret_cast<void*>(base)));
    (void)cudaGetLastError();
    int descriptor = -1;
    DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuMemExportToShareableHandle, &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    CUmemGenericAllocationHandle third = 0;
    DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate, &third, piece, &properties, 0);
    int value = -1;
    for (const CUdevice_attribute absent : {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED,
                                            CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED}) {
      DRIVER(cuDeviceGetAttribute, &value, absent, 0);
      EXPECT(value == 0);
    }
  }
  // Nothing of all that has changed what there was.
  fill(base, 2 * piece, 3);
  EXPECT(holds(base, 2 * piece, 3));
  DRIVER(cuMemRelease, handle);
  EXPECT(holds(base, 2 * piece, 3));
  DRIVER(cuMemUnmap, base, 2 * piece);
  DRIVER(cuMemRelease, other);
  DRIVER(cuMemAddressFree, base, 8 * piece);
}

// Through Rouse all that is free can be had, and not one piece more, whether it is mapped or not.
void exhaustion() {
  if (!check::throughRouse()) return;
  const std::size_t before = freeBytes(), all = before / piece * piece;
  const CUmemAllocationProp properties = deviceMemory();
  CUmemGenericAllocationHandle handle = 0, none = 0;
  DRIVER_ERROR(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate, &none, all + piece, &properties, 0);
  DRIVER_ERROR(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate, &none, std::size_t{1} << 62, &properties, 0);
  DRIVER(cuMemCreate, &handle, all, &properties, 0);
  DRIVER_ERROR(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate, &none, piece, &properties, 0);
  CUdeviceptr memory = 0;
  DRIVER_ERROR(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2, &memory, piece);
  // Reserved over and over, as PyTorch does for each stream.
  const CUdeviceptr base = reserve(all + all / 8 / piece * piece), more = reserve(all + all / 8 / piece * piece);
  map(more, all, handle);
  DRIVER_ERROR(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate, &none, piece, &properties, 0);
  DRIVER(cuMemUnmap, more, all);
  DRIVER_ERROR(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate, &none, piece, &properties, 0);
  DRIVER(cuMemRelease, handle);
  EXPECT(freeBytes() == before);
  DRIVER(cuMemAddressFree, base, all + all / 8 / piece * piece);
  DRIVER(cuMemAddressFree, more, all + all / 8 / piece * piece);
}

// Addresses are reserved for the device that is current; memory of another goes to addresses of its own, and copies go between the two.
void anotherDevice() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) return;
  const CUdeviceptr here = reserve(2 * piece);
  map(here, piece, create(piece));
  fill(here, piece, 10);
  CHECK(cudaSetDevice(1));
  const CUmemAllocationProp properties = deviceMemory(1);
  CUmemGenericAllocationHandle handle = 0;
  DRIVER(cuMemCreate, &handle, piece, &properties, 0);
  const CUdeviceptr there = reserve(2 * piece);
  DRIVER(cuMemMap, there, piece, 0, handle, 0);
  CUmemAccessDesc both = access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  if (check::throughRouse()) {
    DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuMemMap, here + piece, piece, 0, handle, 0);
    DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuMemSetAccess, there, piece, &both, 1);
  }
  both.location.id = 1;
  DRIVER(cuMemSetAccess, there, piece, &both, 1);
  CHECK(cudaMemcpy(reinterpret_cast<void*>(there), reinterpret_cast<void*>(here), piece, cudaMemcpyDefault));
  std::vector<unsigned> words(piece / 4), wanted(piece / 4);
  CHECK(cudaMemcpy(words.data(), reinterpret_cast<void*>(there), piece, cudaMemcpyDeviceToHost));
  std::iota(wanted.begin(), wanted.end(), 10);
  check::equal("copied to the other device", words, wanted);
  CUmemAllocationProp found = {};
  DRIVER(cuMemGetAllocationPropertiesFromHandle, &found, handle);
  EXPECT(found.location.id == 1);
  DRIVER(cuMemUnmap, there, piece);
  DRIVER(cuMemRelease, handle);
  DRIVER(cuMemAddressFree, there, 2 * piece);
  CHECK(cudaSetDevice(0));
  CUmemGenericAllocationHandle first = 0;
  DRIVER(cuMemRetainAllocationHandle, &first, reinterpret_cast<void*>(here));
  DRIVER(cuMemUnmap, here, piece);
  DRIVER(cuMemRelease, first);
  DRIVER(cuMemRelease, first);
  DRIVER(cuMemAddressFree, here, 2 * piece);
}

// Addresses to grow into, many times what memory there is: more than a small GPU's sixteenfold.
void roomyAddresses() {
  const std::size_t bytes = std::size_t{18} << 30;
  const CUdeviceptr base = reserve(bytes);
  const CUmemGenericAllocationHandle memory = create(piece);
  map(base + bytes - piece, piece, memory);
  fill(base + bytes - piece, piece, 5);
  EXPECT(holds(base + bytes - piece, piece, 5));
  DRIVER(cuMemUnmap, base + bytes - piece, piece);
  DRIVER(cuMemRelease, memory);
  DRIVER(cuMemAddressFree, base, bytes);
}

int main() {
  DRIVER(cuInit, 0);
  CHECK(cudaFree(nullptr));
  int served = 0;
  DRIVER(cuDeviceGetAttribute, &served, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
  EXPECT(served == 1);
  const CUmemAllocationProp properties = deviceMemory();
  DRIVER(cuMemGetAllocationGranularity, &piece, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  EXPECT(piece >= 4096 && (piece & (piece - 1)) == 0);
  holds(0, 0, 0);  // its own memory is there before any is counted
  growth();
  sleep();
  content();
  facts();
  refusals();
  anotherDevice();
  roomyAddresses();
  exhaustion();
  return check::done();
}
