// A transform is one step an axis: all lines along it. What passes between steps is in the output where that can hold it, else in memory of the job's own.
// Small transforms of a batch are done whole, several a piece; of others each step is a phase, cut by lines.
#include "server/library/cpu/fft/job.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "schemas/fft/check.h"
#include "server/library/cpu/fft/lines.h"

namespace rouse::library::cpu {
namespace {

using fft::Transform;

// Of one transform of a batch, as it is between steps: up to this it is done whole, in a processor's own cache.
constexpr std::uint64_t kWholeBytes = std::uint64_t{512} << 10;
// What a piece should transform, so that it is worth being one.
constexpr std::int64_t kPieceElements = 1 << 16;
// Of transforms that need memory between steps, so many at a time.
constexpr std::uint64_t kRoundBytes = std::uint64_t{64} << 20;
// Beginnings of lines are found so many at once.
constexpr std::size_t kLines = 64;

// One side, or what is between them, in elements of `type`.
struct Array {
  std::byte* base = nullptr;
  fft::Type type{};
  std::int64_t strides[fft::kMostRank] = {};
  std::int64_t distance = 0;
};

enum class Place : std::uint8_t { input, between, output };

struct Step {
  LineKind kind = LineKind::complex;
  std::uint32_t axis = 0;
  Place from = Place::input, to = Place::output;
  std::shared_ptr<const LineTransform> transform;
  std::int64_t lines[fft::kMostRank] = {};         // of a transform of the batch: along each other axis; 1 along this one
  std::int64_t length = 0;                         // elements of a line
};

struct Freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};
std::unique_ptr<std::byte, Freed> memoryOf(std::uint64_t bytes) {
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  if (memory == nullptr) throw std::bad_alloc();
  return std::unique_ptr<std::byte, Freed>(memory);
}

std::int64_t reachOf(const Transform& transform, bool output, const Array& side, std::uint32_t axis) {
  return (fft::sizeOf(transform, output, axis) - 1) * side.strides[axis] + 1;
}

class TransformJob final : public Job {
 public:
  explicit TransformJob(const Transform& transform) : transform_(transform), isDouble_(transform.executionType == fft::Type::c64) {
    in_ = sideOf(false);
    out_ = sideOf(true);
    forward_ = transform.direction == fft::Direction::forward;
  }

  // Empty: it is ready.
  std::string plan() {
    const bool realIn = !fft::isComplex(transform_.inType), realOut = !fft::isComplex(transform_.outType);
    const bool overlap = overlaps(), apart = !overlap || congruent();
    const bool small = fft::bytesOf(fft::realOf(transform_.executionType)) == 2;
    // Where steps pass on what they have made: the input's own place where a real output is there as well, the output where it has the same elements.
    const bool inInput = realOut && overlap && apart && !small;
    const bool inOutput = !realOut && apart && !small;
    const std::uint32_t last = transform_.rank - 1;
    std::vector<std::uint32_t> axes;
    for (std::uint32_t i = 0; i < transform_.rank; ++i) axes.push_back(realOut ? i : last - i);  // the real side's axis is the one that is halved
    for (const std::uint32_t axis : axes) {
      Step step;
      step.axis = axis;
      step.kind = axis != last ? LineKind::complex : realIn ? LineKind::realToComplex : realOut ? LineKind::complexToReal : LineKind::complex;
      steps_.push_back(step);
    }
    if (!apart && transform_.rank == 1) {
      // All is read before anything is written.
      Step copy;
      copy.kind = LineKind::copy;
      steps_.insert(realOut ? steps_.begin() : steps_.end(), copy);
    }
    const Place between = inInput ? Place::input : inOutput ? Place::output : Place::between;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      steps_[i].from = i == 0 ? Place::input : between;
      steps_[i].to = i + 1 == steps_.size() ? Place::output : between;
    }
    usesBetween_ = between == Place::between && steps_.size() > 1;
    std::int64_t stride = 1;
    between_.type = isDouble_ ? fft::Type::c64 : fft::Type::c32;
    for (std::uint32_t axis = transform_.rank; axis-- > 0;) {
      between_.strides[axis] = stride;
      stride *= spectrumOf(axis);
    }
    between_.distance = stride;
    entryBytes_ = static_cast<std::uint64_t>(stride) * fft::bytesOf(between_.type);
    return makeSteps(apart);
  }

