#include "server/roused/move_functions.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <memory>
#include <utility>

#include "server/roused/printable.h"

namespace rouse::daemon {
namespace {

constexpr std::array<std::string_view, 5> kVerbs = {"load", "unload", "pin", "unpin", "migrate"};

// A number that no session has may still be a name.
std::vector<const Session*> meant(const SessionTable& table, const std::string& function) {
  std::vector<const Session*> found;
  std::uint64_t number = 0;
  const char* end = function.data() + function.size();
  if (const auto read = std::from_chars(function.data(), end, number); read.ec == std::errc() && read.ptr == end) {
    const auto session = table.sessions().find(number);
    if (session != table.sessions().end() && session->second->state == Session::State::open) return {session->second.get()};
  }
  for (const auto& [id, session] : table.sessions())
    if (session->state == Session::State::open && session->who.name == function) found.push_back(session.get());
  return found;
}

bool mayMove(uid_t asker, const Session& session) {
  return asker == 0 || asker == ::geteuid() || asker == session.who.uid;
}

struct Asked {
  explicit Asked(boost::asio::io_context& io) : patience(io) {}
  channel::Moved moved;
  std::vector<bool> answered;  // by result
  std::size_t awaited = 1;     // one more than is asked: some answer at once
  boost::asio::steady_timer patience;
  std::function<void(Result<channel::Moved>)> done;

  void finish() {
    if (!done) return;
    patience.cancel();
    std::exchange(done, {})(std::move(moved));
  }
  void arrived() {
    if (--awaited == 0) finish();
  }
};

}  // namespace

void moveFunctions(boost::asio::io_context& io, const DevicePool& pool, SessionTable& table, const channel::Move& move, uid_t asker,
                   std::chrono::milliseconds patience, std::function<void(Result<channel::Moved>)> done) {
  const bool migrate = move.action == channel::MoveAction::migrate;
  if (migrate && move.gpu >= pool.links().size())
    return done(Error{CudaError::invalidDevice,
                      "there is no GPU " + std::to_string(move.gpu) + ": this pool has " + std::to_string(pool.links().size())});
  const std::vector<const Session*> sessions = meant(table, move.function);
  if (sessions.empty())
    return done(Error{CudaError::invalidValue, "no function '" + printable(move.function) +
                                                   "' is attached: rouse ps shows numbers and names of those that are"});
  auto asked = std::make_shared<Asked>(io);
  asked->done = std::move(done);
  struct Waking {
    std::uint64_t session;
    std::uint32_t device;
    std::size_t result;
  };
  std::vector<Waking> waking;
  std::vector<std::pair<std::uint64_t, std::size_t>> migrating;  // session, result
  for (const Session* session : sessions) {
    const bool may = mayMove(asker, *session);
    if (may) {
      spdlog::info("session {} ({}): {}, for user {}", session->id, session->who.name,
                   kVerbs[static_cast<std::size_t>(move.action)], asker);
    }
    for (const Session::Device& device : session->devices) {
      const std::uint32_t gpu = device.executor->ordinal();
      const std::size_t index = asked->moved.results.size();
      channel::Moved::Result& result =
          asked->moved.results.emplace_back(channel::Moved::Result{session->id, session->who.name, gpu, {}});
      asked->answered.push_back(true);
      if (!may) {
        result.status = Error{CudaError::notPermitted, "it belongs to user " + std::to_string(session->who.uid) +
                                                           ": only that user, root and the daemon's own user (" +
                                                           std::to_string(::geteuid()) + ") may ask this of it"};
      } else if (device.asleep && move.action == channel::MoveAction::unload) {
        result.status = {};  // it has left already
      } else if (device.asleep && !migrate) {
        asked->answered.back() = false;
        ++asked->awaited;
        waking.push_back({session->id, static_cast<std::uint32_t>(&device - session->devices.data()), index});
      } else if (!device.served() && !device.asleep) {
        result.status = Error{CudaError::devicesUnavailable, "this GPU was lost, and what it had of the function"};
      } else if (device.own && (move.action == channel::MoveAction::pin || move.action == channel::MoveAction::unpin)) {
        result.status = Error{CudaError::notSupported, "it is isolated: such functions cannot be pinned"};
      } else if (migrate && session->devices.size() > 1) {
        result.status = Error{CudaError::notSupported, "it has " + std::to_string(session->devices.size()) +
                                                           " GPUs: only functions with one are taken to another"};
      } else if (migrate) {
        asked->answered.back() = false;
        ++asked->awaited;
        migrating.push_back({session->id, index});
      } else {
        asked->answered.back() = false;
        ++asked->awaited;
        device.executor->request(channel::MoveSession{session->id, move.action}, {},
                                 [asked, index](Result<channel::Message> answer) {
                                   if (!asked->done) return;  // too late
                                   asked->answered[index] = true;
                                   Status& status = asked->moved.results[index].status;
                                   if (!answer) {
                                     status = answer.error();
                                   } else if (!std::holds_alternative<channel::Ok>(answer->body) &&
                                              !std::holds_alternative<channel::SessionMoved>(answer->body)) {
                                     status = Error{CudaError::unknown, "the executor answered with " +
                                                                            std::string(channel::name(answer->body))};
                                   }
                                   asked->arrived();
                                 });
      }
    }
  }
  // What it has comes with its first command.
  for (const auto& [session, device, index] : waking)
    table.wake(session, device, [asked, index](const Status& status) {
      if (!asked->done) return;  // too late
      asked->answered[index] = true;
      asked->moved.results[index].status = status;
      asked->arrived();
    });
  // Afterwards: one that answers at once may change what is looked through above.
  for (const auto& [session, index] : migrating) {
    table.migrate(session, 0, *pool.links()[move.gpu], [asked, index, gpu = move.gpu](const Status& status) {
      if (!asked->done) return;  // too late
      asked->answered[index] = true;
      asked->moved.results[index].status = status;
      if (status) asked->moved.results[index].gpu = gpu;
      asked->arrived();
    });
  }
  asked->patience.expires_after(patience);
  asked->patience.async_wait([asked, patience](const boost::system::error_code& error) {
    if (error) return;
    for (std::size_t i = 0; i < asked->answered.size(); ++i) {
      if (asked->answered[i]) continue;
      asked->moved.results[i].status = Error{
          CudaError::notReady, "its executor has not answered within " + std::to_string(patience.count()) + " ms"};
    }
    asked->finish();
  });
  asked->arrived();
}

}  // namespace rouse::daemon
