// PTX that nvcc made of test/ptx/cuda/*.cu when the tests were built.
#pragma once

#include <string>
#include <string_view>

namespace rouse::test {

inline constexpr std::string_view kOptimized = "O3";
inline constexpr std::string_view kDebug = "O0-G";

// Fails the test if there is no such file.
std::string cudaSource(std::string_view name, std::string_view variant);

}  // namespace rouse::test