  std::uint64_t pieces() const override {
    if (whole_) return static_cast<std::uint64_t>((transform_.batch + wholePerPiece_ - 1) / wholePerPiece_);
    if (serial_) return 1;
    const std::int64_t per = linesPerPiece(steps_[step_]);
    return static_cast<std::uint64_t>((linesOf(steps_[step_]) + per - 1) / per);
  }

  void run(std::uint64_t piece) override {
    if (whole_) {
      const std::int64_t first = static_cast<std::int64_t>(piece) * wholePerPiece_, end = std::min(first + wholePerPiece_, transform_.batch);
      const auto memory = usesBetween_ ? memoryOf(entryBytes_) : nullptr;
      for (std::int64_t entry = first; entry < end; ++entry)
        for (const Step& step : steps_) runLines(step, entry, 0, linesOf(step), memory.get());
      return;
    }
    const Step& step = steps_[step_];
    const std::int64_t lines = linesOf(step), per = serial_ ? lines : linesPerPiece(step), first = static_cast<std::int64_t>(piece) * per;
    runLines(step, round_ * perRound_, first, std::min(per, lines - first), memory_.get());
  }

  bool advance() override {
    if (whole_) return false;
    if (++step_ < steps_.size()) return true;
    step_ = 0;
    return ++round_ * perRound_ < transform_.batch;
  }

 private:
  Array sideOf(bool output) const {
    const fft::Layout layout = fft::layoutOf(transform_, output);
    Array side;
    side.base = reinterpret_cast<std::byte*>(output ? transform_.output : transform_.input);
    side.type = output ? transform_.outType : transform_.inType;
    side.distance = transform_.batch > 1 ? layout.distance : 0;
    for (std::uint32_t axis = 0; axis < transform_.rank; ++axis)
      side.strides[axis] = fft::sizeOf(transform_, output, axis) > 1 ? fft::strideOf(layout, transform_.rank, axis) : 0;
    return side;
  }

  // Elements of the complex side.
  std::int64_t spectrumOf(std::uint32_t axis) const {
    return std::min(fft::sizeOf(transform_, false, axis), fft::sizeOf(transform_, true, axis));
  }

  bool overlaps() const {
    fft::Ranges found;
    if (!fft::ranges(transform_, found)) return true;
    const fft::Range &in = found.ranges[0], &out = found.ranges[1];
    return in.address < out.address + out.bytes && out.address < in.address + in.bytes;
  }

  // Whether each line lies where it was, and no other line of the other side does: then lines can be transformed in place, in any order.
  bool congruent() const {
    if (!fft::isInPlace(transform_)) return false;
    const std::int64_t inBytes = fft::bytesOf(in_.type), outBytes = fft::bytesOf(out_.type);
    const std::uint32_t last = transform_.rank - 1;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const auto same = [&](std::int64_t in, std::int64_t out) {
      if (in * inBytes != out * outBytes) return false;
      least = std::min(least, in * inBytes);
      return true;
    };
    for (std::uint32_t axis = 0; axis < last; ++axis)
      if (transform_.dims[axis] > 1 && !same(in_.strides[axis], out_.strides[axis])) return false;
    if (transform_.batch > 1 && !same(in_.distance, out_.distance)) return false;
    if (inBytes == outBytes && in_.strides[last] == out_.strides[last]) return true;
    return reachOf(transform_, false, in_, last) * inBytes <= least && reachOf(transform_, true, out_, last) * outBytes <= least;
  }

  std::string makeSteps(bool apart) {
    std::uint64_t bytes = 0, most = 0;
    for (Step& step : steps_) {
      for (std::uint32_t axis = 0; axis < fft::kMostRank; ++axis) step.lines[axis] = axis < transform_.rank && axis != step.axis ? spectrumOf(axis) : 1;
      step.length = step.kind == LineKind::copy ? spectrumOf(step.axis) : transform_.dims[step.axis];
      const LineCosts costs = costsOf(step.kind, isDouble_, step.length);
      bytes += costs.bytes;
      most = std::max(most, costs.workBytes);
    }
    serial_ = most > kMostPieceBytes;  // one piece at a time, with memory of the job's
    if (serial_) bytes += most;
    // Several transforms may lie in each other where sides overlap otherwise: all at once then.
    whole_ = apart && !serial_ && transform_.rank > 1 && entryBytes_ <= kWholeBytes;
    perRound_ = usesBetween_ && apart ? std::max<std::int64_t>(1, static_cast<std::int64_t>(kRoundBytes / entryBytes_)) : transform_.batch;
    perRound_ = std::min(perRound_, transform_.batch);
    const bool keeps = usesBetween_ && !whole_;
    const double needed = static_cast<double>(bytes) + (keeps ? static_cast<double>(perRound_) * static_cast<double>(entryBytes_) : 0);
    if (needed > static_cast<double>(kMostJobBytes)) return refusal(needed);
    for (Step& step : steps_) step.transform = lineTransform(step.kind, isDouble_, step.length);
    if (keeps) memory_ = memoryOf(static_cast<std::uint64_t>(perRound_) * entryBytes_);
    const std::int64_t elements = std::max<std::int64_t>(1, between_.distance * transform_.rank);
    wholePerPiece_ = std::max<std::int64_t>(1, kPieceElements / elements);
    return {};
  }

