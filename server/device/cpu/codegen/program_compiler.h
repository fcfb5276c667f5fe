// The executor's end of a CompileService, for one program: what is asked, how often, and what becomes of an attempt that failed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/device/cpu/codegen/compile_service.h"
#include "server/device/cpu/codegen/compiler_messages.h"
#include "server/device/cpu/codegen/unit.h"

namespace rouse::cpu::codegen {

// One thread at a time.
class ProgramCompiler {
 public:
  // Both outlive it.
  ProgramCompiler(CompileService& service, std::string_view text) : service_(service), text_(text) {}

  // At less and less effort, until one attempt comes to an end within the limits; each that does not is told on standard error. `name`: of the unit, for
  // people; `instructions`: instructionsOf it. None: there is no process to be had. An error where none came to an end names the limit.
  std::optional<Result<CodeCache::Entry>> compile(const Unit&, std::string_view name, std::size_t instructions);

 private:
  struct Answer {
    UnitReply reply;
    std::string bytes;
  };
  std::optional<Answer> ask(const UnitRequest&);
  bool connect();
  std::optional<Answer> exchange(const UnitRequest&);

  CompileService& service_;
  const std::string_view text_;
  wire::OwnedFd socket_;
  std::map<Unit, Error> hopeless_;  // which need not be tried again
};

}  // namespace rouse::cpu::codegen
