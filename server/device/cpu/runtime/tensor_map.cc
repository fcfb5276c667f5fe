#include "server/device/cpu/runtime/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

namespace rouse::cpu {
namespace {

// The driver's enumerations (cuda.h), which this device is built without.
constexpr std::uint32_t kTypes = 16, kPackedTypes = 13, kInterleaves = 3, kSwizzles = 7, kPlainSwizzles = 4, kPromotions = 4, kFills = 2;
constexpr TensorElement kElements[kPackedTypes] = {TensorElement::u8,  TensorElement::u16, TensorElement::u32, TensorElement::s32, TensorElement::u64,
                                                   TensorElement::s64, TensorElement::f16, TensorElement::f32, TensorElement::f64, TensorElement::bf16,
                                                   TensorElement::f32, TensorElement::f32, TensorElement::f32};
constexpr std::uint32_t kFirstFloat = 6;

constexpr std::uint64_t kMostDim = std::uint64_t{1} << 32, kMostStride = std::uint64_t{1} << 40;
constexpr std::uint32_t kMostBox = 256, kMostStep = 8, kAlignment = 16;

// As it lies in a map. The rest is zero.
struct Form {
  std::uint64_t magic;
  std::uint64_t address;
  std::uint64_t strides[wire::kMaxTensorRank - 1];
  std::uint32_t lastElements[wire::kMaxTensorRank];  // dimensions less 1, of which there may be 2^32
  std::uint16_t box[wire::kMaxTensorRank];
  std::uint8_t steps[wire::kMaxTensorRank];
  std::uint8_t rank, type, swizzle, fill;
  std::uint8_t rest[wire::TensorMap{}.size() - 87];
};
static_assert(sizeof(Form) == wire::TensorMap{}.size() && offsetof(Form, rest) == 87);
constexpr std::uint64_t kMagic = 0x656c697465737572;  // "rusetile"

Error invalid(const std::string& what) { return {CudaError::invalidValue, "tensor map: " + what}; }
Error unsupported(const std::string& what) { return {CudaError::notSupported, "tensor map: " + what}; }

// The driver's rules for tiles, whose numbers are any.
std::optional<Error> check(const wire::TensorMapRequest& r) {
  if (r.type >= kTypes || r.interleave >= kInterleaves || r.swizzle >= kSwizzles || r.promotion >= kPromotions || r.fill >= kFills) return invalid("an enumeration");
  if (r.rank == 0 || r.rank > wire::kMaxTensorRank) return invalid("rank " + std::to_string(r.rank));
  if (r.type >= kPackedTypes) return unsupported("packed elements");
  if (r.interleave != 0) return unsupported("interleaved layouts");
  if (r.swizzle >= kPlainSwizzles) return unsupported("swizzling by more than 16 bytes");
  if (r.address % kAlignment != 0) return invalid("an address that is no multiple of 16");
  if (r.fill != 0 && r.type < kFirstFloat) return invalid("NaNs in whole numbers");
  const std::uint32_t bytes = bytesOf(kElements[r.type]);
  for (std::uint32_t d = 0; d < r.rank; ++d) {
    const std::string where = " of dimension " + std::to_string(d);
    if (r.dims[d] == 0 || r.dims[d] > kMostDim) return invalid("size" + where);
    if (d != 0 && (r.strides[d - 1] % kAlignment != 0 || r.strides[d - 1] >= kMostStride)) return invalid("stride" + where);
    if (r.box[d] == 0 || r.box[d] > kMostBox) return invalid("box" + where);
    if (r.elementStrides[d] == 0 || r.elementStrides[d] > kMostStep) return invalid("element stride" + where);
  }
  const std::uint32_t row = r.box[0] * bytes;
  if (row % kAlignment != 0) return invalid("a box whose rows are no multiples of 16 bytes");
  if (r.swizzle != 0 && row > 16u << r.swizzle) return invalid("a box whose rows are longer than they are swizzled by");
  return std::nullopt;
}

std::optional<Form> formOf(const wire::TensorMap& map) {
  Form form;
  std::memcpy(&form, map.data(), sizeof form);
  if (form.magic != kMagic) return std::nullopt;
  return form;
}

wire::TensorMap mapOf(const Form& form) {
  wire::TensorMap map;
  std::memcpy(map.data(), &form, sizeof form);
  return map;
}

}  // namespace

Result<wire::TensorMap> encodeTensorMap(const wire::TensorMapRequest& request) {
  if (request.kind == wire::TensorMapKind::replaceAddress) {
    auto form = formOf(request.map);
    if (!form) return invalid("one that is not this device's");
    if (request.address % kAlignment != 0) return invalid("an address that is no multiple of 16");
    form->address = request.address;
    return mapOf(*form);
  }
  if (request.kind == wire::TensorMapKind::im2col) return unsupported("columns of images");
  if (request.kind != wire::TensorMapKind::tiled) return invalid("an enumeration");
  if (auto wrong = check(request)) return std::move(*wrong);
  Form form{};
  form.magic = kMagic;
  form.address = request.address;
  for (std::uint32_t d = 0; d < request.rank; ++d) {
    form.lastElements[d] = static_cast<std::uint32_t>(request.dims[d] - 1);
    form.box[d] = static_cast<std::uint16_t>(request.box[d]);
    form.steps[d] = static_cast<std::uint8_t>(d == 0 ? 1 : request.elementStrides[d]);  // of the first it is ignored
    if (d != 0) form.strides[d - 1] = request.strides[d - 1];
  }
  form.rank = static_cast<std::uint8_t>(request.rank);
  form.type = static_cast<std::uint8_t>(request.type);
  form.swizzle = static_cast<std::uint8_t>(request.swizzle);
  form.fill = static_cast<std::uint8_t>(request.fill);
  return mapOf(form);
}

// The field alone is written: what lies there need be no map, as on a GPU, and then nothing is copied by it.
bool replaceInTensorMap(std::byte* map, TensorMapField field, std::uint32_t dimension, std::uint64_t value) {
  // The ISA's types, by the driver's numbers; those behind them have no elements here.
  constexpr std::uint8_t kByNumber[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12};
  constexpr std::uint8_t kNoneSuch = 0xff;
  const std::uint32_t most = field == TensorMapField::stride ? wire::kMaxTensorRank - 1 : wire::kMaxTensorRank;
  if (dimension >= most) return false;
  const auto write = [&](std::size_t offset, auto made) { std::memcpy(map + offset, &made, sizeof made); };
  const auto small = static_cast<std::uint8_t>(std::min<std::uint64_t>(value, kNoneSuch));
  switch (field) {
    case TensorMapField::address:
      write(offsetof(Form, address), value);
      break;
    case TensorMapField::rank:
      write(offsetof(Form, rank), static_cast<std::uint8_t>(std::min<std::uint64_t>(value + 1, kNoneSuch)));
      break;
    case TensorMapField::box:
      write(offsetof(Form, box) + dimension * sizeof Form::box[0], static_cast<std::uint16_t>(std::min<std::uint64_t>(value, 0xffff)));
      break;
    case TensorMapField::dim:
      write(offsetof(Form, lastElements) + dimension * sizeof Form::lastElements[0], static_cast<std::uint32_t>(value - 1));
      break;
    case TensorMapField::stride:
      write(offsetof(Form, strides) + dimension * sizeof Form::strides[0], value);
      break;
    case TensorMapField::elementStride:
      write(offsetof(Form, steps) + dimension, small);
      break;
    case TensorMapField::type:
      write(offsetof(Form, type), value < std::size(kByNumber) ? kByNumber[value] : kNoneSuch);
      break;
    case TensorMapField::interleave:
      // There is but one layout that is covered, and no place for another.
      if (value != 0) write(offsetof(Form, type), kNoneSuch);
      break;
    case TensorMapField::swizzle:
      write(offsetof(Form, swizzle), small);
      break;
    case TensorMapField::fill:
      write(offsetof(Form, fill), small);
      break;
  }
  return true;
}

// A kernel may have written to it: it is believed no more than a kernel is.
std::optional<TensorTile> decodeTensorMap(const wire::TensorMap& map) {
  const auto form = formOf(map);
  if (!form || form->rank == 0 || form->rank > wire::kMaxTensorRank || form->type >= kPackedTypes || form->swizzle >= kPlainSwizzles) return std::nullopt;
  TensorTile tile;
  tile.address = form->address;
  tile.rank = form->rank;
  tile.element = kElements[form->type];
  tile.swizzleBytes = form->swizzle == 0 ? 0 : 16u << form->swizzle;
  tile.fillsWithNan = form->fill != 0;
  for (std::uint32_t d = 0; d < tile.rank; ++d) {
    if (form->steps[d] == 0 || form->box[d] == 0 || form->box[d] > kMostBox) return std::nullopt;
    tile.dims[d] = std::uint64_t{form->lastElements[d]} + 1;
    tile.strides[d] = d == 0 ? bytesOf(tile.element) : form->strides[d - 1];
    tile.steps[d] = form->steps[d];
    tile.counts[d] = (form->box[d] + form->steps[d] - 1u) / form->steps[d];
  }
  return tile;
}

}  // namespace rouse::cpu
