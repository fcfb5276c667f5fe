// Sessions that change their executor: for another GPU's, or, isolated ones, for none while they have nothing to do.
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "server/roused/migration.h"
#include "server/roused/session_sleep.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {
namespace {

// Who cannot be woken is tried so often, so long apart: a shared executor may be on its way, say.
constexpr unsigned kMostWakings = 120;
constexpr std::chrono::milliseconds kBetweenWakings{250};

}  // namespace

void SessionTable::migrate(std::uint64_t id, std::uint32_t device, ExecutorLink& target, std::function<void(Status)> done) {
  Session* session = find(id);
  if (session == nullptr || session->state != Session::State::open) return done(Error{CudaError::invalidValue, "it has ended"});
  if (session->devices[device].asleep) {
    return wake(id, device, [this, id, device, &target, done](const Status& status) { status ? migrate(id, device, target, done) : done(status); });
  }
  if (session->devices[device].own && session->devices[device].executor->ordinal() == target.ordinal() && session->devices[device].served()) return done({});
  if (session->devices[device].executor == &target && session->devices[device].served() && !session->devices[device].moving)
    return done({});
  if (Status status = Migration::possible(*session, device, target); !status) return done(status.error());
  const Session::Device& moved = session->devices[device];
  if (!moved.own) return std::make_shared<Migration>(*this, *session, device, target, std::move(done))->start();
  pool_.isolated().take(target.ordinal(), moved.memoryLimit, pool_.isolated().homesOf(*moved.own),
                        [this, id, device, done = std::move(done)](Result<std::shared_ptr<ExecutorLink>> own) {
                          if (!own) return done(own.error());
                          Session* session = find(id);
                          Status possible = session == nullptr || session->state != Session::State::open
                                                ? Status(Error{CudaError::invalidValue, "it has ended"})
                                                : Migration::possible(*session, device, **own);
                          if (!possible) {
                            pool_.isolated().release(**own);
                            return done(possible);
                          }
                          std::make_shared<Migration>(*this, *session, device, **own, done, *own)->start();
                        });
}

void SessionTable::sleep(std::uint64_t id, std::uint32_t index, const channel::SessionUsage& usage, std::function<void(Status)> done) {
  Session* session = find(id);
  if (session == nullptr || session->state != Session::State::open) return done(Error{CudaError::invalidValue, "it has ended"});
  Session::Device& device = session->devices[index];
  if (!device.own || !device.served() || device.moving || device.loan || device.installing != 0 || session->segments.empty() ||
      !pool_.isolated().homesOf(*device.own))
    return done(Error{CudaError::notReady, "it cannot be taken off its executor now"});
  device.moving = true;
  ++session->awaited;
  device.executor->request(
      channel::ExportSession{id}, {}, [this, id, index, usage, done = std::move(done)](Result<channel::Message> answer) {
        Session& session = *find(id);  // which waits for this
        Session::Device& device = session.devices[index];
        auto* recipe = answer ? std::get_if<channel::SessionRecipe>(&answer->body) : nullptr;
        Status status = answer ? Status{} : Status{answer.error()};
        if (recipe != nullptr && session.state == Session::State::open && device.served()) {
          const auto& segments = session.segments;
          IsolatedExecutors::Kept kept = pool_.isolated().keep(*device.own);
          usage_.seen(id, index, usage);
          auto slept = kept.homes == nullptr ? Result<std::unique_ptr<SessionSleep>>(Error{CudaError::devicesUnavailable, "its executor has ended"})
                                             : SessionSleep::begin(patience_.get_executor(), segments.at(2 + 2 * index), segments.at(3 + 2 * index), std::move(*recipe), usage,
                                           std::move(kept));
          if (slept) {
            device.asleep = std::move(*slept);
            spdlog::debug("session {} ({}): asleep", id, session.who.name);
          } else {  // too few descriptors, say; and its executor has been ended
            status = slept.error();
            lose(session, index, slept.error());
          }
        }
        device.moving = false;
        settled(device);
        if (device.asleep) device.asleep->watch([this, id, index] { wake(id, index, [](const Status&) {}); });
        done(status);
        arrived(id);
      });
}

void SessionTable::settled(Session::Device& device) {
  for (const auto& waiting : std::exchange(device.whenSettled, {})) waiting();
}

void SessionTable::wake(std::uint64_t id, std::uint32_t index, std::function<void(Status)> done) {
  Session* session = find(id);
  if (session == nullptr || session->state != Session::State::open) return done(Error{CudaError::invalidValue, "it has ended"});
  Session::Device& device = session->devices[index];
  if (!device.asleep) return done({});
  SessionSleep& sleep = *device.asleep;
  sleep.waiting.push_back(std::move(done));
  if (std::exchange(sleep.waking, true)) return;
  spdlog::debug("session {} ({}): wakes", id, session->who.name);
  ++session->awaited;
  pool_.isolated().take(device.executor->ordinal(), device.memoryLimit, sleep.homes(),
                        [this, id, index, held = device.asleep](Result<std::shared_ptr<ExecutorLink>> own) {
                          Session& session = *find(id);
                          if (own && session.state != Session::State::open) {
                            pool_.isolated().release(**own);
                            own = Error{CudaError::invalidValue, "it has ended"};
                          }
                          if (!own) {
                            woken(id, index, own.error());
                          } else {
                            std::make_shared<Migration>(*this, session, index, **own, [this, id, index](const Status& status) { woken(id, index, status); }, *own,
                                                        held)
                                ->start();
                          }
                          arrived(id);
                        });
}

// Not woken, it sleeps on, and is tried again; for good it is lost.
void SessionTable::woken(std::uint64_t id, std::uint32_t index, const Status& status) {
  Session& session = *find(id);
  Session::Device& device = session.devices[index];
  const std::shared_ptr<SessionSleep> sleep = device.asleep;
  if (status || sleep == nullptr) return;  // Migration has told those who wait
  sleep->waking = false;
  if (session.state != Session::State::open) return;
  if (++sleep->failures < kMostWakings) {
    sleep->retry.expires_after(kBetweenWakings);
    sleep->retry.async_wait([this, id, index](const boost::system::error_code& error) {
      if (!error) wake(id, index, [](const Status&) {});
    });
    return spdlog::log(sleep->failures == 1 ? spdlog::level::warn : spdlog::level::debug, "session {} ({}): not woken: {}", id, session.who.name,
                       status.error().message);
  }
  device.asleep.reset();
  device.refused = true;
  lose(session, index, status.error());
  for (const auto& waiting : std::exchange(sleep->waiting, {})) waiting(status);
}

}  // namespace rouse::daemon
