// The words after an instruction's opcode that are not types: `.rn`, `.global`, `.sync`, ... An instruction keeps them
// as a set; their order carries no meaning that the types and operands do not.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rouse::ptx {

// name in the enumeration, word in the text.
#define ROUSE_PTX_MODIFIERS(X)                                                                                        \
  /* rounding and arithmetic */                                                                                       \
  X(rn, "rn")                                                                                                         \
  X(rz, "rz") X(rm, "rm") X(rp, "rp") X(rna, "rna") X(rni, "rni") X(rzi, "rzi") X(rmi, "rmi") X(rpi, "rpi")           \
      X(ftz, "ftz") X(noftz, "noftz") X(sat, "sat") X(satfinite, "satfinite") X(relu, "relu") X(cc, "cc") X(lo, "lo") \
          X(hi, "hi") X(wide, "wide") X(approx, "approx") X(full, "full") X(nan, "NaN") X(xorsign, "xorsign")         \
              X(abs, "abs") X(shiftamt, "shiftamt") X(pack, "pack") X(po, "po") X(shr7, "shr7") X(shr15, "shr15") /* comparison */                                  \
      X(eq, "eq") X(ne, "ne") X(lt, "lt") X(le, "le") X(gt, "gt") X(ge, "ge") X(ls, "ls") X(hs, "hs") X(equ, "equ")   \
          X(neu, "neu") X(ltu, "ltu") X(leu, "leu") X(gtu, "gtu") X(geu, "geu") X(num, "num") X(isnan, "nan")         \
              X(finite, "finite") X(infinite, "infinite") X(number, "number") X(notanumber, "notanumber")             \
                  X(normal, "normal") X(subnormal, "subnormal") /* combination, reduction, atomics */                 \
      X(op_and, "and") X(op_or, "or") X(op_xor, "xor") X(popc, "popc") X(add, "add") X(inc, "inc") X(dec, "dec")      \
          X(min, "min") X(max, "max") X(exch, "exch") X(cas, "cas") /* bits */                                        \
      X(l, "l") X(r, "r") X(wrap, "wrap") X(clamp, "clamp") X(f4e, "f4e") X(b4e, "b4e") X(rc8, "rc8") X(ecl, "ecl")   \
          X(ecr, "ecr") X(rc16, "rc16") /* state spaces */                                                            \
      X(global, "global") X(shared, "shared") X(shared_cta, "shared::cta") X(shared_cluster, "shared::cluster") X(local, "local") X(constant, "const")     \
          X(param, "param") X(param_entry, "param::entry") X(param_func, "param::func")                               \
              X(to, "to") /* memory order, scope */                                                                   \
      X(weak, "weak") X(op_volatile, "volatile") X(relaxed, "relaxed") X(acquire, "acquire") X(release, "release")    \
          X(acq_rel, "acq_rel") X(sc, "sc") X(mmio, "mmio") X(cta, "cta") X(cluster, "cluster") X(gpu, "gpu")         \
              X(sys, "sys") X(gl, "gl") /* caches */                                                                  \
      X(ca, "ca") X(cg, "cg") X(cs, "cs") X(lu, "lu") X(cv, "cv") X(wb, "wb") X(wt, "wt") X(nc, "nc")                 \
          X(l1_evict_normal, "L1::evict_normal") X(l1_evict_unchanged, "L1::evict_unchanged")                         \
              X(l1_evict_first, "L1::evict_first") X(l1_evict_last, "L1::evict_last")                                 \
                  X(l1_no_allocate, "L1::no_allocate") X(l2_evict_normal, "L2::evict_normal")                         \
                      X(l2_evict_first, "L2::evict_first") X(l2_evict_last, "L2::evict_last") X(l2_evict_unchanged, "L2::evict_unchanged")                         \
                          X(l2_cache_hint, "L2::cache_hint") X(l2_64, "L2::64B") X(l2_128, "L2::128B")                \
                              X(l2_256, "L2::256B") X(l1, "L1") X(l2, "L2") /* vectors */                             \
      X(v2, "v2") X(v4, "v4") X(v8, "v8") /* barriers, warps, control flow, asynchronous copies */                    \
      X(sync, "sync") X(arrive, "arrive") X(red, "red") X(warp, "warp") X(aligned, "aligned") X(up, "up")             \
          X(down, "down") X(bfly, "bfly") X(idx, "idx") X(all, "all") X(any, "any") X(uni, "uni") X(ballot, "ballot") \
              X(async, "async") X(commit_group, "commit_group") X(wait_group, "wait_group") X(wait_all, "wait_all")       \
      X(bulk, "bulk") X(bulk_group, "bulk_group") X(read, "read") X(proxy, "proxy") X(alias, "alias")                 \
          X(wait, "wait") X(launch_dependents, "launch_dependents") X(fractional, "fractional")                       \
          X(range, "range") X(convert, "cvt") X(mask, "mask")                                                         \
      /* barrier objects */                                                                                           \
      X(mbarrier, "mbarrier") X(mbarrier_init, "mbarrier_init") X(init, "init") X(inval, "inval")                     \
          X(arrive_drop, "arrive_drop") X(no_complete, "noComplete") X(noinc, "noinc") X(expect_tx, "expect_tx")      \
              X(complete_tx, "complete_tx") X(complete_tx_bytes, "mbarrier::complete_tx::bytes")                      \
                  X(test_wait, "test_wait") X(try_wait, "try_wait") X(parity, "parity")                               \
                      X(pending_count, "pending_count")                                                               \
      /* warp matrices; a second .row or .col is of the second matrix (secondLayout) */                               \
      X(row, "row") X(col, "col") X(second_row, ".row") X(second_col, ".col") X(trans, "trans") X(x1, "x1")           \
          X(x2, "x2") X(x4, "x4") X(load, "load") X(store, "store") X(mma, "mma") X(a, "a") X(b, "b") X(c, "c")       \
              X(d, "d") X(m8n8, "m8n8") X(m8n8k4, "m8n8k4") X(m8n8k16, "m8n8k16") X(m8n8k32, "m8n8k32")               \
                  X(m8n8k128, "m8n8k128") X(m16n8k4, "m16n8k4") X(m16n8k8, "m16n8k8") X(m16n8k16, "m16n8k16")         \
                      X(m16n8k32, "m16n8k32") X(m16n8k64, "m16n8k64") X(m16n8k128, "m16n8k128")                       \
                          X(m16n8k256, "m16n8k256") X(m16n16k8, "m16n16k8") X(m16n16k16, "m16n16k16")                 \
                              X(m32n8k16, "m32n8k16") X(m8n32k16, "m8n32k16")                                         \
      /* a warpgroup's matrices, whose number of columns is Instruction::columns (warpgroupShapeNamed) */                       \
      X(m64k8, "m64n*k8") X(m64k16, "m64n*k16") X(m64k32, "m64n*k32") X(m64k64, "m64n*k64") X(m64k256, "m64n*k256")   \
          X(mma_async, "mma_async") X(fence, "fence")                                                                 \
      /* matrices with elements left out */                                                                           \
      X(sp, "sp") X(sp_ordered, "sp::ordered_metadata")                                                               \
      /* tensors */                                                                                                   \
      X(tensor, "tensor") X(tile, "tile") X(multicast_cluster, "multicast::cluster") X(reduce, "reduce")              \
          X(prefetch, "prefetch") X(tensormap, "tensormap") X(tensormap_generic, "tensormap::generic")                \
              X(replace, "replace") X(b1024, "b1024") X(global_address, "global_address") X(rank, "rank")             \
                  X(box_dim, "box_dim") X(global_dim, "global_dim") X(global_stride, "global_stride")                 \
                      X(element_stride, "element_stride") X(elemtype, "elemtype")                                     \
                          X(interleave_layout, "interleave_layout") X(swizzle_mode, "swizzle_mode")                   \
                              X(fill_mode, "fill_mode") X(cp_fenceproxy, "cp_fenceproxy")                             \
      /* textures and surfaces */                                                                                     \
      X(geometry_1d, "1d") X(geometry_2d, "2d") X(geometry_3d, "3d") X(geometry_4d, "4d") X(geometry_5d, "5d") X(geometry_a1d, "a1d") X(geometry_a2d, "a2d")    \
          X(geometry_cube, "cube") X(geometry_acube, "acube") X(level, "level") X(grad, "grad") X(g, "g")             \
              X(trap, "trap") X(zero, "zero") X(width, "width") X(height, "height") X(depth, "depth")                 \
                  X(array_size, "array_size") X(num_mipmap_levels, "num_mipmap_levels")

