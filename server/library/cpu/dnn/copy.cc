#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {

void planCopy(Plan& plan, const dnn::Node& node) {
  const View x = plan.view(node.inputs[0]), y = plan.view(node.outputs[0]);
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
