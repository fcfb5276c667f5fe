#include "server/device/cuda/textures.h"

#include <algorithm>
#include <cstring>

#include "server/device/cuda/lanes.h"

namespace rouse::cuda {
namespace {

using wire::TextureLevel;
using wire::TextureObject;
using wire::TextureShape;
using wire::TextureSource;

// What stays free on the GPU for the driver's own.
constexpr std::uint64_t kLeftBytes = std::uint64_t{128} << 20;

std::uint32_t texelBytes(const TextureObject& t) { return t.channels * t.channelBits / 8; }

std::uint64_t planesOf(const TextureObject& t, const TextureLevel& level) {
  if (t.shape == TextureShape::cube) return 6 * std::max(t.layers, 1u);
  return t.layers != 0 ? t.layers : level.depth;
}

CUarray_format formatOf(const TextureObject& t) {
  if (t.kind == wire::TexelKind::isFloat) return t.channelBits == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
  const bool isSigned = t.kind == wire::TexelKind::isSigned;
  switch (t.channelBits) {
    case 8: return isSigned ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
    case 16: return isSigned ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
    default: return isSigned ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
  }
}

// CUDA Driver API, cuArray3DCreate: which of height and depth are 0 says what it is.
CUDA_ARRAY3D_DESCRIPTOR describe(const TextureObject& t, std::uint32_t flags) {
  const TextureLevel& first = t.level[0];
  CUDA_ARRAY3D_DESCRIPTOR made{};
  made.Width = first.width;
  made.Height = t.shape == TextureShape::oneDimension ? 0 : first.height;
  made.Depth = t.shape == TextureShape::threeDimensions || t.shape == TextureShape::cube || t.layers != 0 ? planesOf(t, first) : 0;
  made.Format = formatOf(t);
  made.NumChannels = t.channels;
  made.Flags = flags;
  return made;
}

CUDA_TEXTURE_DESC describeSampling(const wire::TextureRequest& request) {
  const TextureObject& t = request.object;
  CUDA_TEXTURE_DESC made{};
  for (int axis = 0; axis < 3; ++axis) made.addressMode[axis] = static_cast<CUaddress_mode>(t.address[axis]);
  made.filterMode = t.filter != 0 ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
  made.mipmapFilterMode = t.mipFilter != 0 ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
  if (t.kind != wire::TexelKind::isFloat && t.normalizedValues == 0) made.flags |= CU_TRSF_READ_AS_INTEGER;
  if (t.normalizedCoordinates != 0) made.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (t.sRgb != 0) made.flags |= CU_TRSF_SRGB;
  if (request.untrilinear != 0) made.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  if (request.seamless != 0) made.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  made.maxAnisotropy = request.maxAnisotropy;
  made.mipmapLevelBias = t.bias;
  made.minMipmapLevelClamp = t.minLevel;
  made.maxMipmapLevelClamp = t.maxLevel;
  std::copy(std::begin(t.border), std::end(t.border), made.borderColor);
  return made;
}

CUDA_RESOURCE_VIEW_DESC describeView(const wire::TextureRequest& request) {
  const CUDA_ARRAY3D_DESCRIPTOR array = describe(request.object, request.arrayFlags);
  CUDA_RESOURCE_VIEW_DESC made{};
  made.format = static_cast<CUresourceViewFormat>(wire::ownViewFormat(request.object));  // an H100's driver refuses CU_RES_VIEW_FORMAT_NONE
  made.width = array.Width;
  made.height = array.Height;
  made.depth = array.Depth;
  made.firstMipmapLevel = request.firstLevel;
  made.lastMipmapLevel = request.lastLevel;
  made.firstLayer = request.firstLayer;
  made.lastLayer = request.lastLayer;
  return made;
}

// Whether one array serves both: the same memory, of the same shape.
bool sameArray(const TextureObject& a, const TextureObject& b) {
  return a.shape == b.shape && a.layers == b.layers && a.channels == b.channels && a.channelBits == b.channelBits && a.kind == b.kind && a.levels == b.levels &&
         std::memcmp(a.level, b.level, a.levels * sizeof(TextureLevel)) == 0;
}

// Boxes of a level, from a byte of its memory on. visit(x, y, z, width, height, depth), x and width in bytes; the gap behind a row is none of it.
struct Walk {
  std::uint64_t row, rows, pitch, planePitch;

