// What the double remembers of its caller: every call (ROUSE_DOUBLE_LOG=FILE: one a line), and every rule it broke.
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>

namespace rouse::cuda_double {

// All of these: any thread.

// A call and its result. A line that repeats the thread's last one (polling) is only counted.
void recordCall(const char* function, const std::string& line);
// Prints, keeps, and logs. `rule` is one of those that README.md lists.
void violate(std::string_view rule, const std::string& what);
// The same, as the result of the call that broke the rule.
CUresult violation(CUresult result, std::string_view rule, const std::string& what);
// Prints what a real driver would keep for its own logs.
void note(const std::string& what);

// Which function of the driver this thread is in, for messages; null: none.
extern thread_local const char* currentCall;

std::string hex(unsigned long long value);

}  // namespace rouse::cuda_double
