// Memory by the driver API: device, page-locked, managed and pooled memory, what an address is, copies and fills of every shape, also by the names that
// programs with per-thread default streams call.
#include "driver.h"

#include <algorithm>
#include <numeric>

using Bytes = std::vector<unsigned char>;

CUdeviceptr at(void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr memory = 0;
  DRIVER(cuMemAlloc_v2, &memory, bytes);
  return memory;
}

Bytes numbers(std::size_t count, unsigned first) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(first + i * 7);
  return bytes;
}

Bytes read(CUdeviceptr memory, std::size_t count) {
  Bytes bytes(count);
  DRIVER(cuMemcpyDtoH_v2, bytes.data(), memory, count);
  return bytes;
}

void allocations() {
  const CUdeviceptr memory = allocate(10000);
  CUdeviceptr base = 0, pitched = 0;
  std::size_t size = 0, pitch = 0;
  DRIVER(cuMemGetAddressRange_v2, &base, &size, memory + 5000);
  EXPECT(base == memory && size >= 10000);
  DRIVER(cuMemGetAddressRange_v2, nullptr, &size, memory);
  int local = 0;
  DRIVER_ERROR(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2, &base, &size, at(&local));
  DRIVER(cuMemAllocPitch_v2, &pitched, &pitch, 1000, 10, 4);
  EXPECT(pitch >= 1000 && pitch % 32 == 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &pitched, &pitch, 1000, 10, 3);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &pitched, &pitch, 0, 10, 4);
  DRIVER(cuMemFree_v2, pitched);
  DRIVER(cuMemFree_v2, memory);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, memory);
}

void pinned() {
  void *plain = nullptr, *mapped = nullptr;
  unsigned flags = 0;
  DRIVER(cuMemAllocHost_v2, &plain, 4096);
  DRIVER(cuMemAllocHost_v2, &mapped, 0);
  DRIVER(cuMemHostAlloc, &mapped, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
  void* none = nullptr;  // what failed may be told to be null
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc, &none, 4096, 0x1000);
  DRIVER(cuMemHostGetFlags, &flags, mapped);
  EXPECT((flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0);
  CUdeviceptr device = 0;
  DRIVER(cuMemHostGetDevicePointer_v2, &device, mapped, 0);
  DRIVER(cuMemsetD8_v2, device, 0x5a, 4096);
  DRIVER(cuCtxSynchronize);
  EXPECT(static_cast<unsigned char*>(mapped)[4095] == 0x5a);
  DRIVER(cuMemFreeHost, plain);
  DRIVER(cuMemFreeHost, mapped);
  DRIVER(cuMemFreeHost, nullptr);

  void* own = std::aligned_alloc(4096, 16384);
  std::memset(own, 3, 16384);
  DRIVER(cuMemHostRegister_v2, own, 16384, CU_MEMHOSTREGISTER_DEVICEMAP);
  DRIVER_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister, own, 16384, 0);
  CUmemorytype type{};
  DRIVER(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(own));
  EXPECT(type == CU_MEMORYTYPE_HOST);
  DRIVER(cuMemHostUnregister, own);
  DRIVER_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister, own);
  DRIVER(cuMemHostRegister, own, 16384, 0);
  DRIVER(cuMemHostUnregister, own);
  std::free(own);
}

