// Programs whose kernels are compiled as an executor has them compiled, in processes of their own: LLVM need not come to an end with each.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "server/device/cpu/codegen/compile_service.h"
#include "server/device/cpu/program.h"

namespace rouse::test {

inline std::unique_ptr<cpu::Program> translateServed(const std::string& text, bool sideBySide) {
  static const auto service = cpu::CompileService::start();
  INFO((service ? "" : service.error().message));
  REQUIRE(service);
  auto program = cpu::Program::translate(text, {.service = *service, .sideBySide = sideBySide});
  INFO((program ? "" : program.error().message));
  REQUIRE(program);
  return std::move(*program);
}

}  // namespace rouse::test
