// What a module says of itself.
#include "server/control/codec_parts.h"

namespace rouse::channel::codec {
namespace {

memory::KernelDescription readKernel(capnproto::ModuleInfo::Kernel::Reader from) {
  memory::KernelDescription to;
  to.name = read(from.getName());
  const auto offsets = from.getParameterOffsets();
  const auto bytes = from.getParameterBytes();
  if (offsets.size() != bytes.size())
    throw OutOfRange{"a kernel's parameterOffsets and parameterBytes differ in length"};
  for (unsigned i = 0; i < offsets.size(); ++i) to.parameters.push_back({offsets[i], bytes[i]});
  to.parameterBytes = from.getBlockBytes();
  to.staticSharedBytes = from.getStaticSharedBytes();
  to.localBytes = from.getLocalBytes();
  to.constantBytes = from.getConstantBytes();
  to.maxThreadsPerBlock = from.getMaxThreadsPerBlock();
  to.registers = from.getRegisters();
  to.ptxVersion = from.getPtxVersion();
  to.binaryVersion = from.getBinaryVersion();
  to.cluster = ClusterShape::unpack(from.getCluster());
  if (!to.cluster.valid()) throw OutOfRange{"a kernel's cluster"};
  to.clusterMustBeSet = from.getClusterMustBeSet();
  return to;
}

}  // namespace

void write(capnproto::ModuleInfo::Builder to, const ModuleInfo& from) {
  to.setModuleId(from.moduleId);
  auto kernels = to.initKernels(static_cast<unsigned>(from.description.kernels.size()));
  for (unsigned i = 0; i < kernels.size(); ++i) {
    const memory::KernelDescription& kernel = from.description.kernels[i];
    auto out = kernels[i];
    out.setName(kernel.name);
    const auto count = static_cast<unsigned>(kernel.parameters.size());
    auto offsets = out.initParameterOffsets(count);
    auto bytes = out.initParameterBytes(count);
    for (unsigned p = 0; p < count; ++p) {
      offsets.set(p, kernel.parameters[p].offset);
      bytes.set(p, kernel.parameters[p].bytes);
    }
    out.setBlockBytes(kernel.parameterBytes);
    out.setStaticSharedBytes(kernel.staticSharedBytes);
    out.setLocalBytes(kernel.localBytes);
    out.setConstantBytes(kernel.constantBytes);
    out.setMaxThreadsPerBlock(kernel.maxThreadsPerBlock);
    out.setRegisters(kernel.registers);
    out.setPtxVersion(kernel.ptxVersion);
    out.setBinaryVersion(kernel.binaryVersion);
    out.setCluster(kernel.cluster.packed());
    out.setClusterMustBeSet(kernel.clusterMustBeSet);
  }
  auto variables = to.initVariables(static_cast<unsigned>(from.description.variables.size()));
  for (unsigned i = 0; i < variables.size(); ++i) {
    const memory::VariableDescription& variable = from.description.variables[i];
    variables[i].setName(variable.name);
    variables[i].setBytes(variable.bytes);
    variables[i].setAlignment(variable.alignment);
    variables[i].setSpace(static_cast<std::uint8_t>(variable.space));
  }
}

ModuleInfo read(capnproto::ModuleInfo::Reader from) {
  ModuleInfo to{.moduleId = from.getModuleId(), .description = {}};
  for (auto kernel : from.getKernels()) to.description.kernels.push_back(readKernel(kernel));
  for (auto variable : from.getVariables()) {
    if (variable.getSpace() > static_cast<std::uint8_t>(memory::VariableSpace::managed)) {
      throw OutOfRange{"a variable's space is " + std::to_string(variable.getSpace()) + ", the greatest is 2"};
    }
    to.description.variables.push_back({.name = read(variable.getName()),
                                        .bytes = variable.getBytes(),
                                        .alignment = variable.getAlignment(),
                                        .space = static_cast<memory::VariableSpace>(variable.getSpace())});
  }
  return to;
}

}  // namespace rouse::channel::codec
