// The pool's GPUs and attached functions as the scheduler's decisions are carried out on them (server/scheduling/fleet.h): a function by its
// name is the session that the process the daemon has started attached; others may bear its name, and are not it. One with several sessions, or with several GPUs, is tied to where it is.
//
// Looks at the executors every kBetweenLooks for what functions have been promised since, and at sessions whenever told to.
//
// On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/events.h"
#include "server/roused/device_pool.h"
#include "server/roused/session_table.h"
#include "server/scheduling/fleet.h"

namespace rouse::daemon {

class SessionFleet final : public scheduling::Fleet {
 public:
  static constexpr std::chrono::milliseconds kBetweenLooks{200};

  struct Events {
    // A function's whereabouts have changed; none: it is not attached.
    std::function<void(const std::string& function, std::optional<scheduling::Whereabouts>)> onFunction;
    // Once for each GPU, when it serves for the first time; then whenever it ceases to, and does again.
    std::function<void(std::uint32_t ordinal, const sched::GpuSpec&)> onGpu;
    // This GPU can copy from that one, and both have been told of.
    std::function<void(std::uint32_t ordinal, const sched::Peer&)> onPeer;
    std::function<void(std::uint32_t ordinal)> onGpuLost, onGpuReturned;
  };
  // `slots`: requests that one GPU runs at a time.
  SessionFleet(boost::asio::io_context&, DevicePool&, SessionTable&, std::uint32_t slots, Events);

  // Begins to look, and tells what there is.
  void start();
  void stop();
  // Sessions have begun or ended, or GPUs have ceased to serve or do again.
  void look();

  std::optional<scheduling::Whereabouts> whereIs(const std::string& function) const override;
  void take(const std::string& function, std::uint32_t gpu, Done) override;
  void whenHere(const std::string& function, Done) override;
  scheduling::Arrived lastArrival(const std::string& function) const override;
  void release(const std::string& function, std::uint64_t bytes) override;

 private:
  struct Coming {
    bool under = false;  // way
    std::vector<Done> waiting;
  };

  // Of a session, so far in all; and of its last arrival.
  struct Brought {
    scheduling::Arrived sum, last;
  };

  // To another GPU.
  struct Moving {
    std::uint32_t gpu = 0;
    std::vector<Done> waiting;  // besides the first, who is told by the migration
  };

  struct Named {
    std::uint64_t first = 0;  // session
    std::size_t sessions = 0;
  };

  const Session* sessionOf(const std::string& function) const;
  void load(std::uint64_t session);
  void noteArrival(const channel::SessionUsage&);
  void askExecutors();
  void tellChanges();
  void tellOf(const ExecutorLink&);

  boost::asio::io_context& io_;
  DevicePool& pool_;
  SessionTable& sessions_;
  const std::uint32_t slots_;
  Events events_;
  boost::asio::steady_timer timer_;
  bool running_ = false;
  std::size_t awaited_ = 0;  // answers of executors
  std::unordered_map<std::uint64_t, std::uint64_t> promised_;  // bytes, by session
  std::map<std::string, Named> named_;  // as of the last look
  std::map<std::string, scheduling::Whereabouts> told_;
  std::map<std::uint32_t, bool> gpus_;  // told of; whether it served
  std::map<std::string, std::uint32_t> ways_;  // to the host that several share, and what the scheduler knows them as
  std::unordered_map<std::uint64_t, Coming> coming_;  // by session
  std::unordered_map<std::uint64_t, Moving> moving_;    // by session
  std::unordered_map<std::uint64_t, Brought> brought_;  // by session
};

}  // namespace rouse::daemon