enum class Modifier : std::uint8_t {
#define ROUSE_PTX_ENUMERATOR(name, word) name,
  ROUSE_PTX_MODIFIERS(ROUSE_PTX_ENUMERATOR)
#undef ROUSE_PTX_ENUMERATOR
      count
};

class ModifierSet {
 public:
  bool has(Modifier modifier) const { return bits_[static_cast<std::size_t>(modifier)]; }
  void insert(Modifier modifier) { bits_[static_cast<std::size_t>(modifier)] = true; }
  ModifierSet& operator|=(const ModifierSet& other) {
    bits_ |= other.bits_;
    return *this;
  }
  std::size_t common(const ModifierSet& other) const { return (bits_ & other.bits_).count(); }
  bool within(const ModifierSet& other) const { return (bits_ & ~other.bits_).none(); }

 private:
  std::bitset<static_cast<std::size_t>(Modifier::count)> bits_;
};

std::optional<Modifier> modifierNamed(std::string_view word);

// `m64nNk16` and the like (PTX ISA, "wgmma.mma_async"), of which each N from 8 to 256 by 8 is a shape: the modifier that all have in common, and N.
struct WarpgroupShape {
  Modifier shape;
  std::uint16_t columns;
};
std::optional<WarpgroupShape> warpgroupShapeNamed(std::string_view word);

// What a modifier stands for behind those of `before`: of `.row.col` the second is the second matrix's layout.
Modifier inOrder(Modifier, const ModifierSet& before);

}  // namespace rouse::ptx
