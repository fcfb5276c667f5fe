#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {

// Also where y has x's dimensions in another order, which what the program says of them tells, not how they lie here.
void planCopy(Plan& plan, const dnn::Node& node) {
  View x = plan.view(node.inputs[0]);
  const View y = plan.view(node.outputs[0]);
  if (node.operation == dnn::Operation::reorder) {
    const View before = x;
    std::uint8_t dims[dnn::kMaxRank] = {};
    dnn::reorderedBy(plan.parts().tensors[node.inputs[0]], plan.parts().tensors[node.outputs[0]], dims);
    for (std::uint32_t i = 0; i < y.rank; ++i) {
      x.dims[i] = before.dims[dims[i]];
      x.strides[i] = before.strides[dims[i]];
    }
  }
  const Order order = memoryOrder(y);
  const Cut cut(y, order, kPieceElements);
  if (x.type == y.type && node.alpha == 1 && node.beta == 0) {
    plan.phase(cut.count(), [=](std::uint64_t piece) { copyElements(x, y, cut.box(piece), order); });
    return;
  }
  withComputed(plan, node, [&]<class T>(T) {
    plan.phase(cut.count(), [=, scale = Scale<T>(node)](std::uint64_t piece) {
      const Box box = cut.box(piece);
      const Buffer<T> values = bufferOf<T>(box.elements(y.rank));
      read(x, box, order, values.get());
      write(y, box, order, values.get(), scale.alpha, scale.beta);
    });
  });
}

}  // namespace rouse::library::cpu
