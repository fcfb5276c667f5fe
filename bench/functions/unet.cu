// A U-Net as a function: an image in ("image": planes, height, width), as large an image with a number for each class at each place out ("classes").
// All of it by cuDNN's classic API: convolutions with bias and ReLU, pools, transposed convolutions.
#include "bench/functions/device/convolutions.h"

namespace networks {
namespace {

// A convolution with a bias.
template <class T>
class Biased {
 public:
  Biased(const Dnn& dnn, const Tensors<T>& tensors, Extent in, const std::string& name, int out, int side)
      : convolution_(dnn, in, out, side, 1, side / 2, tensors[name + ".weight"]), biasDescriptor_(describe<T>({out, 1, 1})), bias_(tensors[name + ".bias"]) {}
  Extent out() const { return convolution_.out(); }
  std::size_t workspace() const { return convolution_.workspace(); }
  cudnnTensorDescriptor_t outDescriptor() const { return convolution_.outDescriptor(); }
  void run(const Dnn& dnn, const T* x, T* y, const Buffer<char>& workspace) const {
    const float one = 1;
    convolution_.run(dnn, x, y, workspace);
    CHECK(cudnnAddTensor(dnn.handle, &one, biasDescriptor_, bias_, &one, outDescriptor(), y));
  }

 private:
  Convolution<T> convolution_;
  TensorDescriptor biasDescriptor_;
  const T* bias_;
};

// Two 3x3 convolutions, a ReLU behind each.
template <class T>
class Pair {
 public:
  Pair(const Dnn& dnn, const Tensors<T>& tensors, Extent in, const std::string& name, int out) : first_(dnn, tensors, in, name + ".conv1", out, 3), second_(dnn, tensors, first_.out(), name + ".conv2", out, 3) {}
  Extent out() const { return second_.out(); }
  std::size_t workspace() const { return std::max(first_.workspace(), second_.workspace()); }
  void run(const Dnn& dnn, const Relu& relu, const T* x, T* between, T* y, const Buffer<char>& workspace) const {
    first_.run(dnn, x, between, workspace);
    relu.run(dnn, first_.outDescriptor(), between);
    second_.run(dnn, between, y, workspace);
    relu.run(dnn, second_.outDescriptor(), y);
  }

 private:
  Biased<T> first_, second_;
};

// A transposed convolution of 2x2 at a stride of 2: twice the size. As always in cuDNN, it is how data go backwards through a convolution.
template <class T>
class Up {
 public:
  Up(const Dnn& dnn, const Tensors<T>& tensors, Extent in, const std::string& name, int out)
      : out_{out, 2 * in.height, 2 * in.width}, x_(describe<T>(in)), y_(describe<T>(out_)), biasDescriptor_(describe<T>({out, 1, 1})), weights_(tensors[name + ".weight"]), bias_(tensors[name + ".bias"]) {
    CHECK(cudnnSetFilter4dDescriptor(filter_, kDataType<T>, CUDNN_TENSOR_NCHW, in.channels, out, 2, 2));
    CHECK(cudnnSetConvolution2dDescriptor(convolution_, 0, 0, 2, 2, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    cudnnConvolutionBwdDataAlgoPerf_t found;
    int count = 0;
    CHECK(cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn.handle, filter_, x_, convolution_, y_, 1, &count, &found));
    if (count == 0) throw DeviceError("cudnnGetConvolutionBackwardDataAlgorithm_v7: no algorithm");
    CHECK(found.status);
    algorithm_ = found.algo;
    CHECK(cudnnGetConvolutionBackwardDataWorkspaceSize(dnn.handle, filter_, x_, convolution_, y_, algorithm_, &workspace_));
  }
  Extent out() const { return out_; }
  std::size_t workspace() const { return workspace_; }
  void run(const Dnn& dnn, const T* x, T* y, const Buffer<char>& workspace) const {
    const float one = 1, zero = 0;
    CHECK(cudnnConvolutionBackwardData(dnn.handle, &one, filter_, weights_, x_, x, convolution_, algorithm_, static_cast<char*>(workspace), workspace_, &zero, y_, y));
    CHECK(cudnnAddTensor(dnn.handle, &one, biasDescriptor_, bias_, &one, y_, y));
  }

 private:
  Extent out_;
  TensorDescriptor x_, y_, biasDescriptor_;
  FilterDescriptor filter_;
  ConvolutionDescriptor convolution_;
  cudnnConvolutionBwdDataAlgo_t algorithm_{};
  std::size_t workspace_ = 0;
  const T *weights_, *bias_;
};

template <class T>
class Unet : public Network {
 public:
  explicit Unet(const Options& options) : shape_(UnetShape::make(options.preset, options.sizes)), dnn_(context_), tensors_(shape_.tensors(), options), hostImage_(image().count()), hostClasses_(result().count()) {
    Extent at = image();
    std::size_t most = at.count(), workspace = 0;
    for (int level = 0; level < shape_.levels; ++level) {
      down_.emplace_back(dnn_, tensors_, at, "down" + std::to_string(level), shape_.width << level);
      pools_.emplace_back(down_.back().out(), CUDNN_POOLING_MAX, 2, 2, 0);
      // What goes on beside, and comes back with as much from below behind it: one tensor, since there is one image.
      joined_.emplace_back(2 * down_.back().out().count());
      most = std::max(most, down_.back().out().count()), workspace = std::max(workspace, down_.back().workspace());
      at = pools_.back().out();
    }
    middle_ = std::make_unique<Pair<T>>(dnn_, tensors_, at, "middle", shape_.width << shape_.levels);
    most = std::max(most, middle_->out().count()), workspace = std::max(workspace, middle_->workspace());
    at = middle_->out();
    for (int level = shape_.levels - 1; level >= 0; --level) {
      const std::string name = "up" + std::to_string(level);
      ups_.emplace_back(dnn_, tensors_, at, name + ".up", shape_.width << level);
      at = ups_.back().out();
      up_.emplace_back(dnn_, tensors_, Extent{2 * at.channels, at.height, at.width}, name, shape_.width << level);
      workspace = std::max({workspace, ups_.back().workspace(), up_.back().workspace()});
      at = up_.back().out();
    }
    head_ = std::make_unique<Biased<T>>(dnn_, tensors_, at, "head", shape_.classes, 1);
    workspace = std::max(workspace, head_->workspace());
    most = std::max(most, result().count());
    for (Buffer<T>* buffer : {&x_, &y_, &between_}) *buffer = Buffer<T>(most);
    workspace_ = Buffer<char>(std::max<std::size_t>(workspace, 1));
  }