  // Rows from this one on, counted through all planes: whole planes together.
  template <class Visit>
  void through(std::uint64_t x, std::uint64_t width, std::uint64_t first, std::uint64_t count, Visit&& visit) const {
    if (x >= row) return;
    width = std::min(width, row - x);
    while (count != 0) {
      const std::uint64_t y = first % rows, z = first / rows;
      const bool whole = y == 0 && count >= rows;
      const std::uint64_t height = whole ? rows : std::min(count, rows - y), depth = whole ? count / rows : 1;
      visit(x, y, z, width, height, depth);
      first += height * depth;
      count -= height * depth;
    }
  }

  template <class Visit>
  void bytes(std::uint64_t offset, std::uint64_t count, Visit&& visit) const {
    if (const std::uint64_t x = offset % pitch; x != 0 || count < row) {
      through(x, count, offset / pitch, 1, visit);
      const std::uint64_t step = std::min(count, pitch - x);
      offset += step;
      count -= step;
      if (count == 0) return;
    }
    // The last row's gap may be missing.
    const std::uint64_t whole = (count + pitch - row) / pitch;
    through(0, row, offset / pitch, whole, visit);
    const std::uint64_t done = std::min(count, whole * pitch);
    if (count != done) through(0, count - done, offset / pitch + whole, 1, visit);
  }
};

}  // namespace

Textures::~Textures() {
  lanes_.gpu->makeCurrent();
  settle();
  for (auto& [handle, object] : objects_) end(handle, object);
  for (auto& [base, array] : arrays_) release(*array);
}

void Textures::end(std::uint64_t handle, Object& object) {
  const Driver& driver = lanes_.gpu->driver();
  if (object.surface) lanes_.gpu->good(driver.cuSurfObjectDestroy(handle), "cuSurfObjectDestroy", nullptr);
  else lanes_.gpu->good(driver.cuTexObjectDestroy(handle), "cuTexObjectDestroy", nullptr);
  const std::shared_ptr<Array> array = std::move(object.array);
  if (array.use_count() == 1) release(*array);
}

void Textures::settle() {
  if (ended_.empty()) return;
  lanes_.gpu->makeCurrent();
  for (auto& [handle, object] : ended_) end(handle, object);
  ended_.clear();
}

void Textures::release(Array& array) {
  if (array.whole != nullptr || array.flat != nullptr)
    lanes_.gpu->disposal.begin([&driver = lanes_.gpu->driver(), whole = array.whole, flat = array.flat]() -> Status {
      if (whole != nullptr) driver.cuMipmappedArrayDestroy(whole);
      if (flat != nullptr) driver.cuArrayDestroy(flat);
      return {};
    });
  array.whole = nullptr;
  array.flat = nullptr;
}

Status Textures::make(Array& array, bool mipmapped) {
  const Driver& driver = lanes_.gpu->driver();
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < array.about.levels; ++i) {
    const TextureLevel& level = array.about.level[i];
    bytes += planesOf(array.about, level) * level.height * level.width * texelBytes(array.about);
  }
  std::size_t free = 0, total = 0;
  const auto fits = [&] { return free >= kLeftBytes && bytes <= free - kLeftBytes; };
  Status asked = lanes_.gpu->status(driver.cuMemGetInfo(&free, &total), "cuMemGetInfo");
  if (asked && !fits()) {
    lanes_.gpu->disposal.wait();  // of arrays that are gone
    asked = lanes_.gpu->status(driver.cuMemGetInfo(&free, &total), "cuMemGetInfo");
  }
  if (!asked) return asked;
  if (!fits())
    return Error{CudaError::memoryAllocation, "an array of " + std::to_string(bytes) + " bytes: of the memory that is kept beside the functions' " + std::to_string(free) +
                                                  " bytes of " + lanes_.gpu->name() + " are free, of which " + std::to_string(kLeftBytes) + " stay so"};
  const CUDA_ARRAY3D_DESCRIPTOR described = describe(array.about, array.flags);
  if (!mipmapped) {
    if (Status status = lanes_.gpu->status(driver.cuArray3DCreate(&array.flat, &described), "cuArray3DCreate"); !status) return status;
    array.levels.push_back(array.flat);
    return {};
  }
  if (Status status = lanes_.gpu->status(driver.cuMipmappedArrayCreate(&array.whole, &described, array.about.levels), "cuMipmappedArrayCreate"); !status) return status;
  for (std::uint32_t i = 0; i < array.about.levels; ++i) {
    CUarray level = nullptr;
    if (Status status = lanes_.gpu->status(driver.cuMipmappedArrayGetLevel(&level, array.whole, i), "cuMipmappedArrayGetLevel"); !status) return status;
    array.levels.push_back(level);
  }
  return {};
}

