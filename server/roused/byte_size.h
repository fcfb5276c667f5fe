// Sizes as people write them: "2GiB", "512 MiB", "64KiB", "1G" (binary), "4096" (bytes).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rouse::daemon {

// Bytes; nullopt for anything that is not a size or does not fit 63 bits.
std::optional<std::uint64_t> parseByteSize(std::string_view text);

// The shortest exact or rounded form: "1.5 GiB", "512 MiB", "12 B".
std::string formatByteSize(std::uint64_t bytes);

}  // namespace rouse::daemon
