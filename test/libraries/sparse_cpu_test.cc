// Calls of cuSPARSE on the CPU device against the same by definition: formats, indices of either size, bases, operations, types; and indices that are none.
#include <catch2/catch.hpp>
#include <cmath>

#include "test/libraries/sparse_runs.h"

namespace rouse::sparse {
namespace {

struct Types {
  Type a, y, compute;
};
constexpr Types kTypes[] = {{Type::f32, Type::f32, Type::f32}, {Type::f64, Type::f64, Type::f64}, {Type::c32, Type::c32, Type::c32},
                            {Type::c64, Type::c64, Type::c64}, {Type::f16, Type::f16, Type::f32}, {Type::bf16, Type::f32, Type::f32},
                            {Type::i8, Type::i32, Type::i32},  {Type::i8, Type::f32, Type::f32}};

}  // namespace

TEST_CASE("sparse matrices times vectors, of every format, index and type", "[sparse]") {
  std::mt19937 random(1);
  for (const Style& style : kStyles)
    for (const Types& types : kTypes)
      for (const Operation op : kOperations) {
        const std::int64_t rows = 36, cols = 24;
        const Matrix matrix = anyMatrix(random, rows, cols, 0.2, types.a);
        const auto a = store(matrix, rows, cols, types.a, style);
        const Matrix used = turned(matrix, op);
        DenseStored x(op == Operation::none ? cols : rows, 1, types.a), y(op == Operation::none ? rows : cols, 1, types.y);
        x.fill(random);
        y.fill(random);
        std::vector<Number> wanted;
        for (std::int64_t i = 0; i < y.what.rows; ++i) wanted.push_back(3.0 * y.get(i, 0));
        for (const auto& [place, value] : used) wanted[static_cast<std::size_t>(place.first)] += 2.0 * value * x.get(place.second, 0);
        Call call;
        call.a = a->what;
        call.x = x.what;
        call.y = y.what;
        call.opA = op;
        call.computeType = types.compute;
        setScalar(call.alpha, types.compute, 2);
        setScalar(call.beta, types.compute, 3);
        CAPTURE(int(style.format), int(types.a), int(op), style.base);
        REQUIRE(runAll(Function::spmv, call, 5) == "");
        // Whole numbers are exact in all of them but the 16-bit results.
        for (std::int64_t i = 0; i < y.what.rows; ++i) near(y.get(i, 0), wanted[static_cast<std::size_t>(i)], bytesOf(types.y) == 2 ? 2e-3 : 0);
      }
}

TEST_CASE("sparse matrices times dense ones, by rows and by columns, one and batches", "[sparse]") {
  std::mt19937 random(2);
  for (const Style& style : kStyles) {
    if (style.format == Format::slicedEll) continue;
    for (const Types& types : kTypes)
      for (const Operation opA : {Operation::none, Operation::conjugate})
        for (const Operation opB : kOperations)
          for (const Order order : {Order::column, Order::row}) {
            const std::int64_t rows = 12, cols = 24, n = 5;
            const Matrix matrix = anyMatrix(random, rows, cols, 0.3, types.a), used = turned(matrix, opA);
            const auto a = store(matrix, rows, cols, types.a, style);
            const std::int64_t m = opA == Operation::none ? rows : cols, k = opA == Operation::none ? cols : rows;
            DenseStored x(opB == Operation::none ? k : n, opB == Operation::none ? n : k, types.a, order),
                y(m, n, types.y, order == Order::row ? Order::column : Order::row);
            x.fill(random);
            y.fill(random);
            std::vector<Number> wanted(static_cast<std::size_t>(m * n));
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t j = 0; j < n; ++j) wanted[static_cast<std::size_t>(i * n + j)] = -y.get(i, j);
            for (const auto& [place, value] : used)
              for (std::int64_t j = 0; j < n; ++j)
                wanted[static_cast<std::size_t>(place.first * n + j)] +=
                    value * (opB == Operation::none ? x.get(place.second, j) : opOf(opB, x.get(j, place.second)));
            Call call;
            call.a = a->what;
            call.x = x.what;
            call.y = y.what;
            call.opA = opA;
            call.opB = opB;
            call.computeType = types.compute;
            setScalar(call.alpha, types.compute, 1);
            setScalar(call.beta, types.compute, -1);
            CAPTURE(int(style.format), int(types.a), int(opA), int(opB), int(order));
            REQUIRE(runAll(Function::spmm, call, 7) == "");
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t j = 0; j < n; ++j) near(y.get(i, j), wanted[static_cast<std::size_t>(i * n + j)], bytesOf(types.y) == 2 ? 1e-2 : 0);
          }
  }
  // Of a batch each has its own right side; A is of all of them, or each has its own values.
  for (const bool shared : {true, false}) {
    const Matrix one = anyMatrix(random, 6, 7, 0.5, Type::f32);
    const auto a = store(one, 6, 7, Type::f32, {});
    std::vector<std::byte> values(a->values.begin(), a->values.end() - 1);
    values.insert(values.end(), a->values.begin(), a->values.end() - 1);
    for (std::size_t i = 0; i < one.size(); ++i) {
      const float twice = 2 * static_cast<float>(decode(Type::f32, values.data() + i * 4).real());
      std::memcpy(values.data() + (one.size() + i) * 4, &twice, 4);
    }
    DenseStored x(7, 2, Type::f32, Order::column, 8), y(6, 2, Type::f32, Order::column, 6);
    x.fill(random);
    DenseStored x2(7, 2, Type::f32);
    Call call;
    call.a = a->what;
    if (!shared) {
      call.a.values = addressOf(values);
      call.a.batch = 2;
      call.a.valuesStride = call.a.nnz;
    }
    // The second of the batch lies in the gaps of the first.
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t i = 0; i < 7; ++i) std::memcpy(x.at(i, j) + 4 * 7, x.at(i, j), 4);
    call.x = x.what;
    call.x.batch = 2;
    call.x.stride = 7;
    std::vector<float> result(2 * 12, 99.f);
    call.y = y.what;
    call.y.spacing = 6;
    call.y.values = addressOf(result);
    call.y.batch = 2;
    call.y.stride = 12;
    call.computeType = Type::f32;
    setScalar(call.alpha, Type::f32, 1);
    REQUIRE(runAll(Function::spmm, call) == "");
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t i = 0; i < 6; ++i)
        for (std::int64_t j = 0; j < 2; ++j) {
          Number wanted = 0;
          for (const auto& [place, value] : one)
            if (place.first == i) wanted += value * x.get(place.second, j);
          near(static_cast<double>(result[static_cast<std::size_t>(b * 12 + j * 6 + i)]), shared || b == 0 ? wanted : 2.0 * wanted, 0);
        }
  }
}

