// Arrays, textures and surfaces by the driver API: made, described, copied in every direction, fetched from and stored to.
#include "driver.h"

__global__ void fetchFloats(cudaTextureObject_t texture, float* to, int width, int height) {
  for (int y = 0; y < height; ++y)
    for (int x = threadIdx.x; x < width; x += blockDim.x) to[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}

__global__ void fetchIntegers(cudaTextureObject_t texture, unsigned* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = tex1Dfetch<unsigned char>(texture, i);
}

__global__ void store(cudaSurfaceObject_t surface, int width, int height) {
  for (int y = 0; y < height; ++y)
    for (int x = threadIdx.x; x < width; x += blockDim.x) surf2Dwrite(100.0f * y + x, surface, x * 4, y);
}

CUarray plane(std::size_t width, std::size_t height, CUarray_format format, unsigned channels, unsigned flags) {
  CUarray array = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR_v2 wanted{};
  wanted.Width = width;
  wanted.Height = height;
  wanted.Format = format;
  wanted.NumChannels = channels;
  wanted.Flags = flags;
  DRIVER(cuArray3DCreate_v2, &array, &wanted);
  return array;
}

void described() {
  CUarray flat = nullptr, level = nullptr;
  CUmipmappedArray levels = nullptr;
  CUDA_ARRAY_DESCRIPTOR_v2 wanted{}, found{};
  wanted.Width = 100;
  wanted.Height = 20;
  wanted.Format = CU_AD_FORMAT_HALF;
  wanted.NumChannels = 4;
  DRIVER(cuArrayCreate_v2, &flat, &wanted);
  DRIVER(cuArrayGetDescriptor_v2, &found, flat);
  EXPECT(found.Width == 100 && found.Height == 20 && found.Format == CU_AD_FORMAT_HALF && found.NumChannels == 4);
  wanted.NumChannels = 3;
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2, &level, &wanted);
  DRIVER(cuArrayDestroy, flat);
  if (check::throughRouse()) {
    DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy, flat);
    wanted.Format = CU_AD_FORMAT_NV12;
    wanted.NumChannels = 1;
    DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuArrayCreate_v2, &flat, &wanted);
  }
  CUDA_ARRAY3D_DESCRIPTOR_v2 mip{}, same{};
  mip.Width = 64;
  mip.Height = 32;
  mip.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  mip.NumChannels = 1;
  DRIVER(cuMipmappedArrayCreate, &levels, &mip, 3);
  DRIVER(cuMipmappedArrayGetLevel, &level, levels, 2);
  DRIVER(cuArray3DGetDescriptor_v2, &same, level);
  EXPECT(same.Width == 16 && same.Height == 8 && same.Format == CU_AD_FORMAT_UNSIGNED_INT8 && same.NumChannels == 1);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel, &level, levels, 3);
  DRIVER(cuMipmappedArrayDestroy, levels);
}

