// Where a device is on the PCI bus, as text and as numbers.
#pragma once

#include <cstdio>

namespace rouse {

struct PciAddress {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  bool operator==(const PciAddress&) const = default;
};

// "[domain:]bus:device[.function]", hexadecimal.
inline bool parsePciAddress(const char* text, PciAddress* address) {
  PciAddress a;
  int end = 0;
  const auto complete = [&] { return end > 0 && text[end] == '\0'; };
  if (std::sscanf(text, "%x:%x:%x.%x%n", &a.domain, &a.bus, &a.device, &a.function, &end) != 4 || !complete()) {
    a = {};
    end = 0;
    if (std::sscanf(text, "%x:%x.%x%n", &a.bus, &a.device, &a.function, &end) != 3 || !complete()) {
      a = {};
      end = 0;
      if (std::sscanf(text, "%x:%x:%x%n", &a.domain, &a.bus, &a.device, &end) != 3 || !complete()) {
        a = {};
        end = 0;
        if (std::sscanf(text, "%x:%x%n", &a.bus, &a.device, &end) != 2 || !complete()) return false;
      }
    }
  }
  *address = a;
  return true;
}

}  // namespace rouse
