// What convolutions share: the descriptors' shapes as a node, for calls and for the questions before them.
#pragma once

#include "client-shim/cudnn/graph.h"

namespace rouse::cudnn {

enum class Direction : std::uint8_t { forward, data, filter };

// The convolution of an image and a filter to a response, or its gradients. Of the three one is the output: y, dx, or dw.
struct ConvolutionOperands {
  cudnnTensorDescriptor_t image;
  cudnnFilterDescriptor_t filter;
  cudnnTensorDescriptor_t response;
  const void *imageAddress, *filterAddress, *responseAddress;
};

// Adds the node; alpha and beta are its.
dnn::Node& convolve(Call& call, Direction direction, cudnnConvolutionDescriptor_t convDesc, const ConvolutionOperands& operands);

}  // namespace rouse::cudnn
