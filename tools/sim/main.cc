// rouse-sim: the scheduler under virtual time, one subcommand a question.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "tools/sim/command_run.h"
#include "tools/sim/command_scale.h"
#include "tools/sim/command_torpor.h"
#include "tools/sim/options.h"

int main(int argc, char** argv) {
  CLI::App app{"Simulates the Rouse scheduler on a node's GPUs and links", "rouse-sim"};
  app.require_subcommand(1);
  app.footer("Exit codes: 0 simulated, 1 failed, 2 usage, 4 a promised figure is missed (--check).");
  int status = 0;
  rouse::sim::addTorpor(app, status);
  rouse::sim::addRun(app, status);
  rouse::sim::addScale(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  } catch (const rouse::sim::UsageError& error) {
    std::cerr << "rouse-sim: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "rouse-sim: " << error.what() << '\n';
    return 1;
  }
  return status;
}
