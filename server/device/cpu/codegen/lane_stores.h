// What generated code calls where lanes store to neighbouring elements and some are left out, on processors that do so in microcode, if at all.
#pragma once

#include <cstdint>

extern "C" {
// `elements`: of all lanes, one after the other, of 1, 2, 4 or 8 bytes. Those of the lanes in `lanes`, a bit each, are stored at `to` and behind, at any alignment; nothing else there is touched.
void rouse_ptx_store_lanes(void* to, const void* elements, std::uint32_t lanes, std::uint32_t bytes);
}
