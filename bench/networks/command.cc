#include "bench/networks/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>

#include "bench/networks/measure.h"
#include "bench/targets.h"

namespace rouse::bench {

void addNetworks(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("networks", "BERT, GPT-2, ResNet and U-Net on a GPU that holds half of them: alone, from home, all at once; each answer compared");
  auto options = std::make_shared<NetworksOptions>();
  auto asJson = std::make_shared<bool>(false);
  auto slack = std::make_shared<double>(0);
  command->add_flag("--json", *asJson, "Print one JSON object");
  command->add_option("--networks", options->only, "Some of them: bert_base, bert_large, gpt2, resnet50, resnet152, unet")->delimiter(',');
  command->add_option("--size", options->size, "small, or whole (default)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, NetworkSize>{{"small", NetworkSize::small}, {"whole", NetworkSize::whole}}));
  command->add_option("--repetitions", options->repetitions, "Of each request alone, and from home")->check(CLI::Range(1, 1000));
  command->add_option("--seconds", options->seconds, "Of all at once")->check(CLI::Range(0.1, 3600.0));
  command->add_option("--gpu-memory", options->gpuMib, "MiB of the GPU; 0: half of all models, or what the largest needs")->check(CLI::Range(0, 1 << 20));
  command->add_option("--device", options->device, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_option("--check", *slack, "Exit with 4 where a promised figure is missed by more than this factor (1: the promise itself)")->check(CLI::Range(1.0, 100.0));
  command->callback([options, asJson, slack, &status] {
    const nlohmann::json report = measureNetworks(*options);
    if (*asJson) {
      std::cout << report.dump(2) << '\n';
    } else {
      for (const auto& [key, value] : report.items())
        if (value.is_number()) std::printf("%-28s %.6g\n", key.c_str(), value.get<double>());
    }
    if (report.at("wrong") != 0) {
      std::cerr << "rouse-bench: wrong outputs\n";
      status = 1;
    } else if (report.at("swapped_in_bytes") == 0) {
      std::cerr << "rouse-bench: no model was swapped in: the GPU held them all, and nothing was shown\n";
      status = 1;
    } else if (*slack > 0) {
      for (const std::string& line : missedTargets(networksTargets(report.at("networks")), report, *slack)) {
        std::cerr << "missed: " << line << '\n';
        status = 4;
      }
    }
  });
}

}  // namespace rouse::bench
