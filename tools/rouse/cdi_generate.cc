#include "tools/rouse/cdi_generate.h"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "server/installation/installation.h"
#include "server/roused/cdi.h"
#include "tools/rouse/daemon_client.h"
#include "tools/rouse/exit_codes.h"

namespace rouse::cli {
namespace {

// Where the daemon has them, if one answers; else this installation's own.
std::string clientLibraries(const std::string& socket) {
  auto client = DaemonClient::connect(socket);
  auto reply = client ? client->status(false) : Result<channel::StatusReply>(client.error());
  if (reply) {
    const nlohmann::json report = nlohmann::json::parse(reply->json, nullptr, false);
    if (!report.is_discarded() && report.value("schema", 0) == 1) {
      if (const std::string told = report["daemon"].value("client_libraries", ""); !told.empty()) return told;
    }
  }
  return installation::ownParts().clientLibraries;
}

}  // namespace

int cdiGenerate(const CdiOptions& options) {
  const std::string socket = std::filesystem::absolute(chooseSocket(options.socket).path);
  auto text = daemon::cdiSpec(socket, clientLibraries(socket));
  if (!text) {
    std::cerr << "rouse: " << text.error().message << "\n";
    return kFailed;
  }
  if (options.output.empty()) {
    std::cout << *text;
    return kOk;
  }
  if (Status written = daemon::writeCdi(options.output, *text); !written) {
    std::cerr << "rouse: " << written.error().message << "\n";
    return kFailed;
  }
  return kOk;
}

}  // namespace rouse::cli
