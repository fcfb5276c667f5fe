#include <algorithm>

#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {
namespace {

constexpr std::int64_t kTile = 256, kDepth = 512;

// A part of a matrix as BLAS takes it: where it lies, if it can, else copied.
template <class T>
struct Panel {
  const T* data = nullptr;
  std::int64_t spacing = 0;
  bool byRows = true;  // a row's elements lie together
  Buffer<T> own;

  static bool lies(const View& m, std::uint32_t row, std::uint32_t column) {
    return m.type == kTypeOf<T> && m.dims[row] > 1 && m.dims[column] > 1 &&
           ((m.strides[column] == 1 && m.strides[row] >= m.dims[column]) || (m.strides[row] == 1 && m.strides[column] >= m.dims[row])) &&
           std::max(m.strides[row], m.strides[column]) <= dnn::kMostElements;
  }
  Panel(const View& m, const Box& box, std::uint32_t row, std::uint32_t column) {
    // What has one row or column only has strides that say nothing.
    byRows = m.dims[column] > 1 ? m.strides[column] == 1 || (m.dims[row] > 1 && m.strides[column] < m.strides[row]) : false;
    if (lies(m, row, column)) {
      std::int64_t first = 0;
      for (std::uint32_t d = 0; d < m.rank; ++d) first += m.dims[d] == 1 ? 0 : box.begin[d] * m.strides[d];
      data = reinterpret_cast<const T*>(m.base) + first;
      spacing = byRows ? m.strides[row] : m.strides[column];
      return;
    }
    Order order = straightOrder(m.rank);  // rows, then columns, are the last two
    if (!byRows) std::swap(order.dims[m.rank - 1], order.dims[m.rank - 2]);
    own = bufferOf<T>(box.elements(m.rank));
    read(m, box, order, own.get());
    data = own.get();
    spacing = byRows ? box.extent[column] : box.extent[row];
  }
};

}  // namespace

void planProduct(Plan& plan, const dnn::Node& node) {
  const View a = plan.view(node.inputs[0]), b = plan.view(node.inputs[1]), c = plan.view(node.outputs[0]);
  const std::uint32_t rank = c.rank, row = rank - 2, column = rank - 1;
  const std::int64_t depths = a.dims[column];
  // Tiles of C.
  View tiled = c;
  tiled.dims[row] = (c.dims[row] + kTile - 1) / kTile;
  tiled.dims[column] = (c.dims[column] + kTile - 1) / kTile;
  const Cut cut(tiled, straightOrder(rank), 1);
  withComputed(plan, node, [&]<class T>(T) {
    const std::int64_t depth = Panel<T>::lies(a, row, column) && Panel<T>::lies(b, row, column) ? depths : std::min(depths, kDepth);
    plan.phase(cut.count(), [=, scale = Scale<T>(node)](std::uint64_t piece) {
      Box box = cut.box(piece);
      for (const std::uint32_t d : {row, column}) {
        box.begin[d] *= kTile;
        box.extent[d] = std::min(kTile, c.dims[d] - box.begin[d]);
      }
      const std::int64_t m = box.extent[row], n = box.extent[column];
      const Buffer<T> sums = bufferOf<T>(m * n);
      Box ofA = box, ofB = box;
      for (std::uint32_t d = 0; d < row; ++d) {
        ofA.begin[d] = box.begin[d] * a.dims[d] / c.dims[d];
        ofB.begin[d] = box.begin[d] * b.dims[d] / c.dims[d];
      }
      for (std::int64_t k = 0; k < depths; k += depth) {
        ofA.begin[column] = ofB.begin[row] = k;
        ofA.extent[column] = ofB.extent[row] = std::min(depth, depths - k);
        const Panel<T> left(a, ofA, row, column), right(b, ofB, row, column);
        // By columns, as BLAS counts, this is the transpose: B' A'.
        gemm(right.byRows ? CblasNoTrans : CblasTrans, left.byRows ? CblasNoTrans : CblasTrans, toInt(n), toInt(m), toInt(ofA.extent[column]), T{1},
             right.data, toInt(right.spacing), left.data, toInt(left.spacing), k == 0 ? T{0} : T{1}, sums.get(), toInt(n));
      }
      write(c, box, straightOrder(rank), sums.get(), scale.alpha, scale.beta);
    });
  });
}

}  // namespace rouse::library::cpu
