#include "tools/rouse/order.h"

#include <array>
#include <iostream>

#include "tools/rouse/daemon_client.h"
#include "tools/rouse/exit_codes.h"

namespace rouse::cli {
namespace {

int said(const Error& error, int code) {
  std::cerr << "rouse: " << error.message << "\n";
  return code;
}

}  // namespace

int order(const OrderOptions& options) {
  // The beginning is awaited, not the end: `rouse ps` shows that.
  constexpr std::array<std::string_view, 4> kBegun = {"is being started", "is being stopped", "is being restarted", ""};
  auto client = DaemonClient::connect(chooseSocket(options.socket).path);
  if (!client) return said(client.error(), kUnreachable);
  if (Status status = client->order({options.function, options.action}); !status) return said(status.error(), kFailed);
  if (options.action == channel::OrderAction::reload) {
    std::cerr << "Reloaded.\n";
  } else {
    std::cout << options.function << " " << kBegun[static_cast<std::size_t>(options.action)] << "\n";
  }
  return kOk;
}

int logs(const LogsOptions& options) {
  auto client = DaemonClient::connect(chooseSocket(options.socket).path);
  if (!client) return said(client.error(), kUnreachable);
  auto logs = client->logs({options.function, options.lines});
  if (!logs) return said(logs.error(), kFailed);
  std::cout << logs->text;
  return kOk;
}

}  // namespace rouse::cli