  std::vector<Output> infer(const Request& request) override {
    request.only({"image"}, {"seed", "all"}, {"classes"});
    const std::vector<float> numbers =
        request.inputs.empty() ? seededNumbers({"image", {shape_.planes, shape_.image, shape_.image}, 0, 1}, static_cast<std::uint64_t>(request.parameter("seed", 0, INT64_MAX, 1)))
                               : request.numbers("image", image().count());
    for (std::size_t i = 0; i < numbers.size(); ++i) hostImage_[i] = T(numbers[i]);
    CHECK(cudaMemcpyAsync(x_, hostImage_, numbers.size() * sizeof(T), cudaMemcpyHostToDevice, context_.stream));
    for (std::size_t level = 0; level < down_.size(); ++level) {
      down_[level].run(dnn_, relu_, x_, between_, joined_[level], workspace_);
      pools_[level].run(dnn_, joined_[level], x_);
    }
    middle_->run(dnn_, relu_, x_, between_, y_, workspace_);
    for (std::size_t i = 0; i < up_.size(); ++i) {
      Buffer<T>& joined = joined_[up_.size() - 1 - i];
      ups_[i].run(dnn_, y_, joined + ups_[i].out().count(), workspace_);
      up_[i].run(dnn_, relu_, joined, between_, y_, workspace_);
    }
    head_->run(dnn_, y_, x_, workspace_);
    return {{"classes", {1, shape_.classes, shape_.image, shape_.image}, download<T>(context_, x_, hostClasses_, result().count()), {}}};
  }

 private:
  Extent image() const { return {shape_.planes, shape_.image, shape_.image}; }
  Extent result() const { return {shape_.classes, shape_.image, shape_.image}; }

  const UnetShape shape_;
  const Context context_;
  const Dnn dnn_;
  const Tensors<T> tensors_;
  const Relu relu_;
  std::vector<Pair<T>> down_, up_;
  std::vector<Pooling<T>> pools_;
  std::vector<Up<T>> ups_;
  std::unique_ptr<Pair<T>> middle_;
  std::unique_ptr<Biased<T>> head_;
  HostBuffer<T> hostImage_, hostClasses_;
  std::vector<Buffer<T>> joined_;  // by level
  Buffer<T> x_, y_, between_;
  Buffer<char> workspace_;
};

}  // namespace
}  // namespace networks

int main(int argc, char** argv) {
  using namespace networks;
  return run(argc, argv, "unet", "small tiny", [](const Options& options) -> std::unique_ptr<Network> {
    if (options.half) return std::make_unique<Unet<__half>>(options);
    return std::make_unique<Unet<float>>(options);
  });
}
