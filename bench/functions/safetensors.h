// A file of tensors (https://huggingface.co/docs/safetensors: 8 bytes that say how long the header is, the header as JSON, bytes). Nothing in
// it is trusted: whatever does not fit is an error that names the file, the tensor and the limit, before anything is read by it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace networks {

class SafeTensors {
 public:
  // Reads and checks the header. Throws std::runtime_error.
  explicit SafeTensors(const std::string& path);
  ~SafeTensors();
  SafeTensors(const SafeTensors&) = delete;

  const std::string& path() const { return path_; }
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  // Of F64, F32, F16 or BF16. Throws std::runtime_error where there is none of this name and shape.
  std::vector<float> read(const std::string& name, const std::vector<std::int64_t>& shape) const;

 private:
  struct Tensor {
    std::string type;
    std::vector<std::int64_t> shape;
    std::uint64_t begin, end;  // behind the header; checked to be in the file and as long as type and shape say
  };
  std::string path_;
  int fd_;
  std::uint64_t data_ = 0;  // where the bytes begin
  std::map<std::string, Tensor> tensors_;
};

}  // namespace networks