void copies() {
  const std::size_t n = 256;
  std::vector<unsigned char> from(n), to(n);
  for (std::size_t i = 0; i < n; ++i) from[i] = static_cast<unsigned char>(i * 11 + 3);
  const CUarray one = plane(n, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0), two = plane(n, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0);
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  DRIVER(cuMemAlloc_v2, &memory, n);
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  const auto arrived = [&](const char* name, const std::vector<unsigned char>& wanted) {
    DRIVER(cuStreamSynchronize, stream);
    DRIVER(cuStreamSynchronize_ptsz, nullptr);
    check::equal(name, to, wanted);
    to.assign(n, 0);
  };
  DRIVER(cuMemcpyHtoA_v2, one, 0, from.data(), n);
  DRIVER(cuMemcpyAtoH_v2, to.data(), one, 0, n);
  arrived("there and back", from);
  DRIVER(cuMemcpyAtoA_v2, two, 16, one, 0, n - 16);
  DRIVER(cuMemcpyAtoD_v2, memory, two, 16, n - 16);
  DRIVER(cuMemcpyDtoH_v2, to.data(), memory, n - 16);
  std::vector<unsigned char> shorter(from.begin(), from.end() - 16);
  shorter.resize(n);
  arrived("between arrays", shorter);
  DRIVER(cuMemsetD8_v2, memory, 0x77, n);
  DRIVER(cuMemcpyDtoA_v2, one, 0, memory, n);
  DRIVER(cuMemcpyAtoHAsync_v2, to.data(), one, 0, n, nullptr);
  DRIVER(cuStreamSynchronize, nullptr);
  arrived("from memory", std::vector<unsigned char>(n, 0x77));
  DRIVER(cuMemcpyHtoAAsync_v2, one, 0, from.data(), n, stream);
  DRIVER(cuMemcpyAtoHAsync_v2_ptsz, to.data(), one, 0, n, stream);
  arrived("in a stream", from);
  DRIVER(cuMemcpyHtoAAsync_v2_ptsz, two, 0, from.data(), n, nullptr);
  DRIVER(cuMemcpyAtoD_v2_ptds, memory, two, 0, n);
  DRIVER(cuMemcpyDtoA_v2_ptds, one, 0, memory, n);
  DRIVER(cuMemcpyAtoA_v2_ptds, two, 0, one, 0, n);
  DRIVER(cuMemcpyHtoA_v2_ptds, two, 0, from.data(), 8);
  DRIVER(cuMemcpyAtoH_v2_ptds, to.data(), two, 0, n);
  arrived("in the thread's own stream", from);

  // Offsets are bytes; of elements there are only whole ones, and not beyond the end.
  const CUarray wide = plane(16, 4, CU_AD_FORMAT_FLOAT, 1, 0);
  CUDA_MEMCPY2D_v2 copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from.data();
  copy.srcPitch = 64;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = wide;
  copy.dstXInBytes = 8;
  copy.dstY = 1;
  copy.WidthInBytes = 24;
  copy.Height = 3;
  DRIVER(cuMemcpy2D_v2, &copy);
  CUDA_MEMCPY3D_v2 back{};
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = wide;
  back.srcXInBytes = 12;
  back.srcY = 2;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = to.data();
  back.dstPitch = 20;
  back.dstHeight = 2;
  back.WidthInBytes = 20;
  back.Height = 2;
  back.Depth = 1;
  DRIVER(cuMemcpy3D_v2, &back);
  std::vector<unsigned char> wanted(n);
  for (int y = 0; y < 2; ++y) std::memcpy(&wanted[20 * y], &from[64 * (y + 1) + 4], 20);
  arrived("a part of a plane", wanted);
  copy.WidthInBytes = 22;
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &copy);
  copy.WidthInBytes = 60;
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &copy);
  DRIVER(cuArrayDestroy, wide);
  DRIVER(cuArrayDestroy, one);
  DRIVER(cuArrayDestroy, two);
  DRIVER(cuMemFree_v2, memory);
  DRIVER(cuStreamDestroy_v2, stream);
}

