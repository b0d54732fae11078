// Which cost lookup an instruction has: PTX opcode and types to MachineOp. Free of any GPU; what ptxas folds away on every
// GPU is `nothing`.
#include <bit>

#include "flipflop/passes.hpp"

namespace flipflop {
namespace {

using M = MachineOp;
using ptx::Form;
using ptx::Opcode;
using ptx::OperandKind;
using ptx::Space;
using ptx::Type;
using Operands = std::span<const ptx::Operand>;

enum class Family : std::uint8_t { int32, int64, fp32, fp64, fp16, bf16 };

Family family(Type type) {
    switch (type) {
    case Type::f32: case Type::f32x2: case Type::tf32: return Family::fp32;
    case Type::f64: return Family::fp64;
    case Type::f16: case Type::f16x2: return Family::fp16;
    case Type::bf16: case Type::bf16x2: return Family::bf16;
    case Type::b64: case Type::u64: case Type::s64: return Family::int64;
    default: return Family::int32;
    }
}

M by_family(Type type, M int32, M int64, M fp32, M fp64, M fp16, M bf16) {
    switch (family(type)) {
    case Family::int32: return int32;
    case Family::int64: return int64;
    case Family::fp32: return fp32;
    case Family::fp64: return fp64;
    case Family::fp16: return fp16;
    case Family::bf16: return bf16;
    }
    return M::unknown;
}

bool is_immediate(Operands operands, std::size_t index) {
    return index < operands.size() && operands[index].kind == OperandKind::immediate;
}

bool is_power_of_two(Operands operands, std::size_t index) {
    return is_immediate(operands, index) && operands[index].value > 0 &&
           std::has_single_bit(static_cast<std::uint64_t>(operands[index].value));
}

M multiply(const Form& form, Operands operands) {
    const Family f = family(form.type);
    if (f == Family::int32) {
        if (form.wide) return M::int_mul_wide;
        if (form.hi) return M::int_mul_hi;
        return is_power_of_two(operands, 2) || is_power_of_two(operands, 1) ? M::shift : M::int_mul;
    }
    if (f == Family::int64) {
        if (form.wide || form.hi) return M::int_mul64;
        return is_power_of_two(operands, 2) || is_power_of_two(operands, 1) ? M::shift64 : M::int_mul64;
    }
    return by_family(form.type, M::int_mul, M::int_mul64, M::fp32_mul, M::fp64_mul, M::fp16_op, M::bf16_op);
}

M multiply_add(const Form& form) {
    const Family f = family(form.type);
    if (f == Family::int32) return form.wide ? M::int_mul_wide : form.hi ? M::int_mul_hi : M::int_mad;
    return by_family(form.type, M::int_mad, M::int_mad64, M::fp32_fma, M::fp64_fma, M::fp16_fma, M::bf16_fma);
}

/// A constant divisor becomes a multiplication by a reciprocal (Granlund and Montgomery, PLDI 1994), a power of two a shift.
M divide(const Form& form, Operands operands, bool remainder) {
    switch (family(form.type)) {
    case Family::fp32:
        if (form.approx) return M::fp32_div_approx;
        return form.full ? M::fp32_div_full : M::fp32_div_rn;
    case Family::fp64: return M::fp64_div;
    case Family::int64:
        if (is_power_of_two(operands, 2)) return remainder ? M::logic64 : M::shift64;
        if (is_immediate(operands, 2)) return M::int_mul64;
        return remainder ? M::int_rem64 : M::int_div64;
    default: break;
    }
    if (is_power_of_two(operands, 2)) return remainder ? M::logic : M::shift;
    if (is_immediate(operands, 2)) return M::int_mul_hi;
    if (ptx::is_signed(form.type)) return remainder ? M::int_rem_s32 : M::int_div_s32;
    return remainder ? M::int_rem_u32 : M::int_div_u32;
}

bool is_fp8(Type type) {
    switch (type) {
    case Type::e4m3: case Type::e5m2: case Type::e4m3x2: case Type::e5m2x2: case Type::e2m3x2: case Type::e3m2x2:
    case Type::e2m1x2: case Type::ue8m0: case Type::ue8m0x2: case Type::ue4m3: case Type::e2m3: case Type::e3m2:
    case Type::e2m1: return true;
    default: return false;
    }
}

M convert(const Form& form) {
    const Type to = form.type, from = form.type2;
    if (is_fp8(to) || is_fp8(from)) return M::convert_fp8;
    if (to == Type::f64 || from == Type::f64) return M::convert_fp64_any;
    const bool to_float = ptx::is_float(to), from_float = ptx::is_float(from);
    if (to_float && from_float) {
        const bool same = to == from || to == Type::tf32;
        return same ? M::convert_fp32_round : M::convert_fp32_fp16;
    }
    const unsigned to_bits = ptx::bits_of(to), from_bits = ptx::bits_of(from);
    if (to_float) return from_bits == 64 ? M::convert_64_any : M::convert_int_fp32;
    if (from_float) return to_bits == 64 ? M::convert_64_any : M::convert_fp32_int;
    if (form.sat) return M::convert_int_int;
    if (to_bits == 64) {
        if (from_bits == 64) return M::nothing;
        if (from_bits == 32) return ptx::is_signed(from) && ptx::is_signed(to) ? M::convert_int_int64 : M::nothing;
        return M::convert_int_int;
    }
    // Narrowing to 32 bits takes the low register; 16 and 8 bits live in 32-bit registers whose upper part must be right.
    if (to_bits == from_bits || (to_bits == 32 && from_bits == 64)) return M::nothing;
    if (to_bits == 16 && from_bits >= 32) return M::nothing;
    return M::convert_int_int;
}

M move(const Form& form, Operands operands) {
    if (form.type == Type::pred) return M::predicate_op;
    if (operands.size() < 2) return M::move;
    if (operands[1].kind == OperandKind::special) return M::read_special;
    if (operands[0].kind == OperandKind::vector || operands[1].kind == OperandKind::vector) {
        // Two 32-bit registers are a pair and cost nothing; halves of a register are permuted.
        return ptx::bits_of(form.type) >= 64 ? M::nothing : M::permute;
    }
    return M::move;
}

M load(const Form& form, Operands operands) {
    switch (form.space) {
    case Space::param: return M::nothing;
    case Space::constant: {
        const bool fixed = operands.size() > 1 && operands[1].kind != OperandKind::address_reg;
        return fixed ? M::nothing : M::load_const_indexed;   // c[bank][offset] is an operand of whatever uses it
    }
    case Space::shared: return M::load_shared;
    case Space::local: return M::load_local;
    default: return M::load_global;
    }
}

M store(const Form& form) {
    switch (form.space) {
    case Space::param: return M::move;     // an argument of a call, passed in a register
    case Space::shared: return M::store_shared;
    case Space::local: return M::store_local;
    default: return M::store_global;
    }
}

M matrix_multiply(const Form& form) {
    if (form.has("sp") || form.has("sp::ordered_metadata")) return M::mma_sparse;
    bool fp4 = false, fp8 = false, fp16 = false, bf16 = false, tf32 = false, fp64 = false, int8 = false, int4 = false, b1 = false;
    for (const Type t : {form.type, form.type2, form.type3, form.type4}) {
        fp4 |= t == Type::e2m1;
        fp8 |= is_fp8(t);
        fp16 |= t == Type::f16;
        bf16 |= t == Type::bf16;
        tf32 |= t == Type::tf32;
        fp64 |= t == Type::f64;
        int8 |= t == Type::s8 || t == Type::u8;
        int4 |= t == Type::s4 || t == Type::u4;
        b1 |= t == Type::b1;
    }
    if (fp4) return M::mma_fp4;
    if (fp8) return M::mma_fp8;
    if (bf16) return M::mma_bf16;
    if (tf32) return M::mma_tf32;
    if (fp64) return M::mma_fp64;
    if (int8) return M::mma_int8;
    if (int4) return M::mma_int4;
    if (b1) return M::mma_b1;
    // wmma.mma names only D and C when A and B are f16 (PTX ISA 9.7.14.3): "...f32.f32".
    return fp16 || form.opcode == Opcode::wmma_mma ? M::mma_fp16 : M::unknown;
}

M arithmetic(const Form& form, Operands operands) {
    switch (form.opcode) {
    case Opcode::add_: case Opcode::sub_: case Opcode::addc: case Opcode::subc:
        return by_family(form.type, M::int_add, M::int_add64, M::fp32_add, M::fp64_add, M::fp16_op, M::bf16_op);
    case Opcode::neg_:
        return by_family(form.type, M::int_add, M::int_add64, M::fp32_abs_neg, M::nothing, M::fp16_op, M::bf16_op);
    case Opcode::abs_:
        return by_family(form.type, M::int_abs, M::int_add64, M::fp32_abs_neg, M::nothing, M::fp16_op, M::bf16_op);
    case Opcode::mul_: return multiply(form, operands);
    case Opcode::mad: case Opcode::madc: case Opcode::fma_: return multiply_add(form);
    case Opcode::mul24: case Opcode::mad24: return M::int_mul24;
    case Opcode::sad: return M::int_sad;
    case Opcode::dp4a: case Opcode::dp2a: return M::int_dp4a;
    case Opcode::div_: return divide(form, operands, false);
    case Opcode::rem_: return divide(form, operands, true);
    case Opcode::min_: case Opcode::max_:
        return by_family(form.type, M::int_minmax, M::int_minmax64, M::fp32_minmax, M::fp64_minmax_compare, M::fp16_op, M::bf16_op);
    case Opcode::rcp:
        if (form.type == Type::f64) return M::fp64_rcp;
        return form.approx ? M::fp32_rcp_approx : M::fp32_rcp_rn;
    case Opcode::sqrt_:
        if (form.type == Type::f64) return M::fp64_sqrt;
        return form.approx ? M::fp32_sqrt_approx : M::fp32_sqrt_rn;
    case Opcode::rsqrt: return form.type == Type::f64 ? M::fp64_sqrt : M::fp32_rsqrt;
    case Opcode::sin_: case Opcode::cos_: return M::sfu_sin_cos;
    case Opcode::lg2: return M::sfu_lg2;
    case Opcode::ex2: return M::sfu_ex2;
    case Opcode::tanh_: return M::sfu_tanh;
    case Opcode::copysign: return M::lop3;
    case Opcode::testp: return M::fp32_compare;
    default: return M::unknown;
    }
}

M logic(const Form& form, Operands operands) {
    const bool wide = ptx::bits_of(form.type) == 64;
    switch (form.opcode) {
    case Opcode::setp:
        return by_family(form.type, M::int_compare, M::int_compare64, M::fp32_compare, M::fp64_minmax_compare, M::fp16_op, M::bf16_op);
    case Opcode::set:
        return by_family(form.type2, M::int_compare, M::int_compare64, M::fp32_compare, M::fp64_minmax_compare, M::fp16_op, M::bf16_op);
    case Opcode::selp: case Opcode::slct:
        if (wide) return M::int_select64;
        return form.type == Type::f32 ? M::fp32_select : M::int_select;
    case Opcode::and_: case Opcode::or_: case Opcode::xor_: case Opcode::not_: case Opcode::cnot:
        if (form.type == Type::pred) return M::predicate_op;
        return wide ? M::logic64 : M::logic;
    case Opcode::lop3: return M::lop3;
    case Opcode::shl: case Opcode::shr: return wide ? M::shift64 : M::shift;
    case Opcode::shf: return M::funnel_shift;
    case Opcode::bfe: case Opcode::bfi: case Opcode::szext: case Opcode::bmsk: return M::bit_field;
    case Opcode::popc: return M::popc;
    case Opcode::clz: case Opcode::bfind: return M::clz_bfind;
    case Opcode::brev: return M::brev;
    case Opcode::prmt: return M::permute;
    case Opcode::isspacep: return M::int_compare64;
    case Opcode::mov: return move(form, operands);
    case Opcode::cvta: return form.space == Space::global || form.space == Space::none || form.space == Space::param
                                  ? M::nothing : M::int_add64;   // the other windows have a base to add
    case Opcode::cvt: return convert(form);
    case Opcode::cvt_pack: return M::convert_int_int;
    default: return M::unknown;
    }
}

M memory(const Form& form, Operands operands) {
    const bool shared = form.space == Space::shared;
    switch (form.opcode) {
    case Opcode::ld: return load(form, operands);
    case Opcode::ldu: case Opcode::multimem_ld_reduce: return M::load_global;
    case Opcode::st: case Opcode::st_async: case Opcode::st_bulk: return store(form);
    case Opcode::multimem_st: return M::store_global;
    case Opcode::wmma_load: return shared ? M::load_shared : M::load_global;
    case Opcode::wmma_store: return shared ? M::store_shared : M::store_global;
    case Opcode::atom: return shared ? M::atomic_shared : M::atomic_global;
    case Opcode::red: case Opcode::red_async: return shared ? M::reduction_shared : M::reduction_global;
    case Opcode::multimem_red: return M::reduction_global;
    case Opcode::tex: case Opcode::tld4: case Opcode::txq: return M::texture;
    case Opcode::suld: case Opcode::sust: case Opcode::sured: case Opcode::suq: return M::surface;
    case Opcode::cp_async: return M::async_copy;
    case Opcode::cp_async_bulk: case Opcode::cp_async_bulk_prefetch: case Opcode::cp_reduce_async_bulk:
    case Opcode::multimem_cp_async_bulk: case Opcode::multimem_cp_reduce_async_bulk: return M::bulk_copy;
    case Opcode::cp_async_bulk_tensor: case Opcode::cp_async_bulk_prefetch_tensor:
    case Opcode::cp_reduce_async_bulk_tensor: return M::tensor_copy;
    case Opcode::cp_async_mbarrier_arrive: return M::mbarrier;
    case Opcode::ldmatrix: return M::ldmatrix;
    case Opcode::stmatrix: return M::stmatrix;
    default: return M::unknown;
    }
}

M control(const Form& form) {
    switch (form.opcode) {
    case Opcode::bra: case Opcode::brx_idx: return M::branch;
    case Opcode::call: case Opcode::ret: return M::call_return;
    case Opcode::exit_: case Opcode::trap: case Opcode::brkpt: return M::exit;
    case Opcode::bar: case Opcode::bar_arrive: case Opcode::bar_red: case Opcode::barrier: case Opcode::barrier_cluster:
    case Opcode::barrier_cta_red: case Opcode::barrier_red: return M::barrier;
    case Opcode::bar_warp: return M::vote;   // within a warp: no barrier of the block
    case Opcode::membar: case Opcode::fence: case Opcode::tensormap_cp_fenceproxy: return M::fence;
    case Opcode::shfl: case Opcode::movmatrix: return M::shuffle;
    case Opcode::vote: case Opcode::activemask: return M::vote;
    case Opcode::match: return M::match;
    case Opcode::redux: return M::redux;
    case Opcode::elect: return M::elect;
    case Opcode::mma: case Opcode::mma_sp: case Opcode::mma_sp_ordered_metadata: case Opcode::wmma_mma:
        return form.opcode == Opcode::mma || form.opcode == Opcode::wmma_mma ? matrix_multiply(form) : M::mma_sparse;
    case Opcode::wgmma_mma_async: case Opcode::wgmma_mma_async_sp: return M::wgmma;
    case Opcode::nanosleep: return M::nanosleep;
    case Opcode::mapa: return M::int_add;
    default: break;
    }
    const std::string_view name = ptx::info(form.opcode).name;
    if (name.starts_with("mbarrier.")) return M::mbarrier;
    if (name.starts_with("tcgen05.")) return M::tcgen05;
    // v + an arithmetic word: the SIMD video instructions, emulated since sm_50 (PTX ISA 9.7.17).
    if (name.size() > 3 && name[0] == 'v') return M::video;
    return M::other;
}

}  // namespace

MachineOp machine_op_of(const Form& form, Operands operands) {
    if (form.opcode == Opcode::unknown) return M::unknown;
    if (const M op = arithmetic(form, operands); op != M::unknown) return op;
    if (const M op = logic(form, operands); op != M::unknown) return op;
    if (const M op = memory(form, operands); op != M::unknown) return op;
    return control(form);
}

}  // namespace flipflop
