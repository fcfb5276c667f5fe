// rouse-bench: measures the pool, one subcommand a subject. Figures are medians; rivals run in the same process and minute.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "bench/kernels/command.h"
#include "bench/networks/command.h"
#include "bench/remoting/command.h"
#include "bench/serve/command.h"
#include "bench/serve/demo.h"
#include "bench/swap/command.h"

int main(int argc, char** argv) {
  CLI::App app{"Benchmarks of the Rouse GPU pool", "rouse-bench"};
  app.require_subcommand(1);
  app.footer("Exit codes: 0 measured, 1 a measurement failed or an output was wrong, 2 usage, 4 a promised figure is missed (--check).");
  int status = 0;
  rouse::bench::addRemoting(app, status);
  rouse::bench::addSwap(app, status);
  rouse::bench::addServe(app, status);
  rouse::bench::addDemo(app, status);
  rouse::bench::addKernels(app, status);
  rouse::bench::addNetworks(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << "rouse-bench: " << error.what() << '\n';
    return 1;
  }
  return status;
}