TEST_CASE("dense products where a sparse matrix has elements", "[sparse]") {
  std::mt19937 random(3);
  for (const Style& style : {kStyles[0], kStyles[1], kStyles[7]})
    for (const Operation opA : kOperations)
      for (const Operation opB : kOperations) {
        const std::int64_t rows = 12, cols = 9, inner = 7;
        const Type type = Type::c64;
        const Matrix matrix = anyMatrix(random, rows, cols, 0.4, type);
        const auto c = store(matrix, rows, cols, type, style);
        DenseStored x(opA == Operation::none ? rows : inner, opA == Operation::none ? inner : rows, type, Order::row),
            y(opB == Operation::none ? inner : cols, opB == Operation::none ? cols : inner, type);
        x.fill(random);
        y.fill(random);
        Call call;
        call.c = c->what;
        call.x = x.what;
        call.y = y.what;
        call.opA = opA;
        call.opB = opB;
        call.computeType = type;
        setScalar(call.alpha, type, Number(0, 2));
        setScalar(call.beta, type, 5);
        REQUIRE(runAll(Function::sddmm, call, 3) == "");
        if (style.format == Format::bsr) continue;  // read back below only by rows
        const Matrix got = load(*c);
        for (const auto& [place, value] : matrix) {
          Number sum = 0;
          for (std::int64_t k = 0; k < inner; ++k)
            sum += (opA == Operation::none ? x.get(place.first, k) : opOf(opA, x.get(k, place.first))) *
                   (opB == Operation::none ? y.get(k, place.second) : opOf(opB, y.get(place.second, k)));
          near(got.at(place), Number(0, 2) * sum + 5.0 * value, 1e-14);
        }
      }
}

