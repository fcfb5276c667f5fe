// The eight networks of the Torpor paper's Table 4 as lists of the tensors that an inference reads, in the order in which it does.
// Made from the networks' published structure, so that number and sizes of the tensors are theirs, and the sum of those that are
// trained is the published number of parameters (test/bench holds it to the last one). The means and variances of batch
// normalizations are no parameters, but an inference reads them, so they are on the device and come and go as parameters do.
//
//   ResNet        He et al., "Deep Residual Learning", CVPR 2016, Table 1; torchvision.models.resnet (bottleneck, strides apart)
//   DenseNet      Huang et al., "Densely Connected Convolutional Networks", CVPR 2017, Table 1; torchvision.models.densenet
//   Inception-v3  Szegedy et al., "Rethinking the Inception Architecture", CVPR 2016; torchvision.models.inception_v3, without the
//                 auxiliary classifier (3,326,696 parameters), which only training uses
//   EfficientNet  Tan and Le, ICML 2019, Table 1 (B0, the paper does not say which); torchvision.models.efficientnet_b0
//   Bert-qa       Devlin et al., NAACL 2019, BERT large with the two outputs of question answering, without the pooler
//                 (transformers.BertForQuestionAnswering, bert-large-uncased)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rouse::bench {

// A convolution, a normalization, a linear layer: one kernel. Numbers of four bytes. What a batch normalization has gathered (mean,
// variance) is a layer after it, since a layer has two tensors at most.
struct Layer {
  std::string name;
  std::uint64_t weight = 0;
  std::uint64_t bias = 0;   // 0: none
  bool statistics = false;  // not trained: no parameters
};

struct Network {
  std::string name;
  std::uint64_t published = 0;  // parameters
  std::vector<Layer> layers;

  std::uint64_t parameters() const;  // those that are trained
  std::uint64_t bytes() const;       // of all tensors
  std::size_t tensors() const;
};

std::vector<std::string> networkNames();
// Throws std::invalid_argument for a name that is none of them.
Network network(const std::string& name);
// Each tensor that large a part of itself, at least one parameter: a network of the same structure for a small machine.
Network scaled(Network network, double scale);

}  // namespace rouse::bench