Status Textures::upload(const Array& array) {
  if (lane_ == nullptr) {
    auto made = lanes_.add(0);
    if (!made) return std::move(made).error();
    lane_ = std::move(*made);
  }
  for (std::uint32_t i = 0; i < array.about.levels; ++i) {
    const TextureLevel& level = array.about.level[i];
    lane_->push(ArrayOperation{array.levels[i], true, 0, 0, 0, std::uint64_t{level.width} * texelBytes(array.about), level.height, planesOf(array.about, level), level.base, level.pitch,
                               level.height});
  }
  return {};
}

Result<std::shared_ptr<Textures::Array>> Textures::arrayFor(const wire::TextureRequest& request) {
  const TextureObject& asked = request.object;
  const bool mipmapped = asked.levels > 1 || request.source == TextureSource::mipmapped;
  if (const auto found = arrays_.find(asked.level[0].base); found != arrays_.end()) {
    const Array& known = *found->second;
    if (sameArray(known.about, asked) && known.flags == request.arrayFlags && (!mipmapped || known.whole != nullptr)) return found->second;
    forget(found->first);
  }
  auto made = std::make_shared<Array>();
  made->about = asked;
  made->flags = request.arrayFlags;
  Status status = make(*made, mipmapped);
  if (status) status = upload(*made);
  if (!status) {
    release(*made);
    return status.error();
  }
  arrays_[asked.level[0].base] = made;
  return made;
}

Result<std::uint64_t> Textures::create(const wire::TextureRequest& request) {
  const Driver& driver = lanes_.gpu->driver();
  lanes_.gpu->makeCurrent();
  const TextureObject& t = request.object;
  CUDA_RESOURCE_DESC resource{};
  std::shared_ptr<Array> array;
  if (request.source <= TextureSource::mipmapped) {
    settle();
    auto found = arrayFor(request);
    if (!found) return std::move(found).error();
    array = std::move(*found);
    if (request.source == TextureSource::mipmapped) {
      resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
      resource.res.mipmap.hMipmappedArray = array->whole;
    } else {
      resource.resType = CU_RESOURCE_TYPE_ARRAY;
      resource.res.array.hArray = array->levels[request.level];
    }
  } else if (lanes_.deviceWindow->unsettled() && !lanes_.settleMemory()) {
    return Error{CudaError::memoryAllocation, "its memory cannot be accessed"};
  } else if (request.source == TextureSource::linear) {
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = t.level[0].base;
    resource.res.linear.format = formatOf(t);
    resource.res.linear.numChannels = t.channels;
    resource.res.linear.sizeInBytes = std::size_t{t.level[0].width} * texelBytes(t);
  } else {
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = t.level[0].base;
    resource.res.pitch2D.format = formatOf(t);
    resource.res.pitch2D.numChannels = t.channels;
    resource.res.pitch2D.width = t.level[0].width;
    resource.res.pitch2D.height = t.level[0].height;
    resource.res.pitch2D.pitchInBytes = t.level[0].pitch;
  }
  std::uint64_t handle = 0;
  CUDA_TEXTURE_DESC sampling = describeSampling(request);
  const CUDA_RESOURCE_VIEW_DESC view = request.hasView != 0 ? describeView(request) : CUDA_RESOURCE_VIEW_DESC{};
  const Status status = request.surface != 0
                            ? lanes_.gpu->status(driver.cuSurfObjectCreate(reinterpret_cast<CUsurfObject*>(&handle), &resource), "cuSurfObjectCreate")
                            : lanes_.gpu->status(driver.cuTexObjectCreate(reinterpret_cast<CUtexObject*>(&handle), &resource, &sampling, request.hasView != 0 ? &view : nullptr),
                                                 "cuTexObjectCreate");
  if (!status) return status.error();
  if (array != nullptr) array->surfaces |= request.surface != 0;
  objects_[handle] = {request.surface != 0, std::move(array)};
  return handle;
}

