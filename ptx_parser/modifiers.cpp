// The modifiers that PTX ISA 9.x documents (section 9.7), so that a misspelt one is noticed. Types are in words.cpp; shapes and
// multiplicities are told by their look.
#include <algorithm>
#include <array>

#include "characters.hpp"
#include "form_table.hpp"
#include "words.hpp"

namespace flipflop::ptx::detail {
namespace {

constexpr auto kModifiers = std::to_array<std::string_view>({
    // comparison, boolean, arithmetic
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "and", "or", "xor",
    "wide", "sat", "satfinite", "ftz", "noftz", "approx", "full", "cc", "rn", "rna", "rz", "rm", "rp", "rs", "rni", "rzi", "rmi", "rpi", "relu", "oob",
    "NaN", "abs", "xorsign", "finite", "infinite", "number", "notanumber", "normal", "subnormal", "clamp", "wrap", "shiftamt",
    "add", "min", "max", "inc", "dec", "exch", "cas", "popc", "sub", "mul", "scaled",
    "f4e", "b4e", "rc8", "ecl", "ecr", "rc16", "l", "r", "shr7", "shr15", "po",
    // memory
    "global", "shared", "local", "const", "param", "tex", "surf", "reg", "shared::cta", "shared::cluster", "param::entry", "param::func", "to",
    "volatile", "relaxed", "acquire", "release", "acq_rel", "weak", "sc", "mmio", "cta", "cluster", "gpu", "gl", "sys", "nc", "unified",
    "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1", "L2", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
    "L2::evict_first", "L2::evict_last", "L2::evict_normal", "L2::evict_unchanged", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B",
    "fractional", "range", "cvt", "v2", "v4", "v8", "async", "bulk", "bulk_group", "cp_mask", "ignore_oob", "noinc", "tensor", "prefetch", "tensormap",
    "mbarrier::complete_tx::bytes", "multicast::cluster", "multicast::cluster::all", "read", "wait_all",
    "tile", "im2col", "im2col_no_offs", "im2col::w", "im2col::w::128", "tile::gather4", "tile::scatter4", "1d", "2d", "3d", "4d", "5d",
    "global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity",
    "fill_mode", "tensormap::generic", "generic", "async::generic", "alias", "proxy", "async.global", "mbarrier_init", "cp_fenceproxy",
    "sync_restrict::shared::cta", "sync_restrict::shared::cluster", "sync_restrict",
    // textures and surfaces
    "a1d", "a2d", "acube", "cube", "2dms", "a2dms", "base", "level", "grad", "trap", "zero", "b", "p", "g", "a", "width", "height", "depth",
    "channel_data_type", "channel_order", "normalized_coords", "force_unnormalized_coords", "filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2",
    "array_size", "num_mipmap_levels", "num_samples", "memory_layout", "texref", "samplerref", "surfref",
    // control, warps, barriers
    "uni", "sync", "aligned", "arrive", "wait", "red", "warp", "all", "any", "ballot", "up", "down", "bfly", "idx", "parity", "noComplete", "expect_tx", "nc",
    "mask", "launch_dependents", "is_canceled", "get_first_ctaid", "get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z", "no_membermask_overlap",
    // matrices
    "row", "col", "trans", "load", "store", "c", "d", "kind", "block_scale", "sp", "transA", "transB", "negA", "negB",
    "scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32", "kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", "kind::f16",
    "kind::tf32", "kind::i8", "ashift", "ws", "cta_group::1", "cta_group::2", "disable_output_lane", "ld", "st", "pack::16b", "unpack::16b", "dst_fmt",
    "collector::a::fill", "collector::a::use", "collector::a::lastuse", "collector::a::discard", "warpx2::02_13", "warpx2::01_23", "warpx4",
    "wait::ld", "wait::st", "fence::before_thread_sync", "fence::after_thread_sync", "mbarrier::arrive::one", "acc::f16", "acc::f32", "op", "spformat",
});

bool is_number(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c); }); }

/// m16n8k16, x4, 32x32b, 16x32bx2, 128x256b, b4x16_p64, collector::b0::fill
bool is_shape(std::string_view text) {
    if (text.size() > 2 && text[0] == 'm' && is_digit(text[1])) return text.find('n') != std::string_view::npos;
    if (text[0] == 'x' && is_number(text.substr(1))) return true;
    if (is_digit(text[0]) && text.find('x') != std::string_view::npos) return true;
    if (text.substr(0, 12) == "collector::b") return true;
    if (text.substr(0, 6) == "32x32b" || text.substr(0, 5) == "scale") return true;
    return text[0] == 'b' && text.size() > 1 && is_digit(text[1]) && text.find('x') != std::string_view::npos;
}

}  // namespace

bool is_known_modifier(std::string_view modifier) {
    if (modifier.empty() || type_from(modifier) != Type::none) return true;
    if (std::find(kModifiers.begin(), kModifiers.end(), modifier) != kModifiers.end()) return true;
    if (is_other_type(modifier) || is_shape(modifier)) return true;
    return modifier.substr(0, 6) == "const[";
}

}  // namespace flipflop::ptx::detail
