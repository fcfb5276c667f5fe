#include "tools/rouse/top.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <thread>

#include "tools/rouse/daemon_client.h"
#include "tools/rouse/exit_codes.h"
#include "tools/rouse/table.h"
#include "tools/rouse/terminal.h"
#include "tools/rouse/top_view.h"

namespace rouse::cli {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Report {
  ordered_json json;
  Clock::time_point at;
};

Result<Report> look(DaemonClient& client) {
  auto reply = client.status(false);
  if (!reply) return std::move(reply).error();
  Report report{ordered_json::parse(reply->json, nullptr, false), Clock::now()};
  if (report.json.is_discarded() || report.json.value("schema", 0) != 1)
    return Error{CudaError::systemNotReady, "the daemon reports in a form this tool does not know"};
  return report;
}

Clock::duration seconds(double value) { return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value)); }

// What is shown is about the time between two looks: the first two are close together.
constexpr double kFirst = 0.5;

}  // namespace

int top(const TopOptions& options) {
  const auto unreachable = [](const Error& error) {
    std::cerr << "rouse: " << error.message << "\n";
    return kUnreachable;
  };
  auto client = DaemonClient::connect(chooseSocket(options.socket).path);
  if (!client) return unreachable(client.error());
  auto before = look(*client);
  if (!before) return unreachable(before.error());

  std::optional<Error> failure;
  {
    std::optional<Terminal> terminal;
    if (!options.json && Terminal::possible()) terminal.emplace();
    std::optional<TopFrame> frame;
    const auto show = [&] {
      if (!frame) return;
      if (terminal) {
        const Terminal::Size size = terminal->size();
        terminal->draw(topLines(*frame, {size.width, size.height, colours(STDOUT_FILENO)}));
      } else if (options.json) {
        std::cout << toJson(*frame).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
      } else {
        for (const std::string& line : topLines(*frame, {})) std::cout << line << "\n";
        std::cout << std::endl;
      }
    };
    Clock::time_point next = before->at + seconds(std::min(options.delay, kFirst));
    for (unsigned shown = 0; options.iterations == 0 || shown < options.iterations; ++shown) {
      bool quit = false;
      for (bool due = false; !due && !quit;) {
        if (!terminal) {
          std::this_thread::sleep_until(next);
          due = true;
          continue;
        }
        const Terminal::Event event = terminal->wait(next);
        if (event == Terminal::Event::redraw) show();
        due = event == Terminal::Event::timeout;
        quit = event == Terminal::Event::quit;
      }
      if (quit) break;
      auto now = look(*client);
      if (!now) {
        failure = now.error();
        break;
      }
      frame = topFrame(before->json, now->json, std::max(1e-3, std::chrono::duration<double>(now->at - before->at).count()));
      sortFunctions(frame->functions, options.sort);
      show();
      if (!std::cout) break;  // nobody reads it
      before = std::move(now);
      next = Clock::now() + seconds(options.delay);
    }
  }
  return failure ? unreachable(*failure) : kOk;
}

}  // namespace rouse::cli