void managed() {
  CUdeviceptr memory = 0;
  const std::size_t bytes = std::size_t{4} << 20;
  CUmemLocation device{};
  device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemLocation host{};
  host.type = CU_MEM_LOCATION_TYPE_HOST;
  CUstream stream = nullptr;
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged, &memory, 0, CU_MEM_ATTACH_GLOBAL);
  DRIVER(cuMemAllocManaged, &memory, bytes, CU_MEM_ATTACH_GLOBAL);
  unsigned* words = reinterpret_cast<unsigned*>(memory);
  words[0] = 17;
  DRIVER(cuMemAdvise_v2, memory, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, device);
  DRIVER(cuMemAdvise, memory, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0);
  int mostly = 0, place = -9;
  DRIVER(cuMemRangeGetAttribute, &mostly, sizeof mostly, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, bytes);
  EXPECT(mostly == 1);
  void* data[] = {&mostly, &place};
  std::size_t sizes[] = {sizeof mostly, sizeof place};
  CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
  DRIVER(cuMemRangeGetAttributes, data, sizes, attributes, 2, memory, bytes);
  EXPECT(mostly == 1 && place == 0);
  DRIVER(cuMemAdvise, memory, bytes, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0);
  DRIVER(cuMemPrefetchAsync_v2, memory, bytes, device, 0, stream);
  DRIVER(cuMemPrefetchAsync_v2_ptsz, memory, bytes, host, 0, stream);
  DRIVER(cuMemPrefetchAsync, memory, bytes, 0, stream);
  DRIVER(cuMemPrefetchAsync_ptsz, memory, bytes, CU_DEVICE_CPU, stream);
  DRIVER(cuStreamAttachMemAsync, stream, memory, 0, CU_MEM_ATTACH_SINGLE);
  DRIVER(cuStreamAttachMemAsync_ptsz, stream, memory, 0, CU_MEM_ATTACH_GLOBAL);
  std::size_t whole = bytes, first = 0;
  DRIVER(cuMemPrefetchBatchAsync, &memory, &whole, 1, &device, &first, 1, 0, stream);
  DRIVER(cuMemPrefetchBatchAsync_ptsz, &memory, &whole, 1, &host, &first, 1, 0, stream);
  DRIVER(cuStreamSynchronize, stream);
  EXPECT(words[0] == 17);
  DRIVER(cuMemsetD32Async, memory, 4711, bytes / 4, stream);
  DRIVER(cuStreamSynchronize, stream);
  EXPECT(words[0] == 4711 && words[bytes / 4 - 1] == 4711);
  // From here on it may hold anything, until it is written.
  DRIVER(cuMemDiscardBatchAsync, &memory, &whole, 1, 0, stream);
  DRIVER(cuMemDiscardBatchAsync_ptsz, &memory, &whole, 1, 0, stream);
  DRIVER(cuMemDiscardAndPrefetchBatchAsync, &memory, &whole, 1, &device, &first, 1, 0, stream);
  DRIVER(cuMemDiscardAndPrefetchBatchAsync_ptsz, &memory, &whole, 1, &device, &first, 1, 0, stream);
  DRIVER(cuStreamSynchronize, stream);
  words[1] = 5;
  EXPECT(words[1] == 5);
  unsigned isManaged = 0;
  DRIVER(cuPointerGetAttribute, &isManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory);
  EXPECT(isManaged == 1);
  DRIVER(cuMemFree_v2, memory);
  DRIVER(cuStreamDestroy_v2, stream);
}

