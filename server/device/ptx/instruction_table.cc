#include "server/device/ptx/instruction_table.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace rouse::ptx {
namespace {

// How to read a row.
//   types      one word for each type the instruction has, alternatives joined by commas; names from kTypeFamilies
//   stand for
//              several types
//   modifiers  one word a group of alternatives joined by |; a ? behind a group makes it optional; names from
//   kModifierFamilies operands   role and type: d destination, x wide destination, s source, y wide source, L loaded, S
//   stored, a address,
//              m memory, c constant, l label, t target list; type: 0 1 2 the instruction's, w twice the first,
//              p predicate, h i q 16, 32, 64 bits; |p or |i an optional second destination; ? optional
//              K and W: the same with registers that may be wider; T: a texture or surface with coordinates, M: a tensor map with them
//              v and u: source and destination of which a byte or a half may be named
//              F and G: a fragment of a matrix as destination and source, as many registers as the next digit says
//              C: a warpgroup's accumulators, one register for as many columns as the next digit says
struct Row {
  std::string_view opcode, types, modifiers, operands;
};

struct Family {
  std::string_view name, members;
};

constexpr Family kTypeFamilies[] = {
    {"INT", "u16,u32,u64,s16,s32,s64"},
    {"INT32", "u32,s32"},
    {"INT3264", "u32,s32,u64,s64"},
    {"BITS", "b16,b32,b64"},
    {"PACKED", "u16x2,s16x2"},
    {"SELECT", "b16,u16,s16,b32,u32,s32,b64,u64,s64,f32,f64,f16,bf16,f16x2,bf16x2"},
    {"MEMORY", "b8,u8,s8,b16,u16,s16,b32,u32,s32,b64,u64,s64,f32,f64,f16,bf16,f16x2,bf16x2,b128"},
    {"CONVERT", "u8,s8,u16,s16,u32,s32,u64,s64,f16,bf16,f32,f64"},
};

constexpr Family kModifierFamilies[] = {
    {"ROUND", "rn|rz|rm|rp"},
    {"COMPARE", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|isnan"},
    {"VIDEOCOMPARE", "eq|ne|lt|le|gt|ge"},
    {"BOOLEAN", "op_and|op_or|op_xor"},
    {"SPACE", "global|shared|shared_cta|shared_cluster|local|constant|param|param_entry|param_func"},
    {"SCOPE", "cta|cluster|gpu|sys"},
    {"ORDER", "weak|op_volatile|relaxed|acquire|release|acq_rel|mmio"},
    {"VECTOR", "v2|v4|v8"},
    {"LOADCACHE", "ca|cg|cs|lu|cv|nc"},
    {"STORECACHE", "wb|cg|cs|wt"},
    {"EVICT", "l1_evict_normal|l1_evict_unchanged|l1_evict_first|l1_evict_last|l1_no_allocate"},
    {"EVICT2", "l2_evict_normal|l2_evict_first|l2_evict_last"},
    {"POLICY", "l2_evict_normal|l2_evict_first|l2_evict_last|l2_evict_unchanged"},
    {"PREFETCH", "l2_64|l2_128|l2_256"},
    {"BARRIERSPACE", "shared|shared_cta|shared_cluster"},
    {"MATRIXSPACE", "global|shared|shared_cta"},
    {"LAYOUT", "row|col"},
    {"SPARSE", "sp|sp_ordered"},
    {"LAYOUT2", "second_row|second_col"},
    {"DIMENSIONS", "geometry_1d|geometry_2d|geometry_3d|geometry_4d|geometry_5d"},
    {"REDUCTION", "add|min|max|inc|dec|op_and|op_or|op_xor"},
    {"GEOMETRY", "geometry_1d|geometry_2d|geometry_3d|geometry_a1d|geometry_a2d|geometry_cube|geometry_acube"},
    {"SURFACE", "geometry_1d|geometry_2d|geometry_3d|geometry_a1d|geometry_a2d"},
    {"WMMA16", "m16n16k16|m32n8k16|m8n32k16"},
};

constexpr Row kRows[] = {
    // Integer arithmetic
    {"add", "INT,PACKED", "", "d0 s0 s0"},
    {"add", "s32", "sat", "d0 s0 s0"},
    {"add", "INT3264", "cc", "d0 s0 s0"},
    {"addc", "INT3264", "cc?", "d0 s0 s0"},
    {"sub", "INT,PACKED", "", "d0 s0 s0"},
    {"sub", "s32", "sat", "d0 s0 s0"},
    {"sub", "INT3264", "cc", "d0 s0 s0"},
    {"subc", "INT3264", "cc?", "d0 s0 s0"},
    {"mul", "INT", "lo|hi", "d0 s0 s0"},
    {"mul", "u16,s16,u32,s32", "wide", "dw s0 s0"},
    {"mul24", "INT32", "lo|hi", "d0 s0 s0"},
    {"mad", "INT", "lo|hi", "d0 s0 s0 s0"},
    {"mad", "s32", "hi sat", "d0 s0 s0 s0"},
    {"mad", "u16,s16,u32,s32", "wide", "dw s0 s0 sw"},
    {"mad", "INT3264", "lo|hi cc", "d0 s0 s0 s0"},
    {"madc", "INT3264", "lo|hi cc?", "d0 s0 s0 s0"},
    {"mad24", "INT32", "lo|hi", "d0 s0 s0 s0"},
    {"mad24", "s32", "hi sat", "d0 s0 s0 s0"},
    {"sad", "INT", "", "d0 s0 s0 s0"},
    {"div", "INT", "", "d0 s0 s0"},
    {"rem", "INT", "", "d0 s0 s0"},
    {"abs", "s16,s32,s64", "", "d0 s0"},
    {"neg", "s16,s32,s64", "", "d0 s0"},
    {"min", "INT,PACKED", "", "d0 s0 s0"},
    {"min", "s32,s16x2", "relu", "d0 s0 s0"},
    {"max", "INT,PACKED", "", "d0 s0 s0"},
    {"max", "s32,s16x2", "relu", "d0 s0 s0"},
    {"dp4a", "INT32 INT32", "", "di si si si"},
    {"dp2a", "INT32 INT32", "lo|hi", "di si si si"},
    {"vabsdiff", "INT32 INT32 INT32", "sat?", "di vi vi"},
    {"vabsdiff", "INT32 INT32 INT32", "sat? add|min|max", "di vi vi si"},
    {"vabsdiff", "INT32 INT32 INT32", "sat?", "ui vi vi si"},
    {"vadd", "INT32 INT32 INT32", "sat?", "di vi vi"},
    {"vadd", "INT32 INT32 INT32", "sat? add|min|max", "di vi vi si"},
    {"vadd", "INT32 INT32 INT32", "sat?", "ui vi vi si"},
    {"vmax", "INT32 INT32 INT32", "sat?", "di vi vi"},
    {"vmax", "INT32 INT32 INT32", "sat? add|min|max", "di vi vi si"},
    {"vmax", "INT32 INT32 INT32", "sat?", "ui vi vi si"},
    {"vmin", "INT32 INT32 INT32", "sat?", "di vi vi"},
    {"vmin", "INT32 INT32 INT32", "sat? add|min|max", "di vi vi si"},
    {"vmin", "INT32 INT32 INT32", "sat?", "ui vi vi si"},
    {"vsub", "INT32 INT32 INT32", "sat?", "di vi vi"},
    {"vsub", "INT32 INT32 INT32", "sat? add|min|max", "di vi vi si"},
    {"vsub", "INT32 INT32 INT32", "sat?", "ui vi vi si"},
    {"vshl", "INT32 INT32 u32", "sat? clamp|wrap", "di vi vi"},
    {"vshl", "INT32 INT32 u32", "sat? clamp|wrap add|min|max", "di vi vi si"},
    {"vshl", "INT32 INT32 u32", "sat? clamp|wrap", "ui vi vi si"},
    {"vshr", "INT32 INT32 u32", "sat? clamp|wrap", "di vi vi"},
    {"vshr", "INT32 INT32 u32", "sat? clamp|wrap add|min|max", "di vi vi si"},
    {"vshr", "INT32 INT32 u32", "sat? clamp|wrap", "ui vi vi si"},
    {"vset", "INT32 INT32", "VIDEOCOMPARE", "di vi vi"},
    {"vset", "INT32 INT32", "VIDEOCOMPARE add|min|max", "di vi vi si"},
    {"vset", "INT32 INT32", "VIDEOCOMPARE", "ui vi vi si"},
    {"vmad", "INT32 INT32 INT32", "sat? po? shr7|shr15?", "di vi vi si"},
    {"vabsdiff2", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vabsdiff4", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vadd2", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vadd4", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vmax2", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vmax4", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vmin2", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vmin4", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vsub2", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vsub4", "INT32 INT32 INT32", "sat? add?", "di si si si"},
    {"vavrg2", "u32 u32 u32", "sat? add?", "di si si si"},
    {"vavrg4", "u32 u32 u32", "sat? add?", "di si si si"},
    {"vset2", "INT32 INT32", "VIDEOCOMPARE add?", "di si si si"},
    {"vset4", "INT32 INT32", "VIDEOCOMPARE add?", "di si si si"},

    // Floating-point arithmetic
    {"add", "f32", "ROUND? ftz? sat?", "d0 s0 s0"},
    {"add", "f64", "ROUND?", "d0 s0 s0"},
    {"add", "f16,f16x2", "rn? ftz? sat?", "d0 s0 s0"},
    {"add", "bf16,bf16x2", "rn?", "d0 s0 s0"},
    {"sub", "f32", "ROUND? ftz? sat?", "d0 s0 s0"},
    {"sub", "f64", "ROUND?", "d0 s0 s0"},
    {"sub", "f16,f16x2", "rn? ftz? sat?", "d0 s0 s0"},
    {"sub", "bf16,bf16x2", "rn?", "d0 s0 s0"},
    {"mul", "f32", "ROUND? ftz? sat?", "d0 s0 s0"},
    {"mul", "f64", "ROUND?", "d0 s0 s0"},
    {"mul", "f16,f16x2", "rn? ftz? sat?", "d0 s0 s0"},
    {"mul", "bf16,bf16x2", "rn?", "d0 s0 s0"},
    {"fma", "f32", "ROUND ftz? sat?", "d0 s0 s0 s0"},
    {"fma", "f64", "ROUND", "d0 s0 s0 s0"},
    {"fma", "f16,f16x2", "rn ftz? sat|relu?", "d0 s0 s0 s0"},
    {"fma", "bf16,bf16x2", "rn relu?", "d0 s0 s0 s0"},
    {"mad", "f32", "ROUND? ftz? sat?", "d0 s0 s0 s0"},
    {"mad", "f64", "ROUND", "d0 s0 s0 s0"},
    {"div", "f32", "approx|full|rn|rz|rm|rp ftz?", "d0 s0 s0"},
    {"div", "f64", "ROUND", "d0 s0 s0"},
    {"abs", "f32,f16,f16x2", "ftz?", "d0 s0"},
    {"abs", "f64,bf16,bf16x2", "", "d0 s0"},
    {"neg", "f32,f16,f16x2", "ftz?", "d0 s0"},
    {"neg", "f64,bf16,bf16x2", "", "d0 s0"},
    {"min", "f32,f16,f16x2", "ftz? nan? xorsign? abs?", "d0 s0 s0"},
    {"min", "bf16,bf16x2", "nan? xorsign? abs?", "d0 s0 s0"},
    {"min", "f64", "", "d0 s0 s0"},
    {"max", "f32,f16,f16x2", "ftz? nan? xorsign? abs?", "d0 s0 s0"},
    {"max", "bf16,bf16x2", "nan? xorsign? abs?", "d0 s0 s0"},
    {"max", "f64", "", "d0 s0 s0"},
    {"rcp", "f32", "approx|rn|rz|rm|rp ftz?", "d0 s0"},
    {"rcp", "f64", "ROUND", "d0 s0"},
    {"rcp", "f64", "approx ftz", "d0 s0"},
    {"sqrt", "f32", "approx|rn|rz|rm|rp ftz?", "d0 s0"},
    {"sqrt", "f64", "ROUND", "d0 s0"},
    {"rsqrt", "f32,f64", "approx ftz?", "d0 s0"},
    {"sin", "f32", "approx ftz?", "d0 s0"},
    {"cos", "f32", "approx ftz?", "d0 s0"},
    {"lg2", "f32", "approx ftz?", "d0 s0"},
    {"ex2", "f32,f16,f16x2,bf16,bf16x2", "approx ftz?", "d0 s0"},
    {"tanh", "f32,f16,f16x2,bf16,bf16x2", "approx", "d0 s0"},
    {"copysign", "f32,f64", "", "d0 s0 s0"},
    {"testp", "f32,f64", "finite|infinite|number|notanumber|normal|subnormal", "dp s0"},

    // Bits
    {"and", "pred,BITS", "", "d0 s0 s0"},
    {"or", "pred,BITS", "", "d0 s0 s0"},
    {"xor", "pred,BITS", "", "d0 s0 s0"},
    {"not", "pred,BITS", "", "d0 s0"},
    {"cnot", "BITS", "", "d0 s0"},
    {"lop3", "b32", "", "d0 s0 s0 s0 c"},
    {"lop3", "b32", "op_and|op_or", "d0|p s0 s0 s0 c sp"},
    {"shl", "BITS", "", "d0 s0 si"},
    {"shr", "BITS,INT", "", "d0 s0 si"},
    {"shf", "b32", "l|r wrap|clamp", "d0 s0 s0 si"},
    {"prmt", "b32", "f4e|b4e|rc8|ecl|ecr|rc16?", "d0 s0 s0 si"},
    {"popc", "b32,b64", "", "di s0"},
    {"clz", "b32,b64", "", "di s0"},
    {"brev", "b32,b64", "", "d0 s0"},
    {"bfind", "INT3264", "shiftamt?", "di s0"},
    {"fns", "b32", "", "di si si si"},
    {"bfe", "INT3264", "", "d0 s0 si si"},
    {"bfi", "b32,b64", "", "d0 s0 s0 si si"},
    {"bmsk", "b32", "clamp|wrap", "di si si"},
    {"szext", "INT32", "clamp|wrap", "di si si"},

    // Comparison and selection
    {"set", "u32,s32,f32 u16,u32,u64,s16,s32,s64,b16,b32,b64,f64", "COMPARE", "d0 s1 s1"},
    {"set", "u32,s32,f32 u16,u32,u64,s16,s32,s64,b16,b32,b64,f64", "COMPARE BOOLEAN", "d0 s1 s1 sp"},
    {"set", "u32,s32,f32 f32", "COMPARE ftz?", "d0 s1 s1"},
    {"set", "u32,s32,f32 f32", "COMPARE BOOLEAN ftz?", "d0 s1 s1 sp"},
    {"set", "f16,bf16,u16,s16,u32,s32 f16,bf16", "COMPARE ftz?", "d0 s1 s1"},
    {"set", "f16,bf16,u16,s16,u32,s32 f16,bf16", "COMPARE BOOLEAN ftz?", "d0 s1 s1 sp"},
    {"set", "f16x2,bf16x2,u32,s32 f16x2,bf16x2", "COMPARE ftz?", "d0 s1 s1"},
    {"set", "f16x2,bf16x2,u32,s32 f16x2,bf16x2", "COMPARE BOOLEAN ftz?", "d0 s1 s1 sp"},
    {"setp", "INT,BITS,f32,f64,f16,bf16,f16x2,bf16x2", "COMPARE ftz?", "dp|p s0 s0"},
    {"setp", "INT,BITS,f32,f64,f16,bf16,f16x2,bf16x2", "COMPARE BOOLEAN ftz?", "dp|p s0 s0 sp"},
    {"selp", "SELECT", "", "d0 s0 s0 sp"},
    {"slct", "SELECT s32", "", "d0 s0 s0 s1"},
    {"slct", "SELECT f32", "ftz?", "d0 s0 s0 s1"},

    // Movement and conversion
    {"mov", "pred,SELECT,b128", "", "d0 s0"},
    {"cvt", "CONVERT CONVERT", "rn|rz|rm|rp|rni|rzi|rmi|rpi? ftz? sat|relu?", "x0 y1"},
    {"cvt", "f16x2,bf16x2 f32", "rn|rz relu? satfinite?", "d0 s1 s1"},
    {"cvt", "tf32,b32 f32", "rna|rn|rz relu? satfinite?", "di s1"},
    {"cvt", "e4m3x2,e5m2x2 f32", "rn satfinite relu?", "dh s1 s1"},
    {"cvt", "e4m3x2,e5m2x2 f16x2", "rn satfinite relu?", "dh s1"},
    {"cvt", "f16x2 e4m3x2,e5m2x2", "rn relu?", "di sh"},
    {"cvt", "u16,s16 s32", "pack sat", "di s1 s1"},
    {"cvt", "u8,s8,u4,s4,u2,s2 s32 b32", "pack sat", "di s1 s1 s2"},
    {"cvta", "u64", "global|shared|shared_cta|shared_cluster|local|constant|param|param_entry to?", "d0 a0"},
    {"mapa", "u64", "", "d0 s0 si"},
    {"mapa", "u32,u64", "shared_cluster", "d0 s0 si"},
    {"getctarank", "u64", "", "di s0"},
    {"getctarank", "u32,u64", "shared_cluster", "di s0"},
    {"isspacep", "", "global|shared|shared_cta|shared_cluster|local|constant|param|param_entry", "dp a"},

    // Memory
    {"ld", "MEMORY", "ORDER? SCOPE? SPACE? LOADCACHE? EVICT? EVICT2? PREFETCH? VECTOR?", "L0 m"},
    {"ld", "MEMORY", "ORDER? SCOPE? SPACE? LOADCACHE? EVICT? EVICT2? PREFETCH? VECTOR? l2_cache_hint", "L0 m sq"},
    {"ld", "MEMORY", "SPACE? ca|cg|cs nc EVICT? EVICT2? PREFETCH? VECTOR?", "L0 m"},
    {"ld", "MEMORY", "mmio relaxed sys global? VECTOR?", "L0 m"},
    {"ldu", "MEMORY", "global? VECTOR?", "L0 m"},
    {"st", "MEMORY", "ORDER? SCOPE? SPACE? STORECACHE? EVICT? EVICT2? VECTOR?", "m S0"},
    {"st", "MEMORY", "ORDER? SCOPE? SPACE? STORECACHE? EVICT? EVICT2? VECTOR? l2_cache_hint", "m S0 sq"},
    {"st", "MEMORY", "mmio relaxed sys global? VECTOR?", "m S0"},
    {"st", "b32,u32,s32,f32", "async weak? shared_cluster complete_tx_bytes v2|v4?", "m S0 m"},
    {"st", "b64,u64,s64,f64", "async weak? shared_cluster complete_tx_bytes v2?", "m S0 m"},
    {"alloca", "u64", "", "d0 s0 c?"},
    {"stacksave", "u64", "", "d0"},
    {"stackrestore", "u64", "", "s0"},
    {"prefetch", "", "global|local? l1|l2|l2_evict_last|l2_evict_normal", "m"},
    {"prefetch", "", "constant|param? tensormap", "m"},
    {"prefetchu", "", "l1", "m"},
    {"applypriority", "", "global? l2_evict_normal", "m c"},
    {"discard", "", "global? l2", "m c"},
    {"atom", "u32,s32,u64,f32,f64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? add", "d0 m s0"},
    {"atom", "u32,s32,u64,f32,f64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? add l2_cache_hint", "d0 m s0 sq"},
    {"atom", "f16,f16x2,bf16,bf16x2", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? add noftz", "d0 m s0"},
    {"atom", "f16,f16x2,bf16,bf16x2", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? add noftz l2_cache_hint", "d0 m s0 sq"},
    {"atom", "f32", "relaxed|acquire|release|acq_rel? SCOPE? global? v2|v4 add", "L0 m S0"},
    {"atom", "f32", "relaxed|acquire|release|acq_rel? SCOPE? global? v2|v4 add l2_cache_hint", "L0 m S0 sq"},
    {"atom", "f16,bf16", "relaxed|acquire|release|acq_rel? SCOPE? global? v2|v4|v8 add noftz", "L0 m S0"},
    {"atom", "f16,bf16", "relaxed|acquire|release|acq_rel? SCOPE? global? v2|v4|v8 add noftz l2_cache_hint", "L0 m S0 sq"},
    {"atom", "f16x2,bf16x2", "relaxed|acquire|release|acq_rel? SCOPE? global? v2|v4 add noftz", "L0 m S0"},
    {"atom", "f16x2,bf16x2", "relaxed|acquire|release|acq_rel? SCOPE? global? v2|v4 add noftz l2_cache_hint", "L0 m S0 sq"},
    {"atom", "u32,s32,u64,s64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? min|max", "d0 m s0"},
    {"atom", "u32,s32,u64,s64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? min|max l2_cache_hint", "d0 m s0 sq"},
    {"atom", "u32", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? inc|dec", "d0 m s0"},
    {"atom", "u32", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? inc|dec l2_cache_hint", "d0 m s0 sq"},
    {"atom", "b32,b64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? op_and|op_or|op_xor", "d0 m s0"},
    {"atom", "b32,b64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? op_and|op_or|op_xor l2_cache_hint", "d0 m s0 sq"},
    {"atom", "b32,b64,b128", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? exch", "d0 m s0"},
    {"atom", "b32,b64,b128", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? exch l2_cache_hint", "d0 m s0 sq"},
    {"atom", "b16,b32,b64,b128", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? cas", "d0 m s0 s0"},
    {"red", "u32,s32,u64,f32,f64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? add", "m s0"},
    {"red", "u32,s32,u64,f32,f64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? add l2_cache_hint", "m s0 sq"},
    {"red", "f16,f16x2,bf16,bf16x2", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? add noftz", "m s0"},
    {"red", "f16,f16x2,bf16,bf16x2", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? add noftz l2_cache_hint", "m s0 sq"},
    {"red", "f32", "relaxed|release? SCOPE? global? v2|v4 add", "m S0"},
    {"red", "f32", "relaxed|release? SCOPE? global? v2|v4 add l2_cache_hint", "m S0 sq"},
    {"red", "f16,bf16", "relaxed|release? SCOPE? global? v2|v4|v8 add noftz", "m S0"},
    {"red", "f16,bf16", "relaxed|release? SCOPE? global? v2|v4|v8 add noftz l2_cache_hint", "m S0 sq"},
    {"red", "f16x2,bf16x2", "relaxed|release? SCOPE? global? v2|v4 add noftz", "m S0"},
    {"red", "f16x2,bf16x2", "relaxed|release? SCOPE? global? v2|v4 add noftz l2_cache_hint", "m S0 sq"},
    {"red", "u32,s32,u64,s64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? min|max", "m s0"},
    {"red", "u32,s32,u64,s64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? min|max l2_cache_hint", "m s0 sq"},
    {"red", "u32", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? inc|dec", "m s0"},
    {"red", "u32", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? inc|dec l2_cache_hint", "m s0 sq"},
    {"red", "b32,b64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? op_and|op_or|op_xor", "m s0"},
    {"red", "b32,b64", "ORDER? SCOPE? global|shared|shared_cta|shared_cluster? op_and|op_or|op_xor l2_cache_hint", "m s0 sq"},
    {"red", "u32,s32,u64", "async relaxed cluster shared_cluster complete_tx_bytes add", "m s0 m"},
    {"red", "u32,s32", "async relaxed cluster shared_cluster complete_tx_bytes min|max", "m s0 m"},
    {"red", "u32", "async relaxed cluster shared_cluster complete_tx_bytes inc|dec", "m s0 m"},
    {"red", "b32", "async relaxed cluster shared_cluster complete_tx_bytes op_and|op_or|op_xor", "m s0 m"},
    {"membar", "", "gl|cta|sys", ""},
    {"fence", "", "sc|acq_rel|acquire|release? SCOPE", ""},
    {"fence", "", "proxy async|alias global|shared_cta|shared_cluster?", ""},
    {"fence", "", "proxy tensormap_generic release SCOPE", ""},
    {"fence", "", "proxy tensormap_generic acquire SCOPE", "m c"},
    {"fence", "", "mbarrier_init release cluster", ""},
    {"cp", "", "async ca|cg shared|shared_cta global PREFETCH?", "m m c s?i"},
    {"cp", "", "async ca|cg shared|shared_cta global PREFETCH?", "m m c sp"},
    {"cp", "", "async ca|cg shared|shared_cta global l2_cache_hint PREFETCH?", "m m c sq"},
    {"cp", "", "async ca|cg shared|shared_cta global l2_cache_hint PREFETCH?", "m m c sp sq"},
    {"cp", "", "async ca|cg shared|shared_cta global l2_cache_hint PREFETCH?", "m m c si sq"},
    {"cp", "", "async commit_group", ""},
    {"cp", "", "async wait_group", "c"},
    {"cp", "", "async wait_all", ""},
    {"cp", "b64", "async mbarrier arrive noinc? BARRIERSPACE?", "m"},
    {"cp", "", "async bulk shared_cta|shared_cluster global complete_tx_bytes", "m m si m"},
    {"cp", "", "async bulk shared_cta|shared_cluster global complete_tx_bytes l2_cache_hint", "m m si m sq"},
    {"cp", "", "async bulk global shared_cta bulk_group", "m m si"},
    {"cp", "", "async bulk global shared_cta bulk_group l2_cache_hint", "m m si sq"},
    {"cp", "", "async bulk shared_cluster shared_cta complete_tx_bytes", "m m si m"},
    {"cp", "", "async bulk shared_cluster global complete_tx_bytes multicast_cluster", "m m si m sh"},
    {"cp", "", "async bulk shared_cluster global complete_tx_bytes multicast_cluster l2_cache_hint", "m m si m sh sq"},
    {"cp", "", "async bulk prefetch l2 global", "m si"},
    {"cp", "", "async bulk prefetch l2 global l2_cache_hint", "m si sq"},
    {"cp", "u32,s32,u64", "reduce async bulk shared_cluster shared_cta complete_tx_bytes add", "m m si m"},
    {"cp", "u32,s32", "reduce async bulk shared_cluster shared_cta complete_tx_bytes min|max", "m m si m"},
    {"cp", "u32", "reduce async bulk shared_cluster shared_cta complete_tx_bytes inc|dec", "m m si m"},
    {"cp", "b32", "reduce async bulk shared_cluster shared_cta complete_tx_bytes op_and|op_or|op_xor", "m m si m"},
    {"cp", "u32,s32,u64,f32,f64", "reduce async bulk global shared_cta bulk_group add", "m m si"},
    {"cp", "u32,s32,u64,f32,f64", "reduce async bulk global shared_cta bulk_group l2_cache_hint add", "m m si sq"},
    {"cp", "f16,bf16", "reduce async bulk global shared_cta bulk_group add noftz", "m m si"},
    {"cp", "f16,bf16", "reduce async bulk global shared_cta bulk_group l2_cache_hint add noftz", "m m si sq"},
    {"cp", "u32,s32,u64,s64,f16,bf16", "reduce async bulk global shared_cta bulk_group min|max", "m m si"},
    {"cp", "u32,s32,u64,s64,f16,bf16", "reduce async bulk global shared_cta bulk_group l2_cache_hint min|max", "m m si sq"},
    {"cp", "u32", "reduce async bulk global shared_cta bulk_group inc|dec", "m m si"},
    {"cp", "u32", "reduce async bulk global shared_cta bulk_group l2_cache_hint inc|dec", "m m si sq"},
    {"cp", "b32,b64", "reduce async bulk global shared_cta bulk_group op_and|op_or|op_xor", "m m si"},
    {"cp", "b32,b64", "reduce async bulk global shared_cta bulk_group l2_cache_hint op_and|op_or|op_xor", "m m si sq"},
    {"cp", "", "async bulk tensor DIMENSIONS shared_cta|shared_cluster global tile? complete_tx_bytes", "m Mi m"},
    {"cp", "", "async bulk tensor DIMENSIONS shared_cta|shared_cluster global tile? complete_tx_bytes l2_cache_hint", "m Mi m sq"},
    {"cp", "", "async bulk tensor DIMENSIONS shared_cluster global tile? complete_tx_bytes multicast_cluster", "m Mi m sh"},
    {"cp", "", "async bulk tensor DIMENSIONS shared_cluster global tile? complete_tx_bytes multicast_cluster l2_cache_hint", "m Mi m sh sq"},
    {"cp", "", "async bulk tensor DIMENSIONS global shared_cta tile? bulk_group", "Mi m"},
    {"cp", "", "async bulk tensor DIMENSIONS global shared_cta tile? bulk_group l2_cache_hint", "Mi m sq"},
    {"cp", "", "reduce async bulk tensor DIMENSIONS global shared_cta REDUCTION tile? bulk_group", "Mi m"},
    {"cp", "", "reduce async bulk tensor DIMENSIONS global shared_cta REDUCTION tile? bulk_group l2_cache_hint", "Mi m sq"},
    {"cp", "", "async bulk prefetch tensor DIMENSIONS l2 global tile?", "Mi"},
    {"cp", "", "async bulk prefetch tensor DIMENSIONS l2 global tile? l2_cache_hint", "Mi sq"},
    {"tensormap", "b64", "replace tile global_address global|shared_cta? b1024", "m s0"},
    {"tensormap", "b32", "replace tile rank|elemtype|interleave_layout|swizzle_mode|fill_mode global|shared_cta? b1024", "m s0"},
    {"tensormap", "b32", "replace tile box_dim|global_dim|element_stride global|shared_cta? b1024", "m c s0"},
    {"tensormap", "b64", "replace tile global_stride global|shared_cta? b1024", "m c s0"},
    {"tensormap", "", "cp_fenceproxy global shared_cta tensormap_generic release SCOPE sync aligned", "m m c"},
    {"cp", "", "async bulk commit_group", ""},
    {"cp", "", "async bulk wait_group read?", "c"},
    {"createpolicy", "b64", "fractional POLICY", "dq s?i"},
    {"createpolicy", "b64", "fractional l2_evict_normal|l2_evict_last l2_evict_first|l2_evict_unchanged", "dq s?i"},
    {"createpolicy", "b64", "fractional l2_evict_first l2_evict_unchanged", "dq s?i"},
    {"createpolicy", "b64", "range global? l2_evict_normal|l2_evict_last|l2_evict_first", "dq m si si"},
    {"createpolicy", "b64", "range global? l2_evict_normal|l2_evict_last l2_evict_first|l2_evict_unchanged", "dq m si si"},
    {"createpolicy", "b64", "range global? l2_evict_first l2_evict_unchanged", "dq m si si"},
    {"createpolicy", "b64", "convert l2", "dq sq"},
    {"griddepcontrol", "", "wait|launch_dependents", ""},

    // Barriers and warps
    {"bar", "", "sync|arrive cta?", "si s?i"},
    {"bar", "u32", "cta? red popc", "di si s?i sp"},
    {"bar", "pred", "cta? red op_and|op_or", "dp si s?i sp"},
    {"bar", "", "warp sync", "si"},
    {"barrier", "", "sync|arrive cta? aligned?", "si s?i"},
    {"barrier", "", "cluster arrive|wait release|relaxed|acquire? aligned?", ""},
    {"barrier", "u32", "cta? red popc aligned?", "di si s?i sp"},
    {"barrier", "pred", "cta? red op_and|op_or aligned?", "dp si s?i sp"},
    {"mbarrier", "b64", "init BARRIERSPACE?", "m si"},
    {"mbarrier", "b64", "inval BARRIERSPACE?", "m"},
    {"mbarrier", "b64", "arrive|arrive_drop release|relaxed? cta|cluster? BARRIERSPACE? no_complete?", "dq m s?i"},
    {"mbarrier", "b64", "arrive|arrive_drop expect_tx release|relaxed? cta|cluster? BARRIERSPACE?", "dq m si"},
    {"mbarrier", "b64", "expect_tx|complete_tx relaxed? cta|cluster? BARRIERSPACE?", "m si"},
    {"mbarrier", "b64", "test_wait acquire|relaxed? cta|cluster? BARRIERSPACE?", "dp m sq"},
    {"mbarrier", "b64", "test_wait parity acquire|relaxed? cta|cluster? BARRIERSPACE?", "dp m si"},
    {"mbarrier", "b64", "try_wait acquire|relaxed? cta|cluster? BARRIERSPACE?", "dp m sq s?i"},
    {"mbarrier", "b64", "try_wait parity acquire|relaxed? cta|cluster? BARRIERSPACE?", "dp m si s?i"},
    {"mbarrier", "b64", "pending_count", "di sq"},
    {"elect", "", "sync", "di|p si"},
    {"shfl", "b32", "sync up|down|bfly|idx", "d0|p s0 si si si"},
    {"vote", "pred", "sync all|any|uni", "dp sp si"},
    {"vote", "b32", "sync ballot", "di sp si"},
    {"match", "b32,b64", "sync any", "di s0 si"},
    {"match", "b32,b64", "sync all", "di|p s0 si"},
    {"redux", "u32,s32", "sync add|min|max", "d0 s0 si"},
    {"redux", "b32", "sync op_and|op_or|op_xor", "d0 s0 si"},
    {"activemask", "b32", "", "di"},
    {"nanosleep", "u32", "", "si"},

    // Matrices of a warp (matrix.cc). Shapes fix how many registers each matrix takes.
    {"ldmatrix", "b16", "sync aligned m8n8 x1 trans? shared|shared_cta?", "F1i m"},
    {"ldmatrix", "b16", "sync aligned m8n8 x2 trans? shared|shared_cta?", "F2i m"},
    {"ldmatrix", "b16", "sync aligned m8n8 x4 trans? shared|shared_cta?", "F4i m"},
    {"stmatrix", "b16", "sync aligned m8n8 x1 trans? shared|shared_cta?", "m G1i"},
    {"stmatrix", "b16", "sync aligned m8n8 x2 trans? shared|shared_cta?", "m G2i"},
    {"stmatrix", "b16", "sync aligned m8n8 x4 trans? shared|shared_cta?", "m G4i"},
    {"movmatrix", "b16", "sync aligned m8n8 trans", "di si"},
    {"mma", "f32 f16 f16 f32", "sync aligned m16n8k8 row second_col", "F4i G2i G1i G4i"},
    {"mma", "f16 f16 f16 f16", "sync aligned m16n8k8 row second_col", "F2i G2i G1i G2i"},
    {"mma", "f32 f16 f16 f32", "sync aligned m16n8k16 row second_col", "F4i G4i G2i G4i"},
    {"mma", "f16 f16 f16 f16", "sync aligned m16n8k16 row second_col", "F2i G4i G2i G2i"},
    {"mma", "f32 bf16 bf16 f32", "sync aligned m16n8k8 row second_col", "F4i G2i G1i G4i"},
    {"mma", "f32 bf16 bf16 f32", "sync aligned m16n8k16 row second_col", "F4i G4i G2i G4i"},
    {"mma", "f32 tf32 tf32 f32", "sync aligned m16n8k4 row second_col", "F4i G2i G1i G4i"},
    {"mma", "f32 tf32 tf32 f32", "sync aligned m16n8k8 row second_col", "F4i G4i G2i G4i"},
    {"mma", "f32 e4m3,e5m2 e4m3,e5m2 f32", "sync aligned m16n8k32 row second_col", "F4i G4i G2i G4i"},
    {"mma", "f16 e4m3,e5m2 e4m3,e5m2 f16", "sync aligned m16n8k32 row second_col", "F2i G4i G2i G2i"},
    {"mma", "f32 e4m3,e5m2 e4m3,e5m2 f32", "sync aligned m16n8k16 row second_col", "F4i G2i G1i G4i"},
    {"mma", "f16 e4m3,e5m2 e4m3,e5m2 f16", "sync aligned m16n8k16 row second_col", "F2i G2i G1i G2i"},
    {"mma", "f64 f64 f64 f64", "sync aligned m8n8k4 row second_col rn?", "F2q G1q G1q G2q"},
    {"mma", "f64 f64 f64 f64", "sync aligned m16n8k4 row second_col rn?", "F4q G2q G1q G4q"},
    {"mma", "f64 f64 f64 f64", "sync aligned m16n8k8 row second_col rn?", "F4q G4q G2q G4q"},
    {"mma", "f64 f64 f64 f64", "sync aligned m16n8k16 row second_col rn?", "F4q G8q G4q G4q"},
    {"mma", "s32 s8,u8 s8,u8 s32", "sync aligned m8n8k16 row second_col satfinite?", "F2i G1i G1i G2i"},
    {"mma", "s32 s8,u8 s8,u8 s32", "sync aligned m16n8k16 row second_col satfinite?", "F4i G2i G1i G4i"},
    {"mma", "s32 s8,u8 s8,u8 s32", "sync aligned m16n8k32 row second_col satfinite?", "F4i G4i G2i G4i"},
    {"mma", "s32 s4,u4 s4,u4 s32", "sync aligned m8n8k32 row second_col satfinite?", "F2i G1i G1i G2i"},
    {"mma", "s32 s4,u4 s4,u4 s32", "sync aligned m16n8k32 row second_col satfinite?", "F4i G2i G1i G4i"},
    {"mma", "s32 s4,u4 s4,u4 s32", "sync aligned m16n8k64 row second_col satfinite?", "F4i G4i G2i G4i"},
    {"mma", "s32 b1 b1 s32", "sync aligned m8n8k128 row second_col op_and|op_xor popc", "F2i G1i G1i G2i"},
    {"mma", "s32 b1 b1 s32", "sync aligned m16n8k128 row second_col op_and|op_xor popc", "F4i G2i G1i G4i"},
    {"mma", "s32 b1 b1 s32", "sync aligned m16n8k256 row second_col op_and|op_xor popc", "F4i G4i G2i G4i"},
    {"mma", "f32 f16 f16 f32", "sync aligned m8n8k4 LAYOUT LAYOUT2", "F8i G2i G2i G8i"},
    {"mma", "f32 f16 f16 f16", "sync aligned m8n8k4 LAYOUT LAYOUT2", "F8i G2i G2i G4i"},
    {"mma", "f16 f16 f16 f16", "sync aligned m8n8k4 LAYOUT LAYOUT2", "F4i G2i G2i G4i"},
    {"mma", "f32 f16 f16 f32", "SPARSE sync aligned m16n8k16 row second_col", "F4i G2i G2i G4i si c"},
    {"mma", "f16 f16 f16 f16", "SPARSE sync aligned m16n8k16 row second_col", "F2i G2i G2i G2i si c"},
    {"mma", "f32 f16 f16 f32", "SPARSE sync aligned m16n8k32 row second_col", "F4i G4i G4i G4i si c"},
    {"mma", "f16 f16 f16 f16", "SPARSE sync aligned m16n8k32 row second_col", "F2i G4i G4i G2i si c"},
    {"mma", "f32 bf16 bf16 f32", "SPARSE sync aligned m16n8k16 row second_col", "F4i G2i G2i G4i si c"},
    {"mma", "f32 bf16 bf16 f32", "SPARSE sync aligned m16n8k32 row second_col", "F4i G4i G4i G4i si c"},
    {"mma", "f32 tf32 tf32 f32", "SPARSE sync aligned m16n8k8 row second_col", "F4i G2i G2i G4i si c"},
    {"mma", "f32 tf32 tf32 f32", "SPARSE sync aligned m16n8k16 row second_col", "F4i G4i G4i G4i si c"},
    {"mma", "f32 e4m3,e5m2 e4m3,e5m2 f32", "SPARSE sync aligned m16n8k64 row second_col", "F4i G4i G4i G4i si c"},
    {"mma", "s32 s8,u8 s8,u8 s32", "SPARSE sync aligned m16n8k32 row second_col satfinite?", "F4i G2i G2i G4i si c"},
    {"mma", "s32 s8,u8 s8,u8 s32", "SPARSE sync aligned m16n8k64 row second_col satfinite?", "F4i G4i G4i G4i si c"},
    {"mma", "s32 s4,u4 s4,u4 s32", "SPARSE sync aligned m16n8k64 row second_col satfinite?", "F4i G2i G2i G4i si c"},
    {"mma", "s32 s4,u4 s4,u4 s32", "SPARSE sync aligned m16n8k128 row second_col satfinite?", "F4i G4i G4i G4i si c"},
    {"wmma", "f16", "sync aligned load a|b LAYOUT WMMA16 MATRIXSPACE?", "F8i m s?i"},
    {"wmma", "bf16", "sync aligned load a|b LAYOUT m16n16k16 MATRIXSPACE?", "F4i m s?i"},
    {"wmma", "s8,u8", "sync aligned load a|b LAYOUT m16n16k16 MATRIXSPACE?", "F2i m s?i"},
    {"wmma", "bf16", "sync aligned load a LAYOUT m32n8k16 MATRIXSPACE?", "F8i m s?i"},
    {"wmma", "bf16", "sync aligned load b LAYOUT m32n8k16 MATRIXSPACE?", "F2i m s?i"},
    {"wmma", "bf16", "sync aligned load a LAYOUT m8n32k16 MATRIXSPACE?", "F2i m s?i"},
    {"wmma", "bf16", "sync aligned load b LAYOUT m8n32k16 MATRIXSPACE?", "F8i m s?i"},
    {"wmma", "s8,u8", "sync aligned load a LAYOUT m32n8k16 MATRIXSPACE?", "F4i m s?i"},
    {"wmma", "s8,u8", "sync aligned load b LAYOUT m32n8k16 MATRIXSPACE?", "F1i m s?i"},
    {"wmma", "s8,u8", "sync aligned load a LAYOUT m8n32k16 MATRIXSPACE?", "F1i m s?i"},
    {"wmma", "s8,u8", "sync aligned load b LAYOUT m8n32k16 MATRIXSPACE?", "F4i m s?i"},
    {"wmma", "tf32", "sync aligned load a|b LAYOUT m16n16k8 MATRIXSPACE?", "F4i m s?i"},
    {"wmma", "f64", "sync aligned load a|b LAYOUT m8n8k4 MATRIXSPACE?", "F1q m s?i"},
    {"wmma", "s4,u4", "sync aligned load a row m8n8k32 MATRIXSPACE?", "F1i m s?i"},
    {"wmma", "s4,u4", "sync aligned load b col m8n8k32 MATRIXSPACE?", "F1i m s?i"},
    {"wmma", "b1", "sync aligned load a row m8n8k128 MATRIXSPACE?", "F1i m s?i"},
    {"wmma", "b1", "sync aligned load b col m8n8k128 MATRIXSPACE?", "F1i m s?i"},
    {"wmma", "f16", "sync aligned load c LAYOUT WMMA16 MATRIXSPACE?", "F4i m s?i"},
    {"wmma", "f16", "sync aligned store d LAYOUT WMMA16 MATRIXSPACE?", "m G4i s?i"},
    {"wmma", "f32", "sync aligned load c LAYOUT WMMA16|m16n16k8 MATRIXSPACE?", "F8i m s?i"},
    {"wmma", "f32", "sync aligned store d LAYOUT WMMA16|m16n16k8 MATRIXSPACE?", "m G8i s?i"},
    {"wmma", "s32", "sync aligned load c LAYOUT WMMA16 MATRIXSPACE?", "F8i m s?i"},
    {"wmma", "s32", "sync aligned store d LAYOUT WMMA16 MATRIXSPACE?", "m G8i s?i"},
    {"wmma", "s32", "sync aligned load c LAYOUT m8n8k32|m8n8k128 MATRIXSPACE?", "F2i m s?i"},
    {"wmma", "s32", "sync aligned store d LAYOUT m8n8k32|m8n8k128 MATRIXSPACE?", "m G2i s?i"},
    {"wmma", "f64", "sync aligned load c LAYOUT m8n8k4 MATRIXSPACE?", "F2q m s?i"},
    {"wmma", "f64", "sync aligned store d LAYOUT m8n8k4 MATRIXSPACE?", "m G2q s?i"},
    {"wmma", "f16 f16", "sync aligned mma LAYOUT LAYOUT2 WMMA16", "F4i G8i G8i G4i"},
    {"wmma", "f16 f32", "sync aligned mma LAYOUT LAYOUT2 WMMA16", "F4i G8i G8i G8i"},
    {"wmma", "f32 f16", "sync aligned mma LAYOUT LAYOUT2 WMMA16", "F8i G8i G8i G4i"},
    {"wmma", "f32 f32", "sync aligned mma LAYOUT LAYOUT2 WMMA16", "F8i G8i G8i G8i"},
    {"wmma", "f32 bf16 bf16 f32", "sync aligned mma LAYOUT LAYOUT2 m16n16k16", "F8i G4i G4i G8i"},
    {"wmma", "f32 bf16 bf16 f32", "sync aligned mma LAYOUT LAYOUT2 m32n8k16", "F8i G8i G2i G8i"},
    {"wmma", "f32 bf16 bf16 f32", "sync aligned mma LAYOUT LAYOUT2 m8n32k16", "F8i G2i G8i G8i"},
    {"wmma", "f32 tf32 tf32 f32", "sync aligned mma LAYOUT LAYOUT2 m16n16k8", "F8i G4i G4i G8i"},
    {"wmma", "f64 f64 f64 f64", "sync aligned mma LAYOUT LAYOUT2 m8n8k4 rn?", "F2q G1q G1q G2q"},
    {"wmma", "s32 s8 s8 s32", "sync aligned mma LAYOUT LAYOUT2 m16n16k16 satfinite?", "F8i G2i G2i G8i"},
    {"wmma", "s32 s8 s8 s32", "sync aligned mma LAYOUT LAYOUT2 m32n8k16 satfinite?", "F8i G4i G1i G8i"},
    {"wmma", "s32 s8 s8 s32", "sync aligned mma LAYOUT LAYOUT2 m8n32k16 satfinite?", "F8i G1i G4i G8i"},
    {"wmma", "s32 u8 u8 s32", "sync aligned mma LAYOUT LAYOUT2 m16n16k16 satfinite?", "F8i G2i G2i G8i"},
    {"wmma", "s32 u8 u8 s32", "sync aligned mma LAYOUT LAYOUT2 m32n8k16 satfinite?", "F8i G4i G1i G8i"},
    {"wmma", "s32 u8 u8 s32", "sync aligned mma LAYOUT LAYOUT2 m8n32k16 satfinite?", "F8i G1i G4i G8i"},
    {"wmma", "s32 s4 s4 s32", "sync aligned mma row second_col m8n8k32 satfinite?", "F2i G1i G1i G2i"},
    {"wmma", "s32 u4 u4 s32", "sync aligned mma row second_col m8n8k32 satfinite?", "F2i G1i G1i G2i"},
    {"wmma", "s32 b1 b1 s32", "sync aligned mma op_and|op_xor popc row second_col m8n8k128", "F2i G1i G1i G2i"},

    // Warpgroup matrices: accumulators, A (a descriptor or registers), B's descriptor, whether there is something to add to, and signs, and what is transposed
    {"wgmma", "f32 f16 f16", "mma_async sync aligned m64k16", "C2i sq sq sp c c c c"},
    {"wgmma", "f32 f16 f16", "mma_async sync aligned m64k16", "C2i G4i sq sp c c c"},
    {"wgmma", "f16 f16 f16", "mma_async sync aligned m64k16", "C4i sq sq sp c c c c"},
    {"wgmma", "f16 f16 f16", "mma_async sync aligned m64k16", "C4i G4i sq sp c c c"},
    {"wgmma", "f32 bf16 bf16", "mma_async sync aligned m64k16", "C2i sq sq sp c c c c"},
    {"wgmma", "f32 bf16 bf16", "mma_async sync aligned m64k16", "C2i G4i sq sp c c c"},
    {"wgmma", "f32 tf32 tf32", "mma_async sync aligned m64k8", "C2i sq sq sp c c"},
    {"wgmma", "f32 tf32 tf32", "mma_async sync aligned m64k8", "C2i G4i sq sp c c"},
    {"wgmma", "f32 e4m3,e5m2 e4m3,e5m2", "mma_async sync aligned m64k32", "C2i sq sq sp c c"},
    {"wgmma", "f32 e4m3,e5m2 e4m3,e5m2", "mma_async sync aligned m64k32", "C2i G4i sq sp c c"},
    {"wgmma", "f16 e4m3,e5m2 e4m3,e5m2", "mma_async sync aligned m64k32", "C4i sq sq sp c c"},
    {"wgmma", "f16 e4m3,e5m2 e4m3,e5m2", "mma_async sync aligned m64k32", "C4i G4i sq sp c c"},
    {"wgmma", "s32 s8,u8 s8,u8", "mma_async sync aligned m64k32 satfinite?", "C2i sq sq sp"},
    {"wgmma", "s32 s8,u8 s8,u8", "mma_async sync aligned m64k32 satfinite?", "C2i G4i sq sp"},
    {"wgmma", "s32 b1 b1", "mma_async sync aligned m64k256 op_and popc", "C2i sq sq sp"},
    {"wgmma", "s32 b1 b1", "mma_async sync aligned m64k256 op_and popc", "C2i G4i sq sp"},
    {"wgmma", "f32 f16 f16", "mma_async sp sync aligned m64k32", "C2i sq sq si c sp c c c c"},
    {"wgmma", "f32 f16 f16", "mma_async sp sync aligned m64k32", "C2i G4i sq si c sp c c c"},
    {"wgmma", "f16 f16 f16", "mma_async sp sync aligned m64k32", "C4i sq sq si c sp c c c c"},
    {"wgmma", "f16 f16 f16", "mma_async sp sync aligned m64k32", "C4i G4i sq si c sp c c c"},
    {"wgmma", "f32 bf16 bf16", "mma_async sp sync aligned m64k32", "C2i sq sq si c sp c c c c"},
    {"wgmma", "f32 bf16 bf16", "mma_async sp sync aligned m64k32", "C2i G4i sq si c sp c c c"},
    {"wgmma", "f32 tf32 tf32", "mma_async sp sync aligned m64k16", "C2i sq sq si c sp c c"},
    {"wgmma", "f32 tf32 tf32", "mma_async sp sync aligned m64k16", "C2i G4i sq si c sp c c"},
    {"wgmma", "f32 e4m3,e5m2 e4m3,e5m2", "mma_async sp sync aligned m64k64", "C2i sq sq si c sp c c"},
    {"wgmma", "f32 e4m3,e5m2 e4m3,e5m2", "mma_async sp sync aligned m64k64", "C2i G4i sq si c sp c c"},
    {"wgmma", "f16 e4m3,e5m2 e4m3,e5m2", "mma_async sp sync aligned m64k64", "C4i sq sq si c sp c c"},
    {"wgmma", "f16 e4m3,e5m2 e4m3,e5m2", "mma_async sp sync aligned m64k64", "C4i G4i sq si c sp c c"},
    {"wgmma", "s32 s8,u8 s8,u8", "mma_async sp sync aligned m64k64 satfinite?", "C2i sq sq si c sp"},
    {"wgmma", "s32 s8,u8 s8,u8", "mma_async sp sync aligned m64k64 satfinite?", "C2i G4i sq si c sp"},
    {"wgmma", "", "fence sync aligned", ""},
    {"wgmma", "", "commit_group sync aligned", ""},
    {"wgmma", "", "wait_group sync aligned", "c"},
    {"setmaxnreg", "u32", "inc|dec sync aligned", "c"},

    // Textures and surfaces, by objects
    {"tex", "f32,u32,s32 f32,s32", "GEOMETRY v4", "F40 Ti"},
    {"tex", "f32,u32,s32 f32,s32", "level GEOMETRY v4", "F40 Ti si"},
    {"tex", "f32,u32,s32 f32", "grad geometry_1d|geometry_a1d v4", "F40 Ti G1i G1i"},
    {"tex", "f32,u32,s32 f32", "grad geometry_2d|geometry_a2d v4", "F40 Ti G2i G2i"},
    {"tex", "f32,u32,s32 f32", "grad geometry_3d|geometry_cube|geometry_acube v4", "F40 Ti G4i G4i"},
    {"tld4", "f32,u32,s32 f32", "r|g|b|a geometry_2d|geometry_a2d v4", "F40 Ti"},
    {"txq", "b32", "width|height|depth|array_size|num_mipmap_levels", "d0 m"},
    {"suq", "b32", "width|height|depth|array_size", "d0 m"},
    {"suld", "b8,b16,b32,b64", "b SURFACE LOADCACHE? trap|clamp|zero", "K10 Ti"},
    {"suld", "b8,b16,b32,b64", "b SURFACE LOADCACHE? v2 trap|clamp|zero", "K20 Ti"},
    {"suld", "b8,b16,b32", "b SURFACE LOADCACHE? v4 trap|clamp|zero", "K40 Ti"},
    {"sust", "b8,b16,b32,b64", "b SURFACE STORECACHE? trap|clamp|zero", "Ti W10"},
    {"sust", "b8,b16,b32,b64", "b SURFACE STORECACHE? v2 trap|clamp|zero", "Ti W20"},
    {"sust", "b8,b16,b32", "b SURFACE STORECACHE? v4 trap|clamp|zero", "Ti W40"},

    // Control flow
    {"bra", "", "uni?", "l"},
    {"brx", "", "idx uni?", "si t"},
    {"call", "", "uni?", ""},
    {"ret", "", "uni?", ""},
    {"exit", "", "", ""},
    {"trap", "", "", ""},
    {"brkpt", "", "", ""},
    {"nop", "", "", ""},
    {"pmevent", "", "mask?", "c"},
};

// The table is part of the program: a row that cannot be read is a mistake of ours, not of the module's.
[[noreturn]] void badRow(const Row& row, std::string_view word) {
  std::fprintf(stderr, "instruction table: row '%.*s', word '%.*s'\n", static_cast<int>(row.opcode.size()),
               row.opcode.data(), static_cast<int>(word.size()), word.data());
  std::abort();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

template <std::size_t n>
std::string_view membersOf(const Family (&families)[n], std::string_view name) {
  for (const Family& family : families) {
    if (family.name == name) return family.members;
  }
  return {};
}

TypeSet readTypes(const Row& row, std::string_view words) {
  TypeSet set = 0;
  for (const std::string_view word : split(words, ',')) {
    if (const auto members = membersOf(kTypeFamilies, word); !members.empty()) {
      set |= readTypes(row, members);
    } else if (const auto type = typeNamed(word)) {
      set |= TypeSet{1} << static_cast<unsigned>(*type);
    } else {
      badRow(row, word);
    }
  }
  return set;
}

// Rows name modifiers by enumerator, so that `.and` and `.nan` can be told from what C++ and other modifiers mean by
// them.
ModifierSet readModifiers(const Row& row, std::string_view words) {
  static const auto* names = new std::unordered_map<std::string_view, Modifier>{
#define ROUSE_PTX_NAME(name, word) {#name, Modifier::name},
      ROUSE_PTX_MODIFIERS(ROUSE_PTX_NAME)
#undef ROUSE_PTX_NAME
  };
  ModifierSet set;
  for (const std::string_view word : split(words, '|')) {
    if (const auto members = membersOf(kModifierFamilies, word); !members.empty()) {
      set |= readModifiers(row, members);
    } else if (const auto found = names->find(word); found != names->end()) {
      set.insert(found->second);
    } else {
      badRow(row, word);
    }
  }
  return set;
}

OperandForm readOperand(const Row& row, std::string_view word) {
  using Role = OperandForm::Role;
  OperandForm form;
  switch (word[0]) {
    case 'd':
      form.role = Role::destination;
      break;
    case 'x':
      form.role = Role::wideDestination;
      break;
    case 'u':
      form.role = Role::destination;
      form.part = true;
      break;
    case 's':
      form.role = Role::source;
      break;
    case 'v':
      form.role = Role::source;
      form.part = true;
      break;
    case 'y':
      form.role = Role::wideSource;
      break;
    case 'L':
      form.role = Role::loaded;
      break;
    case 'S':
      form.role = Role::stored;
      break;
    case 'a':
      form.role = Role::address;
      break;
    case 'm':
      form.role = Role::memory;
      break;
    case 'c':
      form.role = Role::constant;
      break;
    case 'l':
      form.role = Role::label;
      break;
    case 't':
      form.role = Role::targets;
      break;
    case 'T':
      form.role = Role::texture;
      break;
    case 'M':
      form.role = Role::tensor;
      break;
    case 'C':
    case 'F':
    case 'G':
    case 'K':
    case 'W':
      form.byColumns = word[0] == 'C';
      form.role = word[0] == 'C' || word[0] == 'F' || word[0] == 'K' ? Role::fragmentDestination : Role::fragmentSource;
      form.wide = word[0] == 'K' || word[0] == 'W';
      if (word.size() < 2 || word[1] < '1' || word[1] > '8') badRow(row, word);
      form.count = static_cast<std::uint8_t>(word[1] - '0');
      word.remove_prefix(1);
      break;
    default:
      badRow(row, word);
  }
  form.typeIndex = -1;
  form.fixed = Type::b64;
  bool second = false;
  for (const char c : word.substr(1)) {
    Type fixed = Type::none;
    switch (c) {
      case '?':
        form.optional = true;
        break;
      case '|':
        second = true;
        break;
      case '0':
        form.typeIndex = 0;
        break;
      case '1':
        form.typeIndex = 1;
        break;
      case '2':
        form.typeIndex = 2;
        break;
      case 'w':
        form.typeIndex = -2;
        break;
      case 'p':
        fixed = Type::pred;
        break;
      case 'h':
        fixed = Type::b16;
        break;
      case 'i':
        fixed = Type::b32;
        break;
      case 'q':
        fixed = Type::b64;
        break;
      default:
        badRow(row, word);
    }
    if (fixed != Type::none) (second ? form.second : form.fixed) = fixed;
  }
  return form;
}

std::vector<InstructionForm> readTable() {
  std::vector<InstructionForm> forms;
  for (const Row& row : kRows) {
    InstructionForm form;
    const auto opcode = opcodeNamed(row.opcode);
    if (!opcode) badRow(row, row.opcode);
    form.opcode = *opcode;
    for (const std::string_view word : split(row.types, ' ')) form.types.push_back(readTypes(row, word));
    for (std::string_view word : split(row.modifiers, ' ')) {
      ModifierGroup group;
      group.required = word.back() != '?';
      if (!group.required) word.remove_suffix(1);
      group.choices = readModifiers(row, word);
      form.allowed |= group.choices;
      form.groups.push_back(group);
    }
    for (const std::string_view word : split(row.operands, ' ')) form.operands.push_back(readOperand(row, word));
    forms.push_back(std::move(form));
  }
  return forms;
}

Type twice(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    default:
      return Type::s64;
  }
}

}  // namespace

const std::vector<InstructionForm>& instructionForms() {
  static const auto* forms = new std::vector<InstructionForm>(readTable());
  return *forms;
}

const std::vector<const InstructionForm*>& formsOf(Opcode opcode) {
  using Index = std::array<std::vector<const InstructionForm*>, static_cast<std::size_t>(Opcode::count)>;
  static const auto* index = [] {
    auto* made = new Index;
    for (const InstructionForm& form : instructionForms())
      (*made)[static_cast<std::size_t>(form.opcode)].push_back(&form);
    return made;
  }();
  return (*index)[static_cast<std::size_t>(opcode)];
}

Type operandType(const OperandForm& form, const Type* types) {
  if (form.typeIndex == -1) return form.fixed;
  if (form.typeIndex == -2) return twice(types[0]);
  return types[form.typeIndex];
}

}  // namespace rouse::ptx
