// Where the reactor goes to sleep: on the core of the program it has served last. Waking it is then a context switch; from
// an idle core it is an interrupt and a way out of a sleep state as well, 50 µs and more on virtual machines. It is free to
// run anywhere: the kernel takes the core it slept on when there is nothing better.
#pragma once

#include <sched.h>

#include <cstdint>

namespace rouse::executor {

class CorePlacement {
 public:
  // The calling thread's, with the cores it may use now.
  CorePlacement();

  // Moves the calling thread there, unless it is there or may not be.
  void moveTo(std::uint32_t core) const;

 private:
  cpu_set_t allowed_;
};

}  // namespace rouse::executor
