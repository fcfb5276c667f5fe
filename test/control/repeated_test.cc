#include "server/roused/repeated.h"

#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <thread>

using namespace std::chrono_literals;
using rouse::daemon::Repeated;

TEST_CASE("what is repeated goes on until it is stopped, also by itself") {
  boost::asio::io_context io(1);
  int times = 0;
  Repeated* self = nullptr;
  Repeated repeated(io, [] { return 1ms; }, [&] { ++times == 5 ? self->stop() : void(); });
  self = &repeated;
  repeated.start();
  io.run_for(10s);
  CHECK(times == 5);
  CHECK(io.stopped());
}

TEST_CASE("what is stopped when its time is over, and its handler still to run, is not done and not repeated") {
  boost::asio::io_context io(1);
  int times = 0;
  Repeated repeated(io, [] { return 2ms; }, [&] { ++times; });
  boost::asio::steady_timer before(io, 1ms);
  before.async_wait([&](const boost::system::error_code&) { repeated.stop(); });
  repeated.start();
  // Both are found to be over at once.
  boost::asio::post(io, [] { std::this_thread::sleep_for(50ms); });
  io.run_for(1s);
  CHECK(times == 0);
  CHECK(io.stopped());  // nothing is left to wait for
}
