#include "server/device/cpu/runtime/format.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace rouse::cpu {
namespace {

class Arguments {
 public:
  explicit Arguments(const std::byte* next) : next_(reinterpret_cast<std::uintptr_t>(next)) {}

  template <class T>
  T take() {
    next_ = (next_ + sizeof(T) - 1) & ~(sizeof(T) - 1);
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(next_), sizeof value);
    next_ += sizeof value;
    ++taken_;
    return value;
  }
  std::int32_t taken() const { return taken_; }

 private:
  std::uintptr_t next_;
  std::int32_t taken_ = 0;
};

// %[flags][width][.precision][length]conversion, with the stars filled in.
struct Specification {
  std::string flags;
  int width = -1;
  int precision = -1;
  std::size_t lengthBytes = 4;  // of an integer argument
  int narrow = 4;               // bytes that %hhd and %hd keep of it
  char conversion = 0;
  const char* end = nullptr;  // behind it
};

int number(const char*& at) {
  int value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) value = std::min(value * 10 + (*at - '0'), 1 << 20);
  return value;
}

Specification parse(const char* at, Arguments& arguments) {
  Specification spec;
  for (; *at != '\0' && std::strchr("-+ #0", *at) != nullptr; ++at) spec.flags += *at;
  if (*at == '*') {
    spec.width = arguments.take<std::int32_t>();
    if (spec.width < 0) {
      spec.flags += '-';
      spec.width = spec.width == INT32_MIN ? INT32_MAX : -spec.width;
    }
    ++at;
  } else if (*at >= '0' && *at <= '9') {
    spec.width = number(at);
  }
  if (*at == '.') {
    ++at;
    if (*at == '*') {
      spec.precision = arguments.take<std::int32_t>();
      ++at;
    } else {
      spec.precision = number(at);
    }
  }
  for (; *at != '\0' && std::strchr("hlLqjzt", *at) != nullptr; ++at) {
    if (*at == 'h') {
      spec.narrow /= 2;
    } else if (*at != 'L') {
      spec.lengthBytes = 8;
    }
  }
  spec.conversion = *at;
  spec.end = *at == '\0' ? at : at + 1;
  spec.width = std::min<int>(spec.width, kMaxFormattedBytes);
  spec.precision = std::min<int>(spec.precision, kMaxFormattedBytes);
  return spec;
}

std::string pattern(const Specification& spec, const char* length) {
  std::string text = "%" + spec.flags;
  if (spec.width >= 0) text += std::to_string(spec.width);
  if (spec.precision >= 0) text += "." + std::to_string(spec.precision);
  text += length;
  text += spec.conversion;
  return text;
}

template <class T>
void print(std::string& out, const std::string& pattern, T value) {
  char small[128];
  const int needed = std::snprintf(small, sizeof small, pattern.c_str(), value);
  if (needed < 0) return;
  if (static_cast<std::size_t>(needed) < sizeof small) {
    out.append(small, static_cast<std::size_t>(needed));
    return;
  }
  const std::size_t at = out.size();
  out.resize(at + static_cast<std::size_t>(needed) + 1);
  std::snprintf(out.data() + at, static_cast<std::size_t>(needed) + 1, pattern.c_str(), value);
  out.resize(at + static_cast<std::size_t>(needed));
}

void printSigned(std::string& out, const Specification& spec, Arguments& arguments) {
  std::int64_t value = spec.lengthBytes == 8 ? arguments.take<std::int64_t>() : arguments.take<std::int32_t>();
  if (spec.narrow == 2) value = static_cast<std::int16_t>(value);
  if (spec.narrow < 2) value = static_cast<std::int8_t>(value);
  print(out, pattern(spec, "ll"), static_cast<long long>(value));
}

void printUnsigned(std::string& out, const Specification& spec, Arguments& arguments) {
  std::uint64_t value = spec.lengthBytes == 8 ? arguments.take<std::uint64_t>() : arguments.take<std::uint32_t>();
  if (spec.narrow == 2) value = static_cast<std::uint16_t>(value);
  if (spec.narrow < 2) value = static_cast<std::uint8_t>(value);
  print(out, pattern(spec, "ll"), static_cast<unsigned long long>(value));
}

void printString(std::string& out, const Specification& spec, Arguments& arguments) {
  const char* text = arguments.take<const char*>();
  if (text == nullptr) text = "(null)";
  const std::size_t most = spec.precision >= 0 ? static_cast<std::size_t>(spec.precision) : kMaxFormattedBytes;
  const std::size_t bytes = strnlen(text, most);
  const std::size_t width = spec.width > 0 ? static_cast<std::size_t>(spec.width) : 0;
  const std::size_t padding = width > bytes ? width - bytes : 0;
  const bool left = spec.flags.find('-') != std::string::npos;
  if (!left) out.append(padding, ' ');
  out.append(text, bytes);
  if (left) out.append(padding, ' ');
}

// False for a conversion that is none: its text is printed as it stands.
bool printOne(std::string& out, const Specification& spec, Arguments& arguments) {
  switch (spec.conversion) {
    case 'd':
    case 'i':
      printSigned(out, spec, arguments);
      return true;
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      printUnsigned(out, spec, arguments);
      return true;
    case 'c':
      print(out, pattern(spec, ""), static_cast<int>(arguments.take<std::int32_t>()));
      return true;
    case 's':
      printString(out, spec, arguments);
      return true;
    case 'p':
      print(out, pattern(spec, ""), arguments.take<void*>());
      return true;
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      print(out, pattern(spec, ""), arguments.take<double>());
      return true;
    case '%':
      out += '%';
      return true;
    default:
      return false;
  }
}

}  // namespace

std::int32_t format(std::string& out, const char* format, const std::byte* packed) {
  Arguments arguments(packed);
  const std::size_t begin = out.size();
  while (*format != '\0' && out.size() - begin < kMaxFormattedBytes) {
    const char* percent = strchrnul(format, '%');
    out.append(format, std::min<std::size_t>(percent - format, kMaxFormattedBytes));
    if (*percent == '\0') break;
    const Specification spec = parse(percent + 1, arguments);
    if (!printOne(out, spec, arguments)) out.append(percent, spec.end);
    format = spec.end;
  }
  if (out.size() - begin > kMaxFormattedBytes) out.resize(begin + kMaxFormattedBytes);
  return arguments.taken();
}

}  // namespace rouse::cpu
