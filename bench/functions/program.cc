#include "bench/functions/program.h"

#include <cstdio>
#include <cstdlib>

namespace networks {

int run(int argc, char** argv, const std::string& network, const std::string& presets, const std::function<std::unique_ptr<Network>(const Options&)>& make) {
  Options options;
  int status = 0;
  if (!parse(argc, argv, network, presets, options, status)) return status;
  const char* socket = std::getenv("ROUSE_FUNCTION_SOCKET");
  if (!options.once && socket == nullptr) {
    std::fprintf(stderr, "%s: ROUSE_FUNCTION_SOCKET does not say where to listen; --once answers once\n", network.c_str());
    return 2;
  }
  try {
    const std::unique_ptr<Network> made = make(options);
    if (!options.once) serve(socket, network, *made);
    Request request;
    request.parameters["seed"] = static_cast<std::int64_t>(options.inputSeed);
    request.parameters["all"] = 1;
    const std::string answer = answerOf(network, made->infer(request));
    for (int i = 1; i < options.repeat; ++i)
      if (answerOf(network, made->infer(request)) != answer) {
        std::fprintf(stderr, "%s: inference %d differs from the first one\n", network.c_str(), i + 1);
        return 1;
      }
    write(options, answer);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n", network.c_str(), error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", network.c_str(), error.what());
    return 1;
  }
}

}  // namespace networks
