// Memory instructions as micro-operations: where the address stands, how many bytes, which lanes supply it.
#include <charconv>

#include "evaluator/decode.hpp"

namespace flipflop::eval {

using ptx::Opcode;
using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

namespace {

Space space_of(MemorySpace space) {
    switch (space) {
    case MemorySpace::global: return Space::global;
    case MemorySpace::shared: return Space::shared;
    case MemorySpace::local: return Space::local;
    case MemorySpace::constant: return Space::constant;
    case MemorySpace::texture: return Space::texture;
    case MemorySpace::generic: return Space::generic;
    }
    return Space::generic;
}

bool is_address(const ptx::Operand& o) {
    return o.kind == OperandKind::address_reg || o.kind == OperandKind::address_symbol || o.kind == OperandKind::address_immediate;
}

/// Rows in memory of a wmma fragment: (how many, elements each). Row-major A is m rows of k, and so on.
std::pair<u32, u32> fragment_rows(const ptx::Form& form) {
    u32 m = 0, n = 0, k = 0;
    for (const std::string_view text : form.modifiers) {
        if (text.size() < 6 || text[0] != 'm') continue;
        const char* at = text.data() + 1;
        const char* end = text.data() + text.size();
        auto r = std::from_chars(at, end, m);
        if (r.ptr == end || *r.ptr != 'n') continue;
        r = std::from_chars(r.ptr + 1, end, n);
        if (r.ptr == end || *r.ptr != 'k') continue;
        std::from_chars(r.ptr + 1, end, k);
        break;
    }
    const bool column = form.has("col");
    const u32 rows = form.has("b") ? k : m, columns = form.has("a") ? k : n;
    return column ? std::pair{columns, rows} : std::pair{rows, columns};
}

}  // namespace

void Decoder::load_or_store(MicroOp& op, MemoryOp& m) {
    const std::size_t data_index = op.op == Op::load ? 0 : 1;
    if (data_index >= operands_.size()) return;
    const ptx::Operand& data = operands_[data_index];
    std::vector<ptx::Operand> parts{data};
    if (data.kind == OperandKind::vector) {
        const auto children = module_.children_of(data);
        parts.assign(children.begin(), children.end());
    }
    std::vector<u32> list;
    for (const ptx::Operand& part : parts) {
        if (op.op == Op::load) {
            list.push_back(destination(part));
            if (part.kind == OperandKind::reg) op.reg_width = static_cast<std::uint8_t>(reg_width(part));
        } else {
            list.push_back(source(part, form_->type).slot);
        }
    }
    m.vector = static_cast<std::uint8_t>(parts.size());
    op.list_count = static_cast<u32>(list.size());
    op.list = add_list(list);
}

void Decoder::memory() {
    const InstructionTable& table = function_.code->table;
    std::vector<std::pair<u32, i64>> addresses;
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
        if (!is_address(operands_[k])) continue;
        addresses.push_back(address(operands_[k]));
        places.push_back(k);
    }
    const Opcode opcode = form_->opcode;
    const bool plain_load = opcode == Opcode::ld || opcode == Opcode::ldu, plain_store = opcode == Opcode::st;
    if (!plain_load) unknown_results();
    if (plain_load && table.access[index_] < 0) unknown_results();
    for (int side = 0; side < 2; ++side) {
        const std::int32_t access = side == 0 ? table.access[index_] : table.access2[index_];
        if (access < 0) continue;
        const AccessDescription& facts = program_.code->facts.accesses[static_cast<u32>(access)];
        MemoryOp m;
        m.access = access;
        m.space = space_of(facts.space);
        m.reads = facts.reads;
        m.writes = facts.writes;
        m.atomic = facts.atomic;
        m.bytes = facts.bytes_per_lane;
        m.element_bytes = static_cast<std::uint8_t>(std::max(1u, width_of(form_->type) / 8));
        m.function = function_index_;
        m.instruction = index_;
        MicroOp& op = emit(plain_load ? Op::load : plain_store ? Op::store : Op::access, form_->type);
        // Of two sides the first address is the destination; which side that is, the description's flags say.
        std::size_t which = 0;
        if (table.access2[index_] >= 0) which = facts.writes ? 0 : 1;
        if (which < addresses.size()) std::tie(m.address, m.offset) = addresses[which];
        switch (opcode) {
        case Opcode::cp_async_bulk: case Opcode::cp_reduce_async_bulk: case Opcode::multimem_cp_async_bulk:
        case Opcode::cp_async_bulk_prefetch: case Opcode::st_bulk: case Opcode::multimem_cp_reduce_async_bulk: {
            m.kind = AccessKind::bulk;
            const std::size_t at = opcode == Opcode::cp_async_bulk_prefetch || opcode == Opcode::st_bulk ? 1 : 2;
            if (at < operands_.size()) m.size = source(operands_[at], Type::u32).slot;
            break;
        }
        case Opcode::cp_async:
            // The optional source size (PTX ISA 9.7.9.25.3.1): fewer bytes are read, the rest of the destination is zero.
            if (operands_.size() > 3 && m.space == Space::global && reg_width(operands_[3]) == 32)
                m.size = source(operands_[3], Type::u32).slot;
            break;
        case Opcode::cp_async_bulk_tensor: case Opcode::cp_reduce_async_bulk_tensor: case Opcode::cp_async_bulk_prefetch_tensor:
            m.kind = AccessKind::tensor;
            break;
        case Opcode::tex: case Opcode::tld4: case Opcode::suld: case Opcode::sust: case Opcode::sured:
            m.kind = AccessKind::texture;
            m.address = kNone;
            break;
        case Opcode::prefetch: case Opcode::prefetchu:
            m.kind = AccessKind::prefetch;
            m.bytes = 1;
            break;
        case Opcode::ldmatrix: case Opcode::stmatrix:
            m.kind = AccessKind::matrix;
            m.lanes = form_->has("x4") ? kAllLanes : form_->has("x2") ? 0xffffu : 0xffu;
            if (form_->has("m16n16")) m.lanes = form_->has("x2") ? kAllLanes : 0xffffu;
            break;
        case Opcode::wmma_load: case Opcode::wmma_store: {
            m.kind = AccessKind::wmma;
            const auto [rows, elements] = fragment_rows(*form_);
            const u32 bits = width_of(form_->type);
            m.rows = rows;
            m.row_bytes = elements * bits / 8;
            const std::size_t last = operands_.size() - 1;
            m.size = !is_address(operands_[last]) && last >= 2 ? source(operands_[last], Type::u32).slot : slots_.constant(elements);
            break;
        }
        default: break;
        }
        if (m.kind == AccessKind::tensor) m.address = kNone;
        if (plain_load || plain_store) load_or_store(op, m);
        else list_reads(op, m.address);
        op.payload = static_cast<u32>(program_.memory.size());
        if (m.address != kNone) { op.src[0] = m.address; op.sources = 1; }
        if (m.size != kNone) { op.src[1] = m.size; op.sources = 2; if (op.src[0] == kNone) op.src[0] = m.size; }
        program_.memory.push_back(m);
    }
}

}  // namespace flipflop::eval
