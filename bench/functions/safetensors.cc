#include "bench/functions/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace networks {
namespace {

constexpr std::uint64_t kMostHeader = std::uint64_t{16} << 20;
constexpr std::size_t kMostDimensions = 8;
constexpr std::size_t kMostTensors = 100'000;

// 0: a type that is not read here.
std::uint64_t bytesOf(const std::string& type) { return type == "F64" ? 8 : type == "F32" ? 4 : type == "F16" || type == "BF16" ? 2 : 0; }

std::string text(const std::vector<std::int64_t>& shape) {
  std::string all = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) all += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return all + "]";
}

float fromHalf(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent == 31  ? (fraction == 0 ? HUGE_VALF : NAN)
                     : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                     : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

void readAt(int fd, std::uint64_t at, void* to, std::uint64_t bytes, const std::string& what) {
  for (auto* next = static_cast<char*>(to); bytes > 0;) {
    const ssize_t got = pread(fd, next, std::min<std::uint64_t>(bytes, 1 << 30), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error(what + ": " + (got < 0 ? std::strerror(errno) : "the file has become shorter"));
    next += got, at += static_cast<std::uint64_t>(got), bytes -= static_cast<std::uint64_t>(got);
  }
}

}  // namespace

SafeTensors::SafeTensors(const std::string& path) : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
  try {
    struct stat file {};
    if (fstat(fd_, &file) != 0 || !S_ISREG(file.st_mode)) throw std::runtime_error(path + ": not a file");
    const auto size = static_cast<std::uint64_t>(file.st_size);
    if (size < 8) throw std::runtime_error(path + ": " + std::to_string(size) + " bytes are no safetensors file");
    unsigned char length[8];
    readAt(fd_, 0, length, sizeof length, path);
    std::uint64_t header = 0;
    for (int i = 7; i >= 0; --i) header = header << 8 | length[i];
    if (header > kMostHeader) throw std::runtime_error(path + ": a header of " + std::to_string(header) + " bytes; at most " + std::to_string(kMostHeader));
    if (header > size - 8) throw std::runtime_error(path + ": a header of " + std::to_string(header) + " bytes in a file of " + std::to_string(size));
    data_ = 8 + header;
    const std::uint64_t all = size - data_;
    std::string json(header, '\0');
    readAt(fd_, 8, json.data(), header, path);

    const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
    if (!parsed.is_object()) throw std::runtime_error(path + ": its header is no JSON object");
    if (parsed.size() > kMostTensors) throw std::runtime_error(path + ": " + std::to_string(parsed.size()) + " tensors; at most " + std::to_string(kMostTensors));
    for (const auto& [name, entry] : parsed.items()) {
      if (name == "__metadata__") continue;
      const std::string what = path + ": tensor " + name.substr(0, 200) + ": ";
      const auto type = entry.is_object() ? entry.find("dtype") : entry.end();
      const auto shape = entry.is_object() ? entry.find("shape") : entry.end();
      const auto offsets = entry.is_object() ? entry.find("data_offsets") : entry.end();
      if (type == entry.end() || !type->is_string() || shape == entry.end() || !shape->is_array() || offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 ||
          !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
        throw std::runtime_error(what + "needs dtype, shape and two data_offsets");
      Tensor tensor{type->get<std::string>(), {}, (*offsets)[0].get<std::uint64_t>(), (*offsets)[1].get<std::uint64_t>()};
      if (tensor.begin > tensor.end || tensor.end > all)
        throw std::runtime_error(what + "data_offsets " + std::to_string(tensor.begin) + " to " + std::to_string(tensor.end) + " in " + std::to_string(all) + " bytes");
      if (shape->size() > kMostDimensions) throw std::runtime_error(what + std::to_string(shape->size()) + " dimensions; at most " + std::to_string(kMostDimensions));
      std::uint64_t count = 1;
      for (const auto& dimension : *shape) {
        const std::uint64_t length = dimension.is_number_unsigned() ? dimension.get<std::uint64_t>() : ~std::uint64_t{0};
        if (length > std::uint64_t{1} << 40 || __builtin_mul_overflow(count, length, &count)) throw std::runtime_error(what + "a dimension of " + dimension.dump().substr(0, 40));
        tensor.shape.push_back(static_cast<std::int64_t>(length));
      }
      // Other types than those that are read are nobody's weights here: they may lie beside them.
      std::uint64_t bytes = 0;
      if (const std::uint64_t each = bytesOf(tensor.type); each != 0 && (__builtin_mul_overflow(count, each, &bytes) || bytes != tensor.end - tensor.begin))
        throw std::runtime_error(what + text(tensor.shape) + " of " + tensor.type + " in " + std::to_string(tensor.end - tensor.begin) + " bytes");
      tensors_.emplace(name, std::move(tensor));
    }
  } catch (...) {
    close(fd_);
    throw;
  }
}

SafeTensors::~SafeTensors() { close(fd_); }

std::vector<float> SafeTensors::read(const std::string& name, const std::vector<std::int64_t>& shape) const {
  const std::string what = path_ + ": tensor " + name + ": ";
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw std::runtime_error(what + "there is none");
  const Tensor& tensor = found->second;
  if (tensor.shape != shape) throw std::runtime_error(what + "shape " + text(tensor.shape) + " instead of " + text(shape));
  const std::uint64_t each = bytesOf(tensor.type);
  if (each == 0) throw std::runtime_error(what + "type " + tensor.type.substr(0, 20) + "; read are F64, F32, F16 and BF16");
  const std::uint64_t count = (tensor.end - tensor.begin) / each;
  std::vector<float> numbers(count);
  if (tensor.type == "F32") {
    readAt(fd_, data_ + tensor.begin, numbers.data(), count * 4, what);
  } else if (tensor.type == "F64") {
    std::vector<double> wide(count);
    readAt(fd_, data_ + tensor.begin, wide.data(), count * 8, what);
    std::copy(wide.begin(), wide.end(), numbers.begin());
  } else {
    std::vector<std::uint16_t> narrow(count);
    readAt(fd_, data_ + tensor.begin, narrow.data(), count * 2, what);
    for (std::uint64_t i = 0; i < count; ++i) numbers[i] = tensor.type == "F16" ? fromHalf(narrow[i]) : std::bit_cast<float>(static_cast<std::uint32_t>(narrow[i]) << 16);
  }
  return numbers;
}

}  // namespace networks
