#include "server/roused/liveness.h"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using rouse::daemon::Liveness;
using Step = Liveness::Step;

TEST_CASE("an executor that is asked and says nothing for the limit is given up, and not before") {
  Liveness liveness(80s);
  CHECK(liveness.interval() == 10s);
  CHECK(liveness.turn(10s) == Step::ask);
  for (int i = 0; i < 7; ++i) CHECK(liveness.turn(10s) == Step::nothing);
  CHECK(liveness.turn(10s) == Step::end);
}

TEST_CASE("whatever it says counts, and it is asked anew") {
  Liveness liveness(80s);
  for (int round = 0; round < 3; ++round) {
    CHECK(liveness.turn(10s) == Step::ask);
    for (int i = 0; i < 7; ++i) CHECK(liveness.turn(10s) == Step::nothing);
    liveness.heard();
  }
  CHECK(liveness.turn(10s) == Step::ask);
}

TEST_CASE("time in which the daemon did not come to look is nobody's silence") {
  Liveness liveness(80s);
  CHECK(liveness.turn(10s) == Step::ask);
  CHECK(liveness.turn(1h) == Step::nothing);
  for (int i = 0; i < 6; ++i) CHECK(liveness.turn(10s) == Step::nothing);
  CHECK(liveness.turn(1h) == Step::end);
}

TEST_CASE("it is asked every fifteen seconds at least, and however short the limit is not all the time") {
  CHECK(Liveness(1h).interval() == 15s);
  CHECK(Liveness(1ms).interval() == 1ms);
}