void pools() {
  CUmemoryPool standard = nullptr, pool = nullptr, found = nullptr;
  CUmemLocation device{};
  device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUstream stream = nullptr;
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuDeviceGetDefaultMemPool, &standard, 0);
  DRIVER(cuMemGetDefaultMemPool, &found, &device, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT(found == standard);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = device;
  DRIVER(cuMemPoolCreate, &pool, &properties);
  cuuint64_t keep = 1 << 20, told = 0;
  DRIVER(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
  DRIVER(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &told);
  EXPECT(told == keep);
  CUmemAccessDesc access{};
  access.location = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemAccess_flags flags{};
  DRIVER(cuMemPoolSetAccess, pool, &access, 1);
  DRIVER(cuMemPoolGetAccess, &flags, pool, &device);
  EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  DRIVER(cuDeviceSetMemPool, 0, pool);
  DRIVER(cuDeviceGetMemPool, &found, 0);
  EXPECT(found == pool);
  DRIVER(cuMemGetMemPool, &found, &device, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT(found == pool);

  CUdeviceptr one = 0, two = 0, three = 0, four = 0;
  DRIVER(cuMemAllocAsync, &one, 100000, stream);
  DRIVER(cuMemAllocAsync_ptsz, &two, 100000, stream);
  DRIVER(cuMemAllocFromPoolAsync, &three, 100000, standard, stream);
  DRIVER(cuMemAllocFromPoolAsync_ptsz, &four, 100000, pool, stream);
  CUdeviceptr none = 0;
  DRIVER(cuMemAllocAsync, &none, 0, stream);
  CUmemoryPool of = nullptr;
  DRIVER(cuPointerGetAttribute, &of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, one);
  EXPECT(of == pool);
  DRIVER(cuMemsetD8Async, one, 9, 100000, stream);
  DRIVER(cuMemFreeAsync, two, stream);
  DRIVER(cuMemFreeAsync_ptsz, three, stream);
  Bytes bytes(100000);
  DRIVER(cuMemcpyDtoHAsync_v2, bytes.data(), one, bytes.size(), stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("pooled", bytes, Bytes(100000, 9));
  DRIVER(cuMemFreeAsync, one, stream);
  DRIVER(cuMemFreeAsync, four, stream);
  DRIVER(cuStreamSynchronize, stream);
  DRIVER(cuMemPoolTrimTo, pool, 0);
  DRIVER(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &told);
  EXPECT(told == 0);
  DRIVER(cuMemSetMemPool, &device, CU_MEM_ALLOCATION_TYPE_PINNED, standard);
  DRIVER(cuMemPoolDestroy, pool);
  cuuint64_t used = 1, reset = 0;
  DRIVER(cuDeviceGetGraphMemAttribute, 0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used);
  EXPECT(used == 0);
  DRIVER(cuDeviceSetGraphMemAttribute, 0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &reset);
  DRIVER(cuDeviceGraphMemTrim, 0);
  DRIVER(cuStreamDestroy_v2, stream);
}

void addresses() {
  const CUdeviceptr memory = allocate(10000);
  CUdeviceptr start = 0, device = 0;
  std::size_t size = 0;
  unsigned long long id = 0, same = 0;
  unsigned mapped = 0;
  int ordinal = -1, local = 0;
  DRIVER(cuPointerGetAttribute, &start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory + 100);
  DRIVER(cuPointerGetAttribute, &size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, memory + 100);
  DRIVER(cuPointerGetAttribute, &device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory + 100);
  DRIVER(cuPointerGetAttribute, &id, CU_POINTER_ATTRIBUTE_BUFFER_ID, memory + 100);
  DRIVER(cuPointerGetAttribute, &same, CU_POINTER_ATTRIBUTE_BUFFER_ID, memory);
  DRIVER(cuPointerGetAttribute, &mapped, CU_POINTER_ATTRIBUTE_MAPPED, memory);
  EXPECT(start == memory && size >= 10000 && device == memory + 100 && id == same && mapped == 1);
  void* host = nullptr;
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory);

  CUmemorytype type = CU_MEMORYTYPE_HOST;
  CUcontext context = nullptr, current = nullptr;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* data[] = {&type, &context, &ordinal, &host};
  host = &local;
  DRIVER(cuPointerGetAttributes, 4, attributes, data, memory);
  DRIVER(cuCtxGetCurrent, &current);
  EXPECT(type == CU_MEMORYTYPE_DEVICE && context == current && ordinal == 0 && host == nullptr);
  DRIVER(cuPointerGetAttributes, 2, attributes, data, at(&local));
  EXPECT(static_cast<int>(type) == 0 && context == nullptr);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes, 0, attributes, data, memory);
  DRIVER(cuMemFree_v2, memory);
}

void flatCopies() {
  const std::size_t n = 5000;
  const Bytes first = numbers(n, 1), second = numbers(n, 90), third = numbers(n, 33), fourth = numbers(n, 55);
  const CUdeviceptr a = allocate(n), b = allocate(n);
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuCtxGetCurrent, &context);
  const auto host = [](const Bytes& bytes) { return at(const_cast<unsigned char*>(bytes.data())); };

  DRIVER(cuMemcpy, a, host(first), n);
  check::equal("cuMemcpy", read(a, n), first);
  DRIVER(cuMemcpy_ptds, a, host(second), n);
  DRIVER(cuMemcpy_ptds, b, a, n);
  DRIVER(cuStreamSynchronize_ptsz, nullptr);
  check::equal("cuMemcpy_ptds", read(b, n), second);
  DRIVER(cuMemcpyAsync, a, host(third), n, stream);
  DRIVER(cuMemcpyAsync_ptsz, b, a, n, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("cuMemcpyAsync", read(b, n), third);

  Bytes back(n);
  DRIVER(cuMemcpyHtoD_v2_ptds, a, first.data(), n);
  DRIVER(cuMemcpyDtoD_v2_ptds, b, a, n);
  DRIVER(cuMemcpyDtoH_v2_ptds, back.data(), b, n);
  check::equal("_ptds", back, first);
  DRIVER(cuMemcpyHtoDAsync_v2_ptsz, a, second.data(), n, stream);
  DRIVER(cuMemcpyDtoDAsync_v2_ptsz, b, a, n, stream);
  DRIVER(cuMemcpyDtoHAsync_v2_ptsz, back.data(), b, n, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("_ptsz", back, second);

  DRIVER(cuMemcpyHtoD_v2, a, third.data(), n);
  DRIVER(cuMemcpyPeer, b, context, a, context, n);
  check::equal("cuMemcpyPeer", read(b, n), third);
  DRIVER(cuMemcpyHtoD_v2, a, fourth.data(), n);
  DRIVER(cuMemcpyPeer_ptds, b, context, a, context, n);
  DRIVER(cuStreamSynchronize_ptsz, nullptr);
  check::equal("cuMemcpyPeer_ptds", read(b, n), fourth);
  DRIVER(cuMemcpyHtoD_v2, a, first.data(), n);
  DRIVER(cuCtxSynchronize);
  DRIVER(cuMemcpyPeerAsync, b, context, a, context, n / 2, stream);
  DRIVER(cuMemcpyPeerAsync_ptsz, b + n / 2, context, a + n / 2, context, n - n / 2, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("cuMemcpyPeerAsync", read(b, n), first);
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer, b, reinterpret_cast<CUcontext>(8), a, context, n);

  CUdeviceptr to[] = {a, a + n / 2}, from[] = {b + n / 2, b};
  std::size_t sizes[] = {n / 2, n / 2}, index = 0, failed = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  Bytes turned(first.begin() + n / 2, first.end());
  turned.insert(turned.end(), first.begin(), first.begin() + n / 2);
  DRIVER(cuMemcpyBatchAsync_v2, to, from, sizes, 2, &attributes, &index, 1, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("cuMemcpyBatchAsync_v2", read(a, n), turned);
  DRIVER(cuMemcpyHtoD_v2, a, third.data(), n);
  DRIVER(cuCtxSynchronize);
  DRIVER(cuMemcpyBatchAsync, to, from, sizes, 1, &attributes, &index, 1, &failed, stream);
  DRIVER(cuMemcpyBatchAsync_ptsz, to + 1, from + 1, sizes, 1, &attributes, &index, 1, &failed, stream);
  DRIVER(cuStreamSynchronize, stream);
  check::equal("cuMemcpyBatchAsync", read(a, n), turned);
  DRIVER(cuMemcpyBatchAsync_v2_ptsz, from, to, sizes, 1, &attributes, &index, 1, stream);
  DRIVER(cuStreamSynchronize, stream);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync, to, from, sizes, 0, &attributes, &index, 1, &failed, stream);
  EXPECT(failed == SIZE_MAX);

  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, a, first.data(), std::size_t{1} << 40);
  DRIVER(cuStreamDestroy_v2, stream);
  DRIVER(cuMemFree_v2, a);
  DRIVER(cuMemFree_v2, b);
}

// A plane of 20 × 9 bytes at (3, 2) of a host's plane of 64 bytes a row goes to (8, 1) of a device's of 96, and comes back to (0, 0) of one of 20.
template <class Copy>
void plane(const char* name, Copy copy) {
  const std::size_t width = 20, height = 9;
  const Bytes host = numbers(64 * 16, 5);
  const CUdeviceptr device = allocate(96 * 16);
  DRIVER(cuMemsetD8_v2, device, 0xee, 96 * 16);
  DRIVER(cuCtxSynchronize);
  Bytes back(width * height), wanted;
  for (std::size_t y = 0; y < height; ++y)
    wanted.insert(wanted.end(), host.begin() + 64 * (y + 2) + 3, host.begin() + 64 * (y + 2) + 3 + width);
  CUDA_MEMCPY2D_v2 there{};
  there.srcMemoryType = CU_MEMORYTYPE_HOST;
  there.srcHost = host.data();
  there.srcPitch = 64;
  there.srcXInBytes = 3;
  there.srcY = 2;
  there.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  there.dstDevice = device;
  there.dstPitch = 96;
  there.dstXInBytes = 8;
  there.dstY = 1;
  there.WidthInBytes = width;
  there.Height = height;
  copy(there);
  CUDA_MEMCPY2D_v2 here{};
  here.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  here.srcDevice = device;
  here.srcPitch = 96;
  here.srcXInBytes = 8;
  here.srcY = 1;
  here.dstMemoryType = CU_MEMORYTYPE_HOST;
  here.dstHost = back.data();
  here.dstPitch = width;
  here.WidthInBytes = width;
  here.Height = height;
  copy(here);
  check::equal(name, back, wanted);
  EXPECT(read(device, 1)[0] == 0xee);
  DRIVER(cuMemFree_v2, device);
}

// A box of 12 × 5 × 3 bytes.
template <class Kind, class Copy>
void box(const char* name, const Kind& named, Copy copy) {
  const std::size_t width = 12, height = 5, depth = 3;
  const Bytes host = numbers(16 * 8 * 4, 11);
  const CUdeviceptr device = allocate(32 * 6 * 4);
  Bytes back(width * height * depth), wanted;
  for (std::size_t z = 0; z < depth; ++z)
    for (std::size_t y = 0; y < height; ++y) {
      const auto row = host.begin() + 16 * (8 * (z + 1) + y + 2) + 4;
      wanted.insert(wanted.end(), row, row + width);
    }
  Kind there = named;
  there.srcMemoryType = CU_MEMORYTYPE_HOST;
  there.srcHost = host.data();
  there.srcPitch = 16;
  there.srcHeight = 8;
  there.srcXInBytes = 4;
  there.srcY = 2;
  there.srcZ = 1;
  there.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  there.dstDevice = device;
  there.dstPitch = 32;
  there.dstHeight = 6;
  there.dstY = 1;
  there.WidthInBytes = width;
  there.Height = height;
  there.Depth = depth;
  copy(there);
  Kind here = named;
  here.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  here.srcDevice = device;
  here.srcPitch = 32;
  here.srcHeight = 6;
  here.srcY = 1;
  here.dstMemoryType = CU_MEMORYTYPE_HOST;
  here.dstHost = back.data();
  here.dstPitch = width;
  here.dstHeight = height;
  here.WidthInBytes = width;
  here.Height = height;
  here.Depth = depth;
  copy(here);
  check::equal(name, back, wanted);
  DRIVER(cuMemFree_v2, device);
}

void boxes() {
  CUstream stream = nullptr;
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  const auto wait = [&] { DRIVER(cuStreamSynchronize, stream); };
  const auto waitOwn = [] { DRIVER(cuStreamSynchronize_ptsz, nullptr); };
  using Plane = const CUDA_MEMCPY2D_v2&;
  using Box = const CUDA_MEMCPY3D_v2&;
  using Peers = const CUDA_MEMCPY3D_PEER_v1&;
  plane("cuMemcpy2D_v2", [](Plane p) { DRIVER(cuMemcpy2D_v2, &p); });
  plane("cuMemcpy2D_v2_ptds", [&](Plane p) { DRIVER(cuMemcpy2D_v2_ptds, &p), waitOwn(); });
  plane("cuMemcpy2DUnaligned_v2", [](Plane p) { DRIVER(cuMemcpy2DUnaligned_v2, &p); });
  plane("cuMemcpy2DUnaligned_v2_ptds", [&](Plane p) { DRIVER(cuMemcpy2DUnaligned_v2_ptds, &p), waitOwn(); });
  plane("cuMemcpy2DAsync_v2", [&](Plane p) { DRIVER(cuMemcpy2DAsync_v2, &p, stream), wait(); });
  plane("cuMemcpy2DAsync_v2_ptsz", [&](Plane p) { DRIVER(cuMemcpy2DAsync_v2_ptsz, &p, nullptr), waitOwn(); });
  const CUDA_MEMCPY3D_v2 none{};
  box("cuMemcpy3D_v2", none, [](Box b) { DRIVER(cuMemcpy3D_v2, &b); });
  box("cuMemcpy3D_v2_ptds", none, [&](Box b) { DRIVER(cuMemcpy3D_v2_ptds, &b), waitOwn(); });
  box("cuMemcpy3DAsync_v2", none, [&](Box b) { DRIVER(cuMemcpy3DAsync_v2, &b, stream), wait(); });
  box("cuMemcpy3DAsync_v2_ptsz", none, [&](Box b) { DRIVER(cuMemcpy3DAsync_v2_ptsz, &b, stream), wait(); });
  CUDA_MEMCPY3D_PEER_v1 peers{};
  DRIVER(cuCtxGetCurrent, &peers.srcContext);
  peers.dstContext = peers.srcContext;
  box("cuMemcpy3DPeer", peers, [](Peers b) { DRIVER(cuMemcpy3DPeer, &b); });
  box("cuMemcpy3DPeer_ptds", peers, [&](Peers b) { DRIVER(cuMemcpy3DPeer_ptds, &b), waitOwn(); });
  box("cuMemcpy3DPeerAsync", peers, [&](Peers b) { DRIVER(cuMemcpy3DPeerAsync, &b, stream), wait(); });
  box("cuMemcpy3DPeerAsync_ptsz", peers, [&](Peers b) { DRIVER(cuMemcpy3DPeerAsync_ptsz, &b, stream), wait(); });

  CUDA_MEMCPY2D_v2 wrong{};
  Bytes bytes(100);
  const CUdeviceptr device = allocate(100);
  wrong.srcMemoryType = CU_MEMORYTYPE_HOST;
  wrong.srcHost = bytes.data();
  wrong.srcPitch = 10;
  wrong.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  wrong.dstDevice = device;
  wrong.dstPitch = 20;
  wrong.WidthInBytes = 20;
  wrong.Height = 2;
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &wrong);
  wrong.srcPitch = 20;
  wrong.srcMemoryType = static_cast<CUmemorytype>(9);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &wrong);
  DRIVER(cuMemFree_v2, device);
  DRIVER(cuStreamDestroy_v2, stream);
}

