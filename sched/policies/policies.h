// The policies, one a file; their makers, for names.cc and for tests.
#pragma once

#include "sched/policy.h"

namespace rouse::sched {

std::unique_ptr<Queueing> fifoQueueing();
std::unique_ptr<Queueing> edfQueueing();
std::unique_ptr<Queueing> torporQueueing();
std::unique_ptr<Queueing> rouseQueueing();
std::unique_ptr<Placement> randomPlacement(std::uint64_t seed);
std::unique_ptr<Placement> torporPlacement();
std::unique_ptr<Placement> rousePlacement();
std::unique_ptr<Eviction> lruEviction();
std::unique_ptr<Eviction> torporEviction();
std::unique_ptr<Eviction> rouseEviction();
std::unique_ptr<Admission> limitsAdmission();
std::unique_ptr<Admission> rouseAdmission();

}  // namespace rouse::sched