TEST_CASE("products of sparse matrices, and sums", "[sparse]") {
  std::mt19937 random(5);
  for (const Types& types : {Types{Type::f32, Type::f32, Type::f32}, Types{Type::c64, Type::c64, Type::c64}, Types{Type::f16, Type::f16, Type::f16},
                             Types{Type::bf16, Type::bf16, Type::f32}})
    for (const int base : {0, 1}) {
      const Style style{Format::csr, Index::i32, Index::i32, base};
      const Matrix first = anyMatrix(random, 20, 15, 0.3, types.a), second = anyMatrix(random, 15, 25, 0.2, types.a);
      const auto a = store(first, 20, 15, types.a, style), b = store(second, 15, 25, types.a, style);
      Answer answer{kUnanswered};
      Call call;
      call.a = a->what;
      call.b = b->what;
      call.answer = reinterpret_cast<std::uint64_t>(&answer);
      REQUIRE(runAll(Function::productCount, call, 9) == "");
      Matrix wanted;
      for (const auto& [x, u] : first)
        for (const auto& [y, v] : second)
          if (x.second == y.first) wanted[{x.first, y.second}] += u * v;
      REQUIRE(answer.number == static_cast<std::int64_t>(wanted.size()));
      std::int64_t products = 0;
      for (const auto& [x, u] : first) products += std::ranges::count_if(second, [&](const auto& each) { return each.first.first == x.second; });
      REQUIRE(runAll(Function::productWork, call) == "");
      CHECK(answer.number == products);
      Matrix shape;
      for (const auto& [place, value] : wanted) shape[place] = 1.0;
      const auto c = store(shape, 20, 25, types.a, style);
      std::fill(c->offsets.begin(), c->offsets.end(), std::byte{0x55});
      std::fill(c->indices.begin(), c->indices.end(), std::byte{0x55});
      call.answer = 0;
      call.c = c->what;
      call.computeType = types.compute;
      setScalar(call.alpha, types.compute, 2);
      setScalar(call.beta, types.compute, -1);
      REQUIRE(runAll(Function::product, call, 11) == "");
      const Matrix got = load(*c);
      REQUIRE(got.size() == wanted.size());
      for (const auto& [place, value] : wanted) near(got.at(place), 2.0 * value - 1.0, bytesOf(types.a) == 2 ? 1e-2 : 0);
      // Where other elements have been counted there is no place for these.
      call.c.nnz -= 1;
      CHECK(runAll(Function::product, call).find("have been counted") != std::string::npos);
    }
  const Style style;
  const Matrix first = anyMatrix(random, 20, 15, 0.3, Type::f64), second = anyMatrix(random, 20, 15, 0.3, Type::f64);
  const auto a = store(first, 20, 15, Type::f64, style), b = store(second, 20, 15, Type::f64, {Format::csr, Index::i32, Index::i32, 1});
  Matrix wanted = first;
  for (auto& [place, value] : wanted) value *= 3;
  for (const auto& [place, value] : second) wanted[place] += 0.5 * value;
  const auto c = store(wanted, 20, 15, Type::f64, style);
  Call call;
  call.a = a->what;
  call.b = b->what;
  call.c = c->what;
  call.c.nnz = 0;
  Answer answer{kUnanswered};
  std::int32_t total = 0;
  for (const bool onDevice : {false, true}) {
    call.answer = onDevice ? 0 : reinterpret_cast<std::uint64_t>(&answer);
    call.result = onDevice ? reinterpret_cast<std::uint64_t>(&total) : 0;
    REQUIRE(runAll(Function::sumCount, call) == "");
  }
  CHECK(answer.number == static_cast<std::int64_t>(wanted.size()));
  CHECK(total == answer.number);
  call.result = 0;
  std::fill(c->values.begin(), c->values.end(), std::byte{0});
  call.computeType = Type::f64;
  setScalar(call.alpha, Type::f64, 3);
  setScalar(call.beta, Type::f64, 0.5);
  REQUIRE(runAll(Function::sum, call, 4) == "");
  CHECK(load(*c) == wanted);
  // Where it is written is looked at when it is known how long it is.
  auto job = prepare(Function::sum, call, kNoMemory);
  REQUIRE(job);
  CHECK_THROWS_AS(run(**job), library::Failure);
}

