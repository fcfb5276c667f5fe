// A ResNet as a function: an image in ("image": three planes, height, width), a number for each class out ("logits"). Convolutions, batch
// normalization, activations and pools by cuDNN's classic API, the last layer by cuBLAS.
#include <optional>

#include "bench/functions/device/convolutions.h"
#include "bench/functions/device/kernels.h"
#include "bench/functions/device/products.h"

namespace networks {
namespace {

constexpr double kEpsilon = 1e-5;

// What belongs to a normalization: cuDNN takes it as floats, whatever the tensors are.
bool isNormalization(const std::string& name) {
  const std::string parent = name.substr(0, name.rfind('.'));
  return parent.ends_with(".downsample.1") || (parent.size() >= 3 && parent.compare(parent.size() - 3, 2, "bn") == 0);
}

// A convolution and its normalization.
template <class T>
class Unit {
 public:
  Unit(const Dnn& dnn, const Tensors<T>& tensors, Extent in, const std::string& convolution, const std::string& norm, int out, int side, int stride)
      : convolution_(dnn, in, out, side, stride, side / 2, tensors[convolution + ".weight"]), scale_(tensors.floats(norm + ".weight")), shift_(tensors.floats(norm + ".bias")),
        mean_(tensors.floats(norm + ".running_mean")), variance_(tensors.floats(norm + ".running_var")) {
    CHECK(cudnnDeriveBNTensorDescriptor(parameters_, convolution_.outDescriptor(), CUDNN_BATCHNORM_SPATIAL));
  }
  Extent out() const { return convolution_.out(); }
  std::size_t workspace() const { return convolution_.workspace(); }
  cudnnTensorDescriptor_t outDescriptor() const { return convolution_.outDescriptor(); }

  // `raw`: memory for what comes between the two.
  void run(const Dnn& dnn, const T* x, T* raw, T* y, const Buffer<char>& workspace) const {
    const float one = 1, zero = 0;
    convolution_.run(dnn, x, raw, workspace);
    CHECK(cudnnBatchNormalizationForwardInference(dnn.handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, outDescriptor(), raw, outDescriptor(), y, parameters_, scale_, shift_, mean_, variance_,
                                                  kEpsilon));
  }

 private:
  Convolution<T> convolution_;
  TensorDescriptor parameters_;
  const float *scale_, *shift_, *mean_, *variance_;
};

template <class T>
struct Bottleneck {
  Unit<T> first, second, third;
  std::optional<Unit<T>> beside;  // what is added, where it has another shape than what came in
};

template <class T>
class Resnet : public Network {
 public:
  explicit Resnet(const Options& options)
      : shape_(ResnetShape::make(options.preset, options.sizes)), dnn_(context_), tensors_(shape_.tensors(), options, isNormalization),
        stem_(dnn_, tensors_, {3, shape_.image, shape_.image}, "conv1", "bn1", shape_.width, 7, 2), pool_(stem_.out(), CUDNN_POOLING_MAX, 3, 2, 1), hostImage_(image().count()),
        hostLogits_(shape_.classes) {
    Extent at = pool_.out();
    std::size_t most = std::max(image().count(), stem_.out().count()), workspace = stem_.workspace();
    for (int stage = 0; stage < 4; ++stage)
      for (int block = 0; block < shape_.blocks[stage]; ++block) {
        const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
        const int inside = shape_.channels(stage), stride = stage > 0 && block == 0 ? 2 : 1;
        Unit<T> first(dnn_, tensors_, at, name + ".conv1", name + ".bn1", inside, 1, 1);
        Unit<T> second(dnn_, tensors_, first.out(), name + ".conv2", name + ".bn2", inside, 3, stride);
        Unit<T> third(dnn_, tensors_, second.out(), name + ".conv3", name + ".bn3", 4 * inside, 1, 1);
        std::optional<Unit<T>> beside;
        if (block == 0) beside.emplace(dnn_, tensors_, at, name + ".downsample.0", name + ".downsample.1", 4 * inside, 1, stride);
        for (const Unit<T>* unit : {&first, &second, &third}) most = std::max(most, unit->out().count()), workspace = std::max(workspace, unit->workspace());
        if (beside) workspace = std::max(workspace, beside->workspace());
        at = third.out();
        blocks_.push_back({std::move(first), std::move(second), std::move(third), std::move(beside)});
      }
    average_.emplace(at, CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING, at.height, 1, 0);
    for (Buffer<T>* buffer : {&x_, &y_, &raw_, &inner_, &beside_}) *buffer = Buffer<T>(most);
    logits_ = Buffer<T>(shape_.classes);
    workspace_ = Buffer<char>(std::max<std::size_t>(workspace, 1));
  }

