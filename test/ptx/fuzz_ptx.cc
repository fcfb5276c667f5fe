// PTX from a hostile program: any text is read to its end or refused with the line, and what was accepted can be described.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/device/ptx/check_module.h"
#include "server/device/ptx/describe.h"
#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

using namespace rouse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const ptx::Uncovered uncovered : {ptx::Uncovered::fails, ptx::Uncovered::leftOut}) {
    try {
      ptx::Module module = ptx::parse(text, uncovered);
      ptx::checkModule(module, uncovered);
      const ptx::CallGraph graph(module);
      const ptx::Description description = ptx::describe(module, graph);
      if (description.initialValues.size() != description.module.variables.size()) std::abort();
    } catch (const ptx::Failure& failure) {
      if (!failure.error().message.starts_with("PTX line ") && !failure.error().message.starts_with("line ")) std::abort();
    }
  }
  return 0;
}