// A fill of rows 7 elements wide and 40 bytes apart, beginning with the third.
template <class Element, class Fill>
void filledRows(const char* name, Fill fill) {
  const std::size_t rows = 5, pitch = 40;
  const CUdeviceptr memory = allocate(pitch * 8);
  DRIVER(cuMemsetD8_v2, memory, 0x11, pitch * 8);
  DRIVER(cuCtxSynchronize);
  const Element value = static_cast<Element>(0x89abcdef);
  Bytes wanted(pitch * 8, 0x11);
  for (std::size_t y = 0; y < rows; ++y)
    for (std::size_t x = 0; x < 7; ++x) std::memcpy(&wanted[pitch * (y + 1) + (x + 2) * sizeof value], &value, sizeof value);
  fill(memory + pitch + 2 * sizeof value, pitch, value, 7, rows);
  check::equal(name, read(memory, pitch * 8), wanted);
  DRIVER(cuMemFree_v2, memory);
}

template <class Element, class Fill>
void filled(const char* name, Fill fill) {
  const std::size_t n = 333;
  const CUdeviceptr memory = allocate((n + 2) * sizeof(Element));
  DRIVER(cuMemsetD8_v2, memory, 0x22, (n + 2) * sizeof(Element));
  DRIVER(cuCtxSynchronize);
  const Element value = static_cast<Element>(0x76543218);
  Bytes wanted((n + 2) * sizeof value, 0x22);
  for (std::size_t i = 0; i < n; ++i) std::memcpy(&wanted[(i + 1) * sizeof value], &value, sizeof value);
  fill(memory + sizeof value, value, n);
  check::equal(name, read(memory, wanted.size()), wanted);
  DRIVER(cuMemFree_v2, memory);
}