  std::vector<Output> infer(const Request& request) override {
    request.only({"image"}, {"seed", "all"}, {"logits"});
    const std::vector<float> numbers =
        request.inputs.empty() ? seededNumbers({"image", {3, shape_.image, shape_.image}, 0, 2}, static_cast<std::uint64_t>(request.parameter("seed", 0, INT64_MAX, 1)))
                               : request.numbers("image", image().count());
    for (std::size_t i = 0; i < numbers.size(); ++i) hostImage_[i] = T(numbers[i]);
    CHECK(cudaMemcpyAsync(x_, hostImage_, numbers.size() * sizeof(T), cudaMemcpyHostToDevice, context_.stream));
    stem_.run(dnn_, x_, raw_, y_, workspace_);
    relu_.run(dnn_, stem_.outDescriptor(), y_);
    pool_.run(dnn_, y_, x_);
    for (const Bottleneck<T>& block : blocks_) run(block);
    average_->run(dnn_, x_, y_);
    linear<T>(context_, logits_, y_, tensors_["fc.weight"], 1, shape_.classes, average_->out().channels);
    addBiasTo(context_, static_cast<T*>(logits_), tensors_["fc.bias"], 1, shape_.classes, Same());
    CHECK(cudaGetLastError());
    return {{"logits", {1, shape_.classes}, download<T>(context_, logits_, hostLogits_, shape_.classes), {}}};
  }

 private:
  Extent image() const { return {3, shape_.image, shape_.image}; }

  // From x_ to x_.
  void run(const Bottleneck<T>& block) {
    const float one = 1;
    block.first.run(dnn_, x_, raw_, inner_, workspace_);
    relu_.run(dnn_, block.first.outDescriptor(), inner_);
    block.second.run(dnn_, inner_, raw_, y_, workspace_);
    relu_.run(dnn_, block.second.outDescriptor(), y_);
    block.third.run(dnn_, y_, raw_, inner_, workspace_);
    const T* beside = x_;
    if (block.beside) {
      block.beside->run(dnn_, x_, raw_, beside_, workspace_);
      beside = beside_;
    }
    CHECK(cudnnAddTensor(dnn_.handle, &one, block.third.outDescriptor(), beside, &one, block.third.outDescriptor(), static_cast<T*>(inner_)));
    relu_.run(dnn_, block.third.outDescriptor(), inner_);
    std::swap(x_, inner_);
  }

  const ResnetShape shape_;
  const Context context_;
  const Dnn dnn_;
  const Tensors<T> tensors_;
  const Unit<T> stem_;
  const Pooling<T> pool_;
  const Relu relu_;
  std::vector<Bottleneck<T>> blocks_;
  std::optional<Pooling<T>> average_;
  HostBuffer<T> hostImage_, hostLogits_;
  Buffer<T> x_, y_, raw_, inner_, beside_, logits_;
  Buffer<char> workspace_;
};

}  // namespace
}  // namespace networks

int main(int argc, char** argv) {
  using namespace networks;
  return run(argc, argv, "resnet", "50 152 tiny", [](const Options& options) -> std::unique_ptr<Network> {
    if (options.half) return std::make_unique<Resnet<__half>>(options);
    return std::make_unique<Resnet<float>>(options);
  });
}
