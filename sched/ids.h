// Numbers that the caller gives. Functions and GPUs are numbered from 0, densely: they index tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rouse::sched {

enum class FunctionId : std::uint32_t {};
enum class GpuId : std::uint32_t {};
enum class RequestId : std::uint64_t {};  // never given twice

inline constexpr std::uint32_t kMostFunctions = 1u << 17;
inline constexpr std::uint32_t kMostGpus = 1024;

constexpr std::size_t index(FunctionId id) { return static_cast<std::size_t>(id); }
constexpr std::size_t index(GpuId id) { return static_cast<std::size_t>(id); }

}  // namespace rouse::sched
