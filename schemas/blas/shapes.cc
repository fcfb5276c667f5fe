#include "schemas/blas/shapes.h"

#include <algorithm>

namespace rouse::blas {
namespace {

bool straight(Transpose transpose) { return transpose == Transpose::none; }
Matrix turned(Transpose transpose, std::int64_t rows, std::int64_t columns) {
  return straight(transpose) ? Matrix{rows, columns} : Matrix{columns, rows};
}

Matrix packed(std::int64_t n) { return {n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n, 1}; }

}  // namespace

Shapes shapesOf(Verb verb, const Call& call) {
  const std::int64_t m = call.m, n = call.n, k = call.k;
  Shapes s;
  switch (verb) {
    case Verb::gemm:
      s.a = turned(call.transa, m, k);
      s.b = turned(call.transb, k, n);
      s.c = {m, n};
      break;
    case Verb::gemv:
    case Verb::gbmv:
      s.a = verb == Verb::gbmv ? Matrix{k + call.ku + 1, n} : Matrix{m, n};
      s.x = straight(call.transa) ? n : m;
      s.y = straight(call.transa) ? m : n;
      s.writesY = true;
      break;
    case Verb::ger:
      s.a = {m, n};
      s.x = m;
      s.y = n;
      s.writesA = true;
      break;
    case Verb::symv:
    case Verb::hemv:
    case Verb::sbmv:
    case Verb::hbmv:
      s.a = verb == Verb::symv || verb == Verb::hemv ? Matrix{n, n} : Matrix{k + 1, n};
      s.x = s.y = n;
      s.writesY = true;
      break;
    case Verb::spmv:
    case Verb::hpmv:
      s.a = packed(n);
      s.packedA = true;
      s.x = s.y = n;
      s.writesY = true;
      break;
    case Verb::trmv:
    case Verb::trsv:
    case Verb::tbmv:
    case Verb::tbsv:
      s.a = verb == Verb::trmv || verb == Verb::trsv ? Matrix{n, n} : Matrix{k + 1, n};
      s.x = n;
      s.writesX = true;
      break;
    case Verb::tpmv:
    case Verb::tpsv:
      s.a = packed(n);
      s.packedA = true;
      s.x = n;
      s.writesX = true;
      break;
    case Verb::spr2:
    case Verb::hpr2:
      s.y = n;
      [[fallthrough]];
    case Verb::spr:
    case Verb::hpr:
      s.a = packed(n);
      s.packedA = true;
      s.x = n;
      s.writesA = true;
      break;
    case Verb::tpttr:
    case Verb::trttp:
      s.a = {n, n};
      s.b = packed(n);
      s.packedB = true;
      s.writesA = verb == Verb::tpttr;
      s.writesB = verb == Verb::trttp;
      break;
    case Verb::syr2:
    case Verb::her2:
      s.y = n;
      [[fallthrough]];
    case Verb::syr:
    case Verb::her:
      s.a = {n, n};
      s.x = n;
      s.writesA = true;
      break;
    case Verb::symm:
    case Verb::hemm:
      s.a = call.side == Side::left ? Matrix{m, m} : Matrix{n, n};
      s.b = s.c = {m, n};
      break;
    case Verb::syr2k:
    case Verb::her2k:
    case Verb::syrkx:
    case Verb::herkx:
      s.b = turned(call.transa, n, k);
      [[fallthrough]];
    case Verb::syrk:
    case Verb::herk:
      s.a = turned(call.transa, n, k);
      s.c = {n, n};
      break;
    case Verb::trmm:
      s.c = {m, n};
      [[fallthrough]];
    case Verb::trsm:
      s.a = call.side == Side::left ? Matrix{m, m} : Matrix{n, n};
      s.b = {m, n};
      s.writesB = verb == Verb::trsm;
      break;
    case Verb::geam:
      s.a = turned(call.transa, m, n);
      s.b = turned(call.transb, m, n);
      s.c = {m, n};
      break;
    case Verb::dgmm:
      s.a = s.c = {m, n};
      s.x = call.side == Side::left ? m : n;
      break;
    case Verb::getrf:
      s.a = {n, n};
      s.writesA = true;
      break;
    case Verb::getrs:
      s.a = {n, n};
      s.b = {n, k};
      s.writesB = true;
      break;
    case Verb::getri:
    case Verb::matinv:
      s.a = s.c = {n, n};
      break;
    case Verb::geqrf:
      s.a = {m, n};
      s.x = std::min(m, n);
      s.writesA = s.writesX = true;
      break;
    case Verb::gels:
      s.a = {m, n};
      s.c = {m, k};
      s.writesA = true;
      break;
    case Verb::rotg:
    case Verb::rotmg:
      break;
    case Verb::swap:
    case Verb::rot:
    case Verb::rotm:
      s.x = s.y = n;
      s.writesX = s.writesY = true;
      break;
    case Verb::axpy:
    case Verb::copy:
      s.x = s.y = n;
      s.writesY = true;
      break;
    case Verb::dot:
      s.x = s.y = n;
      break;
    case Verb::scal:
      s.x = n;
      s.writesX = true;
      break;
    case Verb::nrm2:
    case Verb::asum:
    case Verb::iamax:
    case Verb::iamin:
      s.x = n;
      break;
  }
  return s;
}

}  // namespace rouse::blas
