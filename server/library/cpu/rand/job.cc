#include "server/library/cpu/rand/job.h"

#include "schemas/rand/numbers/numbers.h"

namespace rouse::library::cpu {
namespace {

class NumbersJob final : public Job {
 public:
  NumbersJob(std::unique_ptr<rand::Numbers> numbers, std::uint64_t output) : numbers_(std::move(numbers)), output_(reinterpret_cast<std::byte*>(output)) {}
  std::uint64_t pieces() const override { return numbers_->pieces(); }
  void run(std::uint64_t piece) override { numbers_->make(piece, output_); }

 private:
  const std::unique_ptr<const rand::Numbers> numbers_;
  std::byte* const output_;
};

}  // namespace

std::unique_ptr<Job> makeNumbers(const rand::Generation& generation, std::span<const rand::Stretch> stretches) {
  return std::make_unique<NumbersJob>(rand::numbersOf(generation, stretches), generation.output);
}

}  // namespace rouse::library::cpu
