// Runs PTX on a warp with the real compiler and the real runtime, and has the elements of matrices as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "server/device/cpu/program.h"

namespace rouse::test {

inline constexpr std::uint32_t kLanes = 32;

// A module with one kernel `k(in, out)`, both addresses of 64 bits; `body` may use %in, %out, %lane, %lane64, %at (64 bits), the
// registers %r<64>, %f<64> and %d<64>, %p<4>, and shared memory `tile` of 4096 bytes.
std::string kernelAround(std::string_view body);

// Runs the kernel with a warp of `lanes`, or several; returns what the launch failed with, empty if it did not. `apart`: its lanes come apart to what they do, so it is
// never run as vectors.
std::string runWarp(const std::string& ptx, const void* in, void* out, std::uint32_t lanes = kLanes, bool apart = false);
// Whether whole warps are run as vectors.
bool inVectors();
// As runWarp, and nothing may fail.
void mustRunWarp(const std::string& ptx, const void* in, void* out, std::uint32_t lanes = kLanes, bool apart = false);

// What is said when the module is loaded; empty if it is accepted.
std::string refusalOf(const std::string& ptx);

enum class Element { f16, bf16, tf32, e4m3, e5m2, f32, f64, s8, u8, s4, u4, b1, s32 };

Element elementNamed(std::string_view);
unsigned bitsOf(Element);
// Exact; subnormals, infinities and NaN too.
double valueOf(Element, std::uint64_t bits);
// Bits of an element: mostly ordinary numbers, some of every special kind. `tame`: numbers near 1 only.
std::uint64_t randomBits(Element, std::mt19937_64&, bool tame);

// Element `index` of packed elements, lowest bits first.
std::uint64_t packedAt(const std::byte* words, Element, std::size_t index);
void setPacked(std::byte* words, Element, std::size_t index, std::uint64_t bits);

// Whether `bits` are C + the sum of products, as close as the type of D allows: within half a unit of its last place, and what
// the sum itself may lose when it is made in double. Special values must be what exact arithmetic gives.
bool isSum(Element d, std::uint64_t bits, double c, const std::vector<double>& a, const std::vector<double>& b);

}  // namespace rouse::test
