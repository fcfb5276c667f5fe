// What an unsupported function of a library does: it says so, and is counted where the daemon can see it.
#pragma once

#include <cstdint>
#include <string_view>

namespace rouse::library {

// `name`: its number in schemas/api/library_names.h. The library's own status is the caller's to return. Never throws.
void refuse(std::uint32_t name) noexcept;
// A served function, by its name, that cannot do what it is asked for. `why`: in words.
void refuse(std::string_view function, const char* why) noexcept;

}  // namespace rouse::library