TEST_CASE("vectors", "[sparse]") {
  std::mt19937 random(6);
  for (const Type type : {Type::f32, Type::f64, Type::c64, Type::f16}) {
    const Type compute = type == Type::f16 ? Type::f32 : type;
    DenseStored dense(10, 1, type);
    dense.fill(random);
    std::vector<Number> before, elements = {1.0, -2.0, 3.0};
    for (std::int64_t i = 0; i < 10; ++i) before.push_back(dense.get(i, 0));
    const std::int64_t places[] = {7, 2, 4};
    std::vector<std::int64_t> indices = {8, 3, 5};
    std::vector<std::byte> values = encode(type, elements);
    Call call;
    call.a.format = Format::vector;
    call.a.rows = 10;
    call.a.cols = 1;
    call.a.nnz = 3;
    call.a.indices = addressOf(indices);
    call.a.values = addressOf(values);
    call.a.indicesType = Index::i64;
    call.a.base = 1;
    call.a.batch = 1;
    call.a.type = type;
    const auto value = [&](std::size_t i) { return decode(type, values.data() + i * bytesOf(type)); };
    Call dotCall = call;
    dotCall.x = dense.what;
    dotCall.computeType = compute;
    std::byte result[16] = {};
    dotCall.result = reinterpret_cast<std::uint64_t>(result);
    REQUIRE(runAll(Function::dot, dotCall) == "");
    near(decode(compute, result), before[7] - 2.0 * before[2] + 3.0 * before[4], 0);
    Call gatherCall = call;
    gatherCall.x = dense.what;
    REQUIRE(runAll(Function::gather, gatherCall) == "");
    for (std::size_t i = 0; i < 3; ++i) CHECK(value(i) == before[static_cast<std::size_t>(places[i])]);
    values = encode(type, elements);
    call.a.values = addressOf(values);
    Call scaled = call;
    scaled.y = dense.what;
    scaled.computeType = compute;
    setScalar(scaled.alpha, compute, 2);
    setScalar(scaled.beta, compute, 3);
    REQUIRE(runAll(Function::axpby, scaled) == "");
    for (std::int64_t i = 0; i < 10; ++i) {
      Number wanted = 3.0 * before[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < 3; ++k)
        if (places[k] == i) wanted += 2.0 * elements[k];
      near(dense.get(i, 0), wanted, 0);
      before[static_cast<std::size_t>(i)] = wanted;
    }
    setScalar(scaled.alpha, compute, 0.5);
    setScalar(scaled.beta, compute, 2);
    REQUIRE(runAll(Function::rot, scaled) == "");
    for (std::size_t k = 0; k < 3; ++k) {
      const Number there = before[static_cast<std::size_t>(places[k])];
      near(value(k), 0.5 * elements[k] + 2.0 * there, 0);
      near(dense.get(places[k], 0), 0.5 * there - 2.0 * elements[k], 0);
    }
    values = encode(type, elements);
    call.a.values = addressOf(values);
    call.y = dense.what;
    REQUIRE(runAll(Function::scatter, call) == "");
    for (std::size_t k = 0; k < 3; ++k) CHECK(dense.get(places[k], 0) == elements[k]);
  }
}

