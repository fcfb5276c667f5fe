// What generated code calls beside the functions of abi.h: arithmetic that has no short form in LLVM's terms.
#pragma once

#include <cstdint>

extern "C" {
// mode: codegen::Rounding.
double rouse_ptx_mul_f64(double, double, std::uint32_t mode);
double rouse_ptx_div_f64(double, double, std::uint32_t mode);
double rouse_ptx_fma_f64(double, double, double, std::uint32_t mode);
double rouse_ptx_sqrt_f64(double, std::uint32_t mode);
// Position of the n-th set bit counted from `base` (PTX ISA, "fns").
std::uint32_t rouse_ptx_fns(std::uint32_t mask, std::uint32_t base, std::int32_t n);
}
