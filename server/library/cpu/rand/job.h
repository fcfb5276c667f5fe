// Random numbers of cuRAND as a job of the CPU device.
#pragma once

#include <span>

#include "schemas/rand/generation.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

// Of a generation that has been checked. May throw std::bad_alloc.
std::unique_ptr<Job> makeNumbers(const rand::Generation& generation, std::span<const rand::Stretch> stretches);

}  // namespace rouse::library::cpu
