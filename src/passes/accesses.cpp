#include "passes/accesses.hpp"

#include <charconv>
#include <limits>
#include <optional>

namespace flipflop {
namespace {

using ptx::Form;
using ptx::Opcode;
using ptx::OperandKind;
using ptx::Space;

std::optional<MemorySpace> memory_space(Space space) {
    switch (space) {
    case Space::global: return MemorySpace::global;
    case Space::shared: return MemorySpace::shared;
    case Space::local: return MemorySpace::local;
    case Space::constant: return MemorySpace::constant;
    case Space::texture: case Space::surface: return MemorySpace::texture;
    case Space::param: case Space::reg: return std::nullopt;
    case Space::none: case Space::generic: return MemorySpace::generic;
    }
    return std::nullopt;
}

std::uint32_t value_bytes(const Form& form) { return form.vector * ptx::bits_of(form.type) / 8; }

AccessSides one(std::string_view op, std::optional<MemorySpace> space, std::uint32_t bytes, bool reads, bool writes, bool atomic = false) {
    AccessSides sides;
    if (!space) return sides;   // parameters are no memory accesses
    AccessDescription& a = sides.side[0];
    a.op = op;
    a.space = *space;
    a.bytes_per_lane = bytes;
    a.reads = reads;
    a.writes = writes;
    a.atomic = atomic;
    sides.count = 1;
    return sides;
}

/// Global side first, then the shared one; a copy between shared memories of a cluster: destination first.
AccessSides copy(std::string_view op, const Form& form, std::uint32_t bytes, bool reduces) {
    AccessSides sides = one(op, memory_space(form.space), bytes, reduces, true, reduces);
    AccessSides source = one(op, memory_space(form.space2 == Space::none ? Space::global : form.space2), bytes, true, false);
    if (sides.count == 0 || source.count == 0) return {};
    sides.side[1] = source.side[0];
    sides.count = 2;
    if (sides.side[1].space == MemorySpace::global) std::swap(sides.side[0], sides.side[1]);
    return sides;
}

/// Size operand of a copy when it is written as a number; 0 ("not fixed in the text") otherwise.
std::uint32_t immediate_bytes(std::span<const ptx::Operand> operands, std::size_t index) {
    if (index >= operands.size() || operands[index].kind != OperandKind::immediate) return 0;
    const std::int64_t value = operands[index].value;
    return value > 0 && value <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(value) : 0;
}

/// "m16n8k16" somewhere in the modifiers.
struct Shape { std::uint32_t m{}, n{}, k{}; };

std::optional<Shape> matrix_shape(const Form& form) {
    for (const std::string_view modifier : form.modifiers) {
        Shape shape;
        const char* at = modifier.data();
        const char* const end = at + modifier.size();
        const auto part = [&](char letter, std::uint32_t& value) {
            if (at == end || *at != letter) return false;
            const auto [next, error] = std::from_chars(at + 1, end, value);
            at = next;
            return error == std::errc{} && value > 0 && value <= 4096;
        };
        if (part('m', shape.m) && part('n', shape.n) && part('k', shape.k) && at == end) return shape;
    }
    return std::nullopt;
}

/// A fragment is spread over the 32 lanes; loads of A and B on Volta duplicate, which the PTX text does not show.
std::uint32_t fragment_bytes(const Form& form) {
    const auto shape = matrix_shape(form);
    if (!shape) return 0;
    const std::uint32_t elements = form.has("a") ? shape->m * shape->k : form.has("b") ? shape->k * shape->n : shape->m * shape->n;
    return elements * ptx::bits_of(form.type) / 8 / 32;
}

std::optional<AccessSides> asynchronous(const Form& form, std::span<const ptx::Operand> operands) {
    switch (form.opcode) {
    case Opcode::cp_async: return copy("cp.async", form, immediate_bytes(operands, 2), false);
    case Opcode::cp_async_bulk: return copy("cp.async.bulk", form, immediate_bytes(operands, 2), false);
    case Opcode::cp_async_bulk_tensor: return copy("cp.async.bulk.tensor", form, 0, false);
    case Opcode::cp_reduce_async_bulk: return copy("cp.reduce.async.bulk", form, immediate_bytes(operands, 2), true);
    case Opcode::cp_reduce_async_bulk_tensor: return copy("cp.reduce.async.bulk.tensor", form, 0, true);
    case Opcode::multimem_cp_async_bulk: return copy("multimem.cp.async.bulk", form, immediate_bytes(operands, 2), false);
    case Opcode::multimem_cp_reduce_async_bulk: return copy("multimem.cp.reduce.async.bulk", form, immediate_bytes(operands, 2), true);
    case Opcode::cp_async_bulk_prefetch: return one("cp.async.bulk.prefetch", MemorySpace::global, immediate_bytes(operands, 1), true, false);
    case Opcode::cp_async_bulk_prefetch_tensor: return one("cp.async.bulk.prefetch.tensor", MemorySpace::global, 0, true, false);
    default: return std::nullopt;
    }
}

}  // namespace

AccessSides access_sides(const ptx::Module& module, const ptx::Instruction& instruction) {
    const Form& form = module.form(instruction);
    const auto operands = module.operands_of(instruction);
    if (auto sides = asynchronous(form, operands)) return *sides;
    const std::string_view name = ptx::info(form.opcode).name;
    const auto space = memory_space(form.space);
    switch (form.opcode) {
    case Opcode::ld: case Opcode::ldu: case Opcode::multimem_ld_reduce:
        return one(name, form.opcode == Opcode::ldu && space == MemorySpace::generic ? MemorySpace::global : space, value_bytes(form), true, false);
    case Opcode::st: case Opcode::multimem_st: return one(name, space, value_bytes(form), false, true);
    case Opcode::st_async: return one(name, MemorySpace::shared, value_bytes(form), false, true);
    case Opcode::st_bulk: return one(name, MemorySpace::shared, immediate_bytes(operands, 1), false, true);
    case Opcode::atom: return one(name, space, value_bytes(form), true, true, true);
    case Opcode::red: case Opcode::multimem_red: return one(name, space, value_bytes(form), true, true, true);
    case Opcode::red_async: return one(name, MemorySpace::shared, value_bytes(form), true, true, true);
    // An address names a row of 16 bytes, whatever the lanes get of it (PTX ISA 9.7.14.5.15).
    case Opcode::ldmatrix: return one(name, MemorySpace::shared, 16, true, false);
    case Opcode::stmatrix: return one(name, MemorySpace::shared, 16, false, true);
    case Opcode::wmma_load: return one(name, space, fragment_bytes(form), true, false);
    case Opcode::wmma_store: return one(name, space, fragment_bytes(form), false, true);
    // What a texture access reads depends on the texture's format, which is the host's.
    case Opcode::tex: case Opcode::tld4: return one(name, MemorySpace::texture, 0, true, false);
    case Opcode::suld: return one(name, MemorySpace::texture, value_bytes(form), true, false);
    case Opcode::sust: return one(name, MemorySpace::texture, value_bytes(form), false, true);
    case Opcode::sured: return one(name, MemorySpace::texture, value_bytes(form), true, true, true);
    case Opcode::prefetch: case Opcode::prefetchu: return one(name, space, 0, true, false);
    default: return {};
    }
}

std::uint32_t tensor_fma_of(const Form& form) {
    unsigned warps = 1, density = 1;
    switch (form.opcode) {
    case Opcode::mma: case Opcode::wmma_mma: break;
    case Opcode::mma_sp: case Opcode::mma_sp_ordered_metadata: density = 2; break;   // k counts the zeros that are skipped
    case Opcode::wgmma_mma_async: warps = 4; break;
    case Opcode::wgmma_mma_async_sp: warps = 4; density = 2; break;
    default: return 0;
    }
    const auto shape = matrix_shape(form);
    return shape ? shape->m * shape->n * shape->k / (warps * density) : 0;
}

}  // namespace flipflop
