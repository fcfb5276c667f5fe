#include "tools/rouse/move.h"

#include <array>
#include <iostream>
#include <set>

#include "tools/rouse/daemon_client.h"
#include "tools/rouse/exit_codes.h"

namespace rouse::cli {
namespace {

// What is so afterwards, whether or not it was before.
constexpr std::array<std::string_view, 5> kOutcomes = {"resident", "at home", "pinned", "not pinned", "served there"};

}  // namespace

int move(const MoveOptions& options) {
  auto client = DaemonClient::connect(chooseSocket(options.socket).path);
  if (!client) {
    std::cerr << "rouse: " << client.error().message << "\n";
    return kUnreachable;
  }
  auto moved = client->move({options.function, options.action, options.gpu});
  if (!moved) {
    std::cerr << "rouse: " << moved.error().message << "\n";
    return kFailed;
  }
  const std::string_view outcome = kOutcomes[static_cast<std::size_t>(options.action)];
  std::set<std::uint64_t> sessions, failed;
  for (const auto& result : moved->results) {
    sessions.insert(result.sessionId);
    if (!result.status) failed.insert(result.sessionId);
    (result.status ? std::cout : std::cerr << "rouse: ")
        << "session " << result.sessionId << " (" << result.name << "), GPU " << result.gpu << ": "
        << (result.status ? outcome : result.status.error().message) << "\n";
  }
  if (sessions.size() > 1)
    std::cout << sessions.size() - failed.size() << " of " << sessions.size() << " sessions named '" << options.function
              << "' " << outcome << "\n";
  return failed.empty() ? kOk : kFailed;
}

}  // namespace rouse::cli