Status Textures::destroy(std::uint64_t object) {
  const auto found = objects_.find(object);
  if (found == objects_.end()) return Error{CudaError::invalidValue, "no such object"};
  ended_.insert(objects_.extract(found));
  return {};
}

// Objects that are left of it keep what it held.
void Textures::forget(std::uint64_t base) {
  const auto found = arrays_.find(base);
  if (found == arrays_.end()) return;
  lanes_.gpu->makeCurrent();
  const std::shared_ptr<Array> array = std::move(found->second);
  arrays_.erase(found);
  if (array.use_count() == 1) release(*array);
}

void Textures::follow(Lane& lane, bool toArray, std::uint64_t address, const memory::CopyShape& shape, std::uint64_t pitch) {
  auto found = arrays_.upper_bound(address);
  if (found == arrays_.begin()) return;
  --found;
  const Array& array = *found->second;
  if (!toArray && !array.surfaces) return;
  for (std::uint32_t i = 0; i < array.about.levels; ++i) {
    const TextureLevel& level = array.about.level[i];
    const std::uint64_t planes = planesOf(array.about, level);
    if (address < level.base || address - level.base >= planes * level.planePitch) continue;
    const Walk walk{std::uint64_t{level.width} * texelBytes(array.about), level.height, level.pitch, level.planePitch};
    const auto visit = [&](std::uint64_t x, std::uint64_t y, std::uint64_t z, std::uint64_t width, std::uint64_t height, std::uint64_t depth) {
      if (z >= planes) return;
      depth = std::min(depth, planes - z);
      lane.push(ArrayOperation{array.levels[i], toArray, x, y, z, width, height, depth, level.base + z * level.planePitch + y * level.pitch + x, level.pitch, level.height});
    };
    // No client of ours copies rows that are none of the array's.
    if ((shape.height > 1 && pitch != level.pitch) || shape.depth > planes) return walk.through(0, walk.row, 0, level.height * planes, visit);
    const std::uint64_t offset = address - level.base, slice = toArray ? shape.destinationSlicePitch : shape.sourceSlicePitch;
    for (std::uint64_t z = 0; z < shape.depth && offset + z * slice < planes * level.planePitch; ++z) {
      const std::uint64_t begin = offset + z * slice;
      if (shape.height > 1) walk.through(begin % pitch, shape.width, begin / pitch, std::min(shape.height, level.height * planes), visit);
      else walk.bytes(begin, std::min(shape.width, planes * level.planePitch), visit);
    }
    return;
  }
}

void Textures::beforeCopy(Lane& lane, const memory::CopyShape& shape) {
  if (!arrays_.empty()) follow(lane, false, shape.source, shape, shape.sourcePitch);
}

void Textures::afterCopy(Lane& lane, const memory::CopyShape& shape) {
  if (!arrays_.empty()) follow(lane, true, shape.destination, shape, shape.destinationPitch);
}

}  // namespace rouse::cuda
