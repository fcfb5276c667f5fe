// One figure of the Torpor paper's evaluation each (ATC '25, section 7): simulated, beside what the paper's text says of it. Curves that
// only the picture has are not repeated here.
#pragma once

#include <filesystem>
#include <optional>

#include "tools/sim/options.h"
#include "tools/sim/report.h"

namespace rouse::sim {

struct Figures {
  WorkloadOptions workload;
  std::vector<std::size_t> counts = {160, 240, 320, 400, 480, 560, 640, 720};  // functions, of Figure 11
  std::optional<std::filesystem::path> svg;                                    // a folder

  // Each adds its section, and keys of its own, to the report.
  void table3(Json& report) const;
  void figure8(Json& report) const;
  void figure9(Json& report) const;
  void figure10(Json& report) const;
  void figure11(Json& report) const;
  void figure12(Json& report) const;
  void figure13(Json& report) const;

 private:
  void draw(const std::string& name, const std::string& picture) const;
  Setup setup(const std::string& node, const std::string& policy) const;
};

}  // namespace rouse::sim