TEST_CASE("between dense and sparse matrices", "[sparse]") {
  std::mt19937 random(7);
  for (const Style& style : kStyles) {
    if (style.format == Format::slicedEll) continue;
    const Matrix matrix = anyMatrix(random, 24, 12, 0.3, Type::f32);
    const auto a = store(matrix, 24, 12, Type::f32, style);
    DenseStored y(24, 12, Type::f32, style.base == 0 ? Order::row : Order::column);
    y.fill(random);
    Call call;
    call.a = a->what;
    call.y = y.what;
    REQUIRE(runAll(Function::toDense, call, 3) == "");
    Matrix nonzero;
    for (std::int64_t i = 0; i < 24; ++i)
      for (std::int64_t j = 0; j < 12; ++j) {
        const auto found = matrix.find({i, j});
        CHECK(y.get(i, j) == (found == matrix.end() ? Number(0) : found->second));
        if (y.get(i, j) != Number(0)) nonzero[{i, j}] = y.get(i, j);
      }
    if (style.format == Format::bsr) continue;
    Call back;
    Answer answer{kUnanswered};
    back.x = y.what;
    back.answer = reinterpret_cast<std::uint64_t>(&answer);
    REQUIRE(runAll(Function::fromDenseCount, back, 3) == "");
    REQUIRE(answer.number == static_cast<std::int64_t>(nonzero.size()));
    const auto c = store(nonzero, 24, 12, Type::f32, style);
    const auto offsets = c->offsets, indices = c->indices, values = c->values;
    for (auto* each : {&c->offsets, &c->indices, &c->values}) std::fill(each->begin(), each->end() - 1, std::byte{0x77});
    back.answer = 0;
    back.c = c->what;
    REQUIRE(runAll(Function::fromDense, back, 5) == "");
    CHECK((c->offsets == offsets && c->indices == indices && c->values == values));
  }
}

TEST_CASE("indices: compressed, expanded, transposed, sorted", "[sparse]") {
  std::mt19937 random(8);
  const Matrix matrix = anyMatrix(random, 9, 7, 0.4, Type::f64);
  const auto rows = store(matrix, 9, 7, Type::f64, {}), elements = store(matrix, 9, 7, Type::f64, {Format::coo}),
             columns = store(matrix, 9, 7, Type::f64, {Format::csc});
  const auto fresh = [](const std::vector<std::byte>& like) { return std::vector<std::byte>(like.size(), std::byte{0}); };
  std::vector<std::byte> offsets = fresh(rows->offsets), expanded = fresh(elements->offsets);
  Call call;
  call.a = elements->what;
  call.c = rows->what;
  call.c.offsets = addressOf(offsets);
  REQUIRE(runAll(Function::compress, call) == "");
  CHECK(std::equal(offsets.begin(), offsets.end() - 1, rows->offsets.begin()));
  call.a = rows->what;
  call.c = elements->what;
  call.c.offsets = addressOf(expanded);
  REQUIRE(runAll(Function::expand, call) == "");
  CHECK(std::equal(expanded.begin(), expanded.end() - 1, elements->offsets.begin()));

  const auto result = store(matrix, 9, 7, Type::f64, {Format::csc});
  for (auto* each : {&result->offsets, &result->indices, &result->values}) std::fill(each->begin(), each->end(), std::byte{0});
  call.a = rows->what;
  call.c = result->what;
  REQUIRE(runAll(Function::transpose, call) == "");
  CHECK((load(*result) == matrix && std::equal(result->indices.begin(), result->indices.end() - 1, columns->indices.begin())));

  std::vector<std::int32_t> r = {2, 0, 2, 1, 0, 2}, c = {1, 3, 0, 2, 1, 1}, permutation(6);
  Call identity;
  identity.count = 6;
  identity.result = addressOf(permutation);
  REQUIRE(runAll(Function::identity, identity) == "");
  CHECK(permutation == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5});
  Call sort;
  sort.a = elements->what;
  sort.a.nnz = 6;
  sort.a.rows = sort.a.cols = 4;
  sort.a.offsets = addressOf(r);
  sort.a.indices = addressOf(c);
  sort.result = addressOf(permutation);
  REQUIRE(runAll(Function::sort, sort) == "");
  CHECK(r == std::vector<std::int32_t>{0, 0, 1, 2, 2, 2});
  CHECK(c == std::vector<std::int32_t>{1, 3, 2, 0, 1, 1});
  CHECK(permutation == std::vector<std::int32_t>{4, 1, 3, 2, 0, 5});
  sort.byColumn = 1;
  REQUIRE(runAll(Function::sort, sort) == "");
  CHECK(c == std::vector<std::int32_t>{0, 1, 1, 1, 2, 3});
  CHECK(r == std::vector<std::int32_t>{2, 0, 2, 2, 1, 0});
  std::vector<std::int32_t> begins = {0, 3, 3, 6}, inRow = {5, 1, 3, 9, 8, 9};
  sort.byColumn = 0;
  sort.a.format = Format::csr;
  sort.a.rows = 3;
  sort.a.offsets = addressOf(begins);
  sort.a.indices = addressOf(inRow);
  sort.result = 0;
  REQUIRE(runAll(Function::sort, sort) == "");
  CHECK(inRow == std::vector<std::int32_t>{1, 3, 5, 8, 9, 9});
}

