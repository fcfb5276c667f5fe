// Textures and surfaces, by objects: tex, tld4, txq, suld, sust, suq. Coordinates go to memory, the runtime fetches (abi.h), and what it
// leaves there is read back.
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/texture_form.h"

namespace rouse::cpu::codegen {
namespace {

Geometry geometryOf(const Instruction& i) {
  constexpr std::pair<Modifier, Geometry> kGeometries[] = {
      {Modifier::geometry_1d, Geometry::d1},   {Modifier::geometry_2d, Geometry::d2},     {Modifier::geometry_3d, Geometry::d3},
      {Modifier::geometry_a1d, Geometry::a1d}, {Modifier::geometry_a2d, Geometry::a2d},   {Modifier::geometry_cube, Geometry::cube},
      {Modifier::geometry_acube, Geometry::acube}};
  for (const auto& [modifier, geometry] : kGeometries)
    if (i.has(modifier)) return geometry;
  return Geometry::d1;
}

llvm::Value* wordAt(Emitter& e, std::uint32_t word) {
  return e.b.CreateConstInBoundsGEP1_32(e.b.getInt32Ty(), e.textureWords(), word);
}

llvm::Value* objectOf(Emitter& e, const Operand& memory) {
  Operand base = memory;
  base.isMemory = false;
  base.elements.clear();
  return e.read(base, Type::b64);
}

const Operand& elementAt(const Operand& vector, std::uint32_t index) {
  return vector.kind == Operand::Kind::vector ? vector.elements[index] : vector;
}

std::uint32_t elementsOf(const Operand& vector) {
  return vector.kind == Operand::Kind::vector ? static_cast<std::uint32_t>(vector.elements.size()) : 1;
}

void putWords(Emitter& e, const std::vector<Operand>& words, std::uint32_t at) {
  for (std::uint32_t k = 0; k < words.size(); ++k)
    e.b.CreateAlignedStore(e.toBits(e.read(words[k], Type::b32)), wordAt(e, at + k), llvm::Align(4));
}

void putVector(Emitter& e, const Operand& vector, std::uint32_t at) {
  if (vector.kind == Operand::Kind::vector) return putWords(e, vector.elements, at);
  putWords(e, {vector}, at);
}

void takeWords(Emitter& e, const Operand& vector, Type type) {
  for (std::uint32_t k = 0; k < elementsOf(vector); ++k)
    e.write(elementAt(vector, k), type, e.fromBits(e.b.CreateAlignedLoad(e.bits(32), wordAt(e, k), llvm::Align(4)), type));
}

void fetch(Emitter& e, const Instruction& i, const TextureOperation& operation) {
  const Operand& memory = i.operands[1];
  llvm::Value* const object = objectOf(e, memory);
  e.checkTexture(i, object);
  putWords(e, memory.elements, 0);
  if (operation.sampling == Sampling::level) putVector(e, i.operands[2], kTextureLevel);
  if (operation.sampling == Sampling::gradient) {
    putVector(e, i.operands[2], kTextureGradientX);
    putVector(e, i.operands[3], kTextureGradientY);
  }
  e.callExternal("rouse_cpu_texture", e.b.getVoidTy(), {object, e.b.getInt32(operation.code()), e.textureWords()});
  takeWords(e, i.operands[0], i.type(0));
}

TextureOperation operationOf(const Instruction& i) {
  TextureOperation operation;
  operation.geometry = geometryOf(i);
  operation.integerCoordinates = i.type(1) == Type::s32;
  operation.floatResult = i.type(0) == Type::f32;
  return operation;
}

Boundary boundaryOf(const Instruction& i) {
  if (i.has(Modifier::zero)) return Boundary::zero;
  return i.has(Modifier::clamp) ? Boundary::clamp : Boundary::trap;
}

}  // namespace

void lowerTexture(Emitter& e, const Instruction& i) {
  TextureOperation operation = operationOf(i);
  if (i.has(Modifier::level)) operation.sampling = Sampling::level;
  if (i.has(Modifier::grad)) operation.sampling = Sampling::gradient;
  fetch(e, i, operation);
}

void lowerGather(Emitter& e, const Instruction& i) {
  TextureOperation operation = operationOf(i);
  operation.sampling = Sampling::gather;
  if (i.has(Modifier::g)) operation.component = 1;
  if (i.has(Modifier::b)) operation.component = 2;
  if (i.has(Modifier::a)) operation.component = 3;
  fetch(e, i, operation);
}

void lowerTextureQuery(Emitter& e, const Instruction& i) {
  TextureQuery query = TextureQuery::width;
  if (i.has(Modifier::height)) query = TextureQuery::height;
  if (i.has(Modifier::depth)) query = TextureQuery::depth;
  if (i.has(Modifier::array_size)) query = TextureQuery::arraySize;
  if (i.has(Modifier::num_mipmap_levels)) query = TextureQuery::levels;
  llvm::Value* const object = objectOf(e, i.operands[1]);
  e.checkTexture(i, object);
  llvm::Value* const answer = e.callExternal("rouse_cpu_texture_query", e.b.getInt32Ty(),
                                             {object, e.b.getInt32(static_cast<std::uint32_t>(query))});
  e.write(i.operands[0], Type::b32, answer);
}

void lowerSurface(Emitter& e, const Instruction& i) {
  const bool store = i.opcode == ptx::Opcode::sust;
  const Operand& memory = i.operands[store ? 0 : 1];
  const Operand& data = i.operands[store ? 1 : 0];
  const Type type = i.type(0);
  const std::uint32_t bytes = ptx::bytesOf(type), count = elementsOf(data);
  SurfaceOperation operation;
  operation.geometry = geometryOf(i);
  operation.boundary = boundaryOf(i);
  operation.store = store;
  operation.bytes = static_cast<std::uint8_t>(bytes * count);
  llvm::Value* const object = objectOf(e, memory);
  e.checkTexture(i, object);
  const auto at = [&](std::uint32_t k) { return e.b.CreateConstInBoundsGEP1_32(e.b.getInt8Ty(), wordAt(e, kSurfaceData), k * bytes); };
  for (std::uint32_t k = 0; store && k < count; ++k)
    e.b.CreateAlignedStore(e.toBits(e.read(elementAt(data, k), type)), at(k), llvm::Align(1));
  putWords(e, memory.elements, 0);
  e.callExternal("rouse_cpu_surface", e.b.getVoidTy(), {e.thread(), object, e.b.getInt32(operation.code()), e.textureWords()});
  for (std::uint32_t k = 0; !store && k < count; ++k)
    e.write(elementAt(data, k), type, e.fromBits(e.b.CreateAlignedLoad(e.bits(8 * bytes), at(k), llvm::Align(1)), type));
}

}  // namespace rouse::cpu::codegen