  static std::string refusal(double bytes) {
    char text[160];
    std::snprintf(text, sizeof text, "cuFFT on the CPU device: a transform: %.0f bytes of working memory for as long as it runs; at most %llu", bytes,
                  static_cast<unsigned long long>(kMostJobBytes));
    return text;
  }

  std::int64_t entriesOf() const { return whole_ ? 1 : std::min(perRound_, transform_.batch - round_ * perRound_); }
  std::int64_t linesOf(const Step& step) const { return step.lines[0] * step.lines[1] * step.lines[2] * entriesOf(); }
  std::int64_t linesPerPiece(const Step& step) const {
    const auto together = static_cast<std::int64_t>(step.transform->together);
    return std::max<std::int64_t>(1, kPieceElements / step.length / together) * together;
  }

  // `entry`: the first of the round; what is between steps begins with it.
  void runLines(const Step& step, std::int64_t entry, std::int64_t first, std::int64_t count, std::byte* memory) const {
    const auto at = [&](Place place) {
      Array array = place == Place::input ? in_ : place == Place::output ? out_ : between_;
      if (place == Place::between) array.base = memory;
      else array.base += entry * array.distance * static_cast<std::int64_t>(fft::bytesOf(array.type));
      return array;
    };
    const Array from = at(step.from), to = at(step.to);
    std::int64_t begins[kLines], ends[kLines];
    std::int64_t place[fft::kMostRank + 1];  // of the next line: entry, then axes
    std::int64_t left = first;
    for (std::uint32_t axis = fft::kMostRank; axis-- > 0;) {
      place[axis + 1] = left % step.lines[axis];
      left /= step.lines[axis];
    }
    place[0] = left;
    for (std::int64_t done = 0; done < count;) {
      const auto now = static_cast<std::size_t>(std::min<std::int64_t>(kLines, count - done));
      for (std::size_t i = 0; i < now; ++i) {
        begins[i] = place[0] * from.distance;
        ends[i] = place[0] * to.distance;
        for (std::uint32_t axis = 0; axis < fft::kMostRank; ++axis) {
          begins[i] += place[axis + 1] * from.strides[axis];
          ends[i] += place[axis + 1] * to.strides[axis];
        }
        for (std::uint32_t axis = fft::kMostRank; axis-- > 0;) {
          if (++place[axis + 1] < step.lines[axis]) break;
          place[axis + 1] = 0;
          if (axis == 0) ++place[0];
        }
      }
      const LineArray in{from.base, from.type, from.strides[step.axis]}, out{to.base, to.type, to.strides[step.axis]};
      step.transform->run(in, out, begins, ends, now, forward_);
      done += static_cast<std::int64_t>(now);
    }
  }

  const Transform transform_;
  const bool isDouble_;
  bool forward_ = true;
  bool usesBetween_ = false, whole_ = false, serial_ = false;
  Array in_, out_, between_;
  std::uint64_t entryBytes_ = 0;  // of what is between steps, of one transform
  std::vector<Step> steps_;
  std::int64_t perRound_ = 1, wholePerPiece_ = 1;
  std::unique_ptr<std::byte, Freed> memory_;
  std::int64_t round_ = 0;
  std::size_t step_ = 0;
};

}  // namespace

Result<std::unique_ptr<Job>> makeTransform(const fft::Transform& transform) {
  auto job = std::make_unique<TransformJob>(transform);
  if (std::string refusal = job->plan(); !refusal.empty()) return Error{CudaError::notSupported, std::move(refusal)};
  return std::unique_ptr<Job>(std::move(job));
}

}  // namespace rouse::library::cpu