TEST_CASE("indices that are none are the program's error, and touch nothing", "[sparse]") {
  std::mt19937 random(11);
  for (const Style& style : kStyles) {
    const Matrix matrix = anyMatrix(random, 36, 24, 0.4, Type::f32);
    const auto a = store(matrix, 36, 24, Type::f32, style);
    DenseStored x(24, 2, Type::f32), y(36, 2, Type::f32);
    Call call;
    call.a = a->what;
    call.x = x.what;
    call.y = y.what;
    call.computeType = Type::f32;
    setScalar(call.alpha, Type::f32, 1);
    Call one = call;
    one.x.cols = one.y.cols = 1;
    const auto refuses = [&] {
      if (style.format != Format::slicedEll) CHECK(runAll(Function::spmm, call).find("cusparseSpMM: ") == 0);
      CHECK(runAll(Function::spmv, one).find("cusparseSpMV: ") == 0);
    };
    CAPTURE(int(style.format), style.base);
    for (const std::int64_t wrong : {std::int64_t{-2}, std::int64_t{24 + 1}, std::int64_t{36 + 1}, std::int64_t{0x7fff'ffff}}) {
      if ((style.format == Format::csc) != (wrong == 36 + 1) && (wrong == 25 || wrong == 37)) continue;
      const auto kept = a->indices;
      std::memcpy(a->indices.data() + 3 * bytesOf(a->what.indicesType), &wrong, bytesOf(a->what.indicesType));
      refuses();
      a->indices = kept;
      call.a.indices = one.a.indices = addressOf(a->indices);
      const auto keptOffsets = a->offsets;
      const std::int64_t far = wrong < 0 ? wrong : 1 << 20;
      std::memcpy(a->offsets.data() + 2 * bytesOf(a->what.offsetsType), &far, bytesOf(a->what.offsetsType));
      refuses();
      a->offsets = keptOffsets;
      call.a.offsets = one.a.offsets = addressOf(a->offsets);
    }
  }
}

TEST_CASE("a result does not depend on the order of pieces", "[sparse]") {
  std::mt19937 random(12);
  std::uniform_real_distribution<float> any(-1, 1);
  const std::int64_t n = 3000;
  Matrix matrix;
  for (std::int64_t i = 0; i < n; ++i)
    for (int k = 0; k < 30; ++k) matrix[{i, static_cast<std::int64_t>(random() % static_cast<unsigned>(n))}] = any(random);
  auto a = std::make_unique<Stored>();
  a->what = {.rows = n,
             .cols = n,
             .nnz = static_cast<std::int64_t>(matrix.size()),
             .batch = 1,
             .format = Format::csr,
             .offsetsType = Index::i32,
             .indicesType = Index::i32,
             .type = Type::f32};
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(n) + 1), indices;
  std::vector<Number> values;
  for (const auto& [place, value] : matrix) {
    ++offsets[static_cast<std::size_t>(place.first) + 1];
    indices.push_back(place.second);
    values.push_back(value);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) offsets[i + 1] += offsets[i];
  a->write(a->offsets, Index::i32, offsets);
  a->write(a->indices, Index::i32, indices);
  a->values = encode(Type::f32, values);
  a->place();
  DenseStored x(n, 4, Type::f32), y(n, 4, Type::f32);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < 4; ++j) x.set(i, j, any(random));
  for (const Function function : {Function::spmv, Function::spmm}) {
    Call call;
    call.a = a->what;
    call.x = x.what;
    call.y = y.what;
    if (function == Function::spmv) call.x.cols = call.y.cols = 1;
    call.computeType = Type::f32;
    setScalar(call.alpha, Type::f32, 1);
    auto job = prepare(function, call);
    REQUIRE(job);
    CHECK((*job)->pieces() > 1);
    REQUIRE(runAll(function, call, 1) == "");
    const auto first = y.values;
    REQUIRE(runAll(function, call, 2) == "");
    CHECK(y.values == first);
  }
}

}  // namespace rouse::sparse
