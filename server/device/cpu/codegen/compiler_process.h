// What runs in the processes of a CompileService.
#pragma once

namespace rouse::cpu::codegen {

// Of a process with one thread, until the other end of the socket is closed. Closes all other descriptors but the standard ones.
[[noreturn]] void runService(int socket);

}  // namespace rouse::cpu::codegen
