// What threads know of themselves, for kernels of model_kernel.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "test/ptx/model_kernel.h"

namespace rouse::test::model {

inline std::uint32_t threadOf(const Shape&, unsigned thread, unsigned, unsigned) { return thread; }

inline const Place kPlaces[] = {
    {"n", [](const Shape&, unsigned, unsigned, unsigned n) { return n; }},
    {"blockIdx.x", [](const Shape&, unsigned, unsigned block, unsigned) { return block; }},
    {"blockDim.x", [](const Shape& s, unsigned, unsigned, unsigned) { return s.x; }},
    {"threads", [](const Shape& s, unsigned, unsigned, unsigned) { return s.threads(); }},
    {"(thread >> 5)", [](const Shape&, unsigned t, unsigned, unsigned) { return t >> 5; }},
    {"(thread / 32)", [](const Shape&, unsigned t, unsigned, unsigned) { return t / 32; }},
    {"(thread >> 4)", [](const Shape&, unsigned t, unsigned, unsigned) { return t >> 4; }},
    {"(thread >> 3)", [](const Shape&, unsigned t, unsigned, unsigned) { return t >> 3; }},
    {"(thread & ~7u)", [](const Shape&, unsigned t, unsigned, unsigned) { return t & ~7u; }},
    {"(thread >> 2)", [](const Shape&, unsigned t, unsigned, unsigned) { return t >> 2; }},
    {"thread", threadOf},
    {"lane", [](const Shape&, unsigned t, unsigned, unsigned) { return t & 31; }},
    {"threadIdx.x", [](const Shape& s, unsigned t, unsigned, unsigned) { return t % s.x; }},
    {"threadIdx.y", [](const Shape& s, unsigned t, unsigned, unsigned) { return t / s.x % s.y; }},
    {"(blockIdx.x * threads + thread)", [](const Shape& s, unsigned t, unsigned block, unsigned) { return block * s.threads() + t; }},
    {"(threads - 1 - thread)", [](const Shape& s, unsigned t, unsigned, unsigned) { return s.threads() - 1 - t; }},
};
inline constexpr std::size_t kPlacesOf[] = {4, 6, 7, 9, 10, std::size(kPlaces)};  // of each level, those before included

}  // namespace rouse::test::model