void fills() {
  using D = CUdeviceptr;
  using N = std::size_t;
  using U8 = unsigned char;
  using U16 = unsigned short;
  using U32 = unsigned;
  CUstream stream = nullptr;
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  const auto wait = [&] { DRIVER(cuStreamSynchronize, stream); };
  const auto own = [] { DRIVER(cuStreamSynchronize_ptsz, nullptr); };
  filled<U8>("cuMemsetD8_v2", [](D d, U8 v, N n) { DRIVER(cuMemsetD8_v2, d, v, n); });
  filled<U16>("cuMemsetD16_v2", [](D d, U16 v, N n) { DRIVER(cuMemsetD16_v2, d, v, n); });
  filled<U32>("cuMemsetD32_v2", [](D d, U32 v, N n) { DRIVER(cuMemsetD32_v2, d, v, n); });
  filled<U8>("cuMemsetD8_v2_ptds", [&](D d, U8 v, N n) { DRIVER(cuMemsetD8_v2_ptds, d, v, n), own(); });
  filled<U16>("cuMemsetD16_v2_ptds", [&](D d, U16 v, N n) { DRIVER(cuMemsetD16_v2_ptds, d, v, n), own(); });
  filled<U32>("cuMemsetD32_v2_ptds", [&](D d, U32 v, N n) { DRIVER(cuMemsetD32_v2_ptds, d, v, n), own(); });
  filled<U8>("cuMemsetD8Async", [&](D d, U8 v, N n) { DRIVER(cuMemsetD8Async, d, v, n, stream), wait(); });
  filled<U16>("cuMemsetD16Async", [&](D d, U16 v, N n) { DRIVER(cuMemsetD16Async, d, v, n, stream), wait(); });
  filled<U32>("cuMemsetD32Async", [&](D d, U32 v, N n) { DRIVER(cuMemsetD32Async, d, v, n, stream), wait(); });
  filled<U8>("cuMemsetD8Async_ptsz", [&](D d, U8 v, N n) { DRIVER(cuMemsetD8Async_ptsz, d, v, n, nullptr), own(); });
  filled<U16>("cuMemsetD16Async_ptsz", [&](D d, U16 v, N n) { DRIVER(cuMemsetD16Async_ptsz, d, v, n, nullptr), own(); });
  for (const unsigned flags : {unsigned{CU_STREAM_WRITE_VALUE_DEFAULT}, unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}}) {
    filled<U32>("cuStreamWriteValue32_v2", [&](D d, U32 v, N n) {
      for (N i = 0; i < n; ++i) DRIVER(cuStreamWriteValue32_v2, stream, d + 4 * i, v, flags);
      wait();
    });
    filled<U32>("cuStreamWriteValue32_v2_ptsz", [&](D d, U32 v, N n) {
      for (N i = 0; i < n; ++i) DRIVER(cuStreamWriteValue32_v2_ptsz, nullptr, d + 4 * i, v, flags);
      own();
    });
    filled<U32>("cuStreamWriteValue32", [&](D d, U32 v, N n) {
      for (N i = 0; i < n; ++i) DRIVER(cuStreamWriteValue32, stream, d + 4 * i, v, flags);
      wait();
    });
    filled<U32>("cuStreamWriteValue32_ptsz", [&](D d, U32 v, N n) {
      for (N i = 0; i < n; ++i) DRIVER(cuStreamWriteValue32_ptsz, nullptr, d + 4 * i, v, flags);
      own();
    });
  }
  filled<U32>("cuMemsetD32Async_ptsz", [&](D d, U32 v, N n) { DRIVER(cuMemsetD32Async_ptsz, d, v, n, nullptr), own(); });
  filledRows<U8>("cuMemsetD2D8_v2", [](D d, N p, U8 v, N w, N h) { DRIVER(cuMemsetD2D8_v2, d, p, v, w, h); });
  filledRows<U16>("cuMemsetD2D16_v2", [](D d, N p, U16 v, N w, N h) { DRIVER(cuMemsetD2D16_v2, d, p, v, w, h); });
  filledRows<U32>("cuMemsetD2D32_v2", [](D d, N p, U32 v, N w, N h) { DRIVER(cuMemsetD2D32_v2, d, p, v, w, h); });
  filledRows<U8>("cuMemsetD2D8_v2_ptds", [&](D d, N p, U8 v, N w, N h) { DRIVER(cuMemsetD2D8_v2_ptds, d, p, v, w, h), own(); });
  filledRows<U16>("cuMemsetD2D16_v2_ptds", [&](D d, N p, U16 v, N w, N h) { DRIVER(cuMemsetD2D16_v2_ptds, d, p, v, w, h), own(); });
  filledRows<U32>("cuMemsetD2D32_v2_ptds", [&](D d, N p, U32 v, N w, N h) { DRIVER(cuMemsetD2D32_v2_ptds, d, p, v, w, h), own(); });
  filledRows<U8>("cuMemsetD2D8Async", [&](D d, N p, U8 v, N w, N h) { DRIVER(cuMemsetD2D8Async, d, p, v, w, h, stream), wait(); });
  filledRows<U16>("cuMemsetD2D16Async", [&](D d, N p, U16 v, N w, N h) { DRIVER(cuMemsetD2D16Async, d, p, v, w, h, stream), wait(); });
  filledRows<U32>("cuMemsetD2D32Async", [&](D d, N p, U32 v, N w, N h) { DRIVER(cuMemsetD2D32Async, d, p, v, w, h, stream), wait(); });
  filledRows<U8>("cuMemsetD2D8Async_ptsz", [&](D d, N p, U8 v, N w, N h) { DRIVER(cuMemsetD2D8Async_ptsz, d, p, v, w, h, nullptr), own(); });
  filledRows<U16>("cuMemsetD2D16Async_ptsz", [&](D d, N p, U16 v, N w, N h) { DRIVER(cuMemsetD2D16Async_ptsz, d, p, v, w, h, nullptr), own(); });
  filledRows<U32>("cuMemsetD2D32Async_ptsz", [&](D d, N p, U32 v, N w, N h) { DRIVER(cuMemsetD2D32Async_ptsz, d, p, v, w, h, nullptr), own(); });
  const D memory = allocate(256);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemsetD16_v2, memory + 1, 1, 4);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2, memory + 2, 1, 4);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32_v2, memory, 18, 1, 4, 2);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32_v2, memory, 8, 1, 4, 2);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2, memory, 1, std::size_t{1} << 40);
  DRIVER(cuMemFree_v2, memory);
  DRIVER(cuStreamDestroy_v2, stream);
}

int main() {
  CUcontext context = nullptr;
  DRIVER(cuInit, 0);
  DRIVER(cuCtxCreate_v2, &context, 0, 0);
  allocations();
  pinned();
  managed();
  pools();
  addresses();
  flatCopies();
  boxes();
  fills();
  DRIVER(cuCtxDestroy_v2, context);
  return check::done();
}