void fetched() {
  const int width = 32, height = 16;
  const CUarray array = plane(width, height, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
  CUDA_RESOURCE_DESC_v1 resource{}, found{};
  CUDA_TEXTURE_DESC_v1 texture{}, same{};
  CUDA_RESOURCE_VIEW_DESC_v1 view{}, seen{};
  CUtexObject object = 0;
  CUsurfObject surface = 0;
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  texture.addressMode[0] = texture.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
  texture.filterMode = CU_TR_FILTER_MODE_POINT;
  view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;  // the array's own; CU_RES_VIEW_FORMAT_NONE is refused by NVIDIA's driver
  view.width = width;
  view.height = height;
  DRIVER(cuTexObjectCreate, &object, &resource, &texture, &view);
  DRIVER(cuSurfObjectCreate, &surface, &resource);
  DRIVER(cuTexObjectGetResourceDesc, &found, object);
  EXPECT(found.resType == CU_RESOURCE_TYPE_ARRAY && found.res.array.hArray == array);
  DRIVER(cuTexObjectGetTextureDesc, &same, object);
  EXPECT(same.addressMode[0] == CU_TR_ADDRESS_MODE_CLAMP && same.filterMode == CU_TR_FILTER_MODE_POINT && (same.flags & CU_TRSF_NORMALIZED_COORDINATES) == 0);
  DRIVER(cuTexObjectGetResourceViewDesc, &seen, object);
  EXPECT(seen.format == CU_RES_VIEW_FORMAT_FLOAT_1X32 && seen.width == width);
  DRIVER(cuSurfObjectGetResourceDesc, &found, surface);
  EXPECT(found.res.array.hArray == array);
  store<<<1, 32>>>(surface, width, height);
  float* result = nullptr;
  CHECK(cudaMalloc(&result, width * height * sizeof(float)));
  fetchFloats<<<1, 32>>>(object, result, width, height);
  std::vector<float> got(width * height), wanted(width * height);
  CHECK(cudaMemcpy(got.data(), result, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < width * height; ++i) wanted[i] = 100.0f * (i / width) + i % width;
  check::equal("stored and fetched", got, wanted);
  DRIVER(cuTexObjectDestroy, object);
  DRIVER(cuSurfObjectDestroy, surface);
  DRIVER(cuArrayDestroy, array);
  CHECK(cudaFree(result));

  // Memory as bytes: integers where that is asked for.
  CUdeviceptr bytes = 0;
  unsigned* integers = nullptr;
  DRIVER(cuMemAlloc_v2, &bytes, 512);
  DRIVER(cuMemsetD8_v2, bytes, 201, 512);
  resource = {};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = bytes;
  resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT8;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = 512;
  texture = {};
  texture.flags = CU_TRSF_READ_AS_INTEGER;
  DRIVER(cuTexObjectCreate, &object, &resource, &texture, nullptr);
  DRIVER(cuTexObjectGetTextureDesc, &same, object);
  EXPECT((same.flags & CU_TRSF_READ_AS_INTEGER) != 0);
  DRIVER(cuTexObjectGetResourceDesc, &found, object);
  EXPECT(found.res.linear.devPtr == bytes && found.res.linear.format == CU_AD_FORMAT_UNSIGNED_INT8 && found.res.linear.sizeInBytes == 512);
  CHECK(cudaMalloc(&integers, 512 * sizeof(unsigned)));
  fetchIntegers<<<1, 64>>>(object, integers, 512);
  std::vector<unsigned> numbers(512);
  CHECK(cudaMemcpy(numbers.data(), integers, 512 * sizeof(unsigned), cudaMemcpyDeviceToHost));
  check::equal("bytes", numbers, std::vector<unsigned>(512, 201));
  DRIVER(cuTexObjectDestroy, object);
  resource.flags = 1;
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate, &object, &resource, &texture, nullptr);
  DRIVER(cuMemFree_v2, bytes);
  CHECK(cudaFree(integers));
}

// What a context ends with: arrays and objects, too, whoever still has them.
void ended() {
  CUcontext context = nullptr;
  DRIVER(cuCtxCreate_v2, &context, 0, 0);
  const CUarray array = plane(64, 64, CU_AD_FORMAT_FLOAT, 1, 0);
  CUDA_RESOURCE_DESC_v1 resource{};
  CUDA_TEXTURE_DESC_v1 texture{};
  CUtexObject object = 0;
  CUmipmappedArray levels = nullptr;
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  DRIVER(cuTexObjectCreate, &object, &resource, &texture, nullptr);
  CUDA_ARRAY3D_DESCRIPTOR_v2 mip{};
  mip.Width = mip.Height = 32;
  mip.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  mip.NumChannels = 1;
  DRIVER(cuMipmappedArrayCreate, &levels, &mip, 2);
  DRIVER(cuCtxDestroy_v2, context);
  if (!check::throughRouse()) return;
  CUDA_ARRAY3D_DESCRIPTOR_v2 gone{};
  CUarray level = nullptr;
  DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuArray3DGetDescriptor_v2, &gone, array);
  DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuMipmappedArrayGetLevel, &level, levels, 0);
}

int main() {
  CUcontext context = nullptr;
  DRIVER(cuInit, 0);
  DRIVER(cuDevicePrimaryCtxRetain, &context, 0);
  DRIVER(cuCtxSetCurrent, context);
  described();
  copies();
  fetched();
  ended();
  return check::done();
}
