// Matrices: ldmatrix and stmatrix by their documented layout; fragments of wmma, whose layout is not documented, as one value
// of the whole warp that every element of the matrix has a place of its own in.
#include <bit>

#include "evaluator/safety_warp.hpp"

namespace flipflop::eval {
namespace {

constexpr unsigned kMatrixRows = 8;

const ptx::Form& form_of(const Program& program, const FunctionProgram& code, const MicroOp& op) {
    return program.module->form(code.code->ir.function->instructions[op.instruction]);
}

}  // namespace

/// The registers that an instruction with results of its own kind fills: they stand before its access.
std::vector<u32> WarpRun::results_of(const Frame& f, const MicroOp& op) const {
    const FunctionProgram& code = fn(f);
    std::vector<u32> slots;
    for (u32 i = f.op - 1; i-- > code.blocks[f.block].begin && code.ops[i].instruction == op.instruction;)
        if (code.ops[i].op == Op::unknown && code.ops[i].dst[0] != kNone) slots.insert(slots.begin(), code.ops[i].dst[0]);
    return slots;
}

void WarpRun::matrix(Frame& f, const MicroOp& op, const MemoryOp& m, Access& x) {
    if (x.maybe) return b_.give_up("whether the matrix access at " + line(op) + " happens depends on data");
    if (m.kind == AccessKind::wmma) return fragment(f, op, m, x);
    const ptx::Form& form = form_of(p_, fn(f), op);
    const u32 suppliers = x.sure & m.lanes;
    // 16-bit elements in matrices of 8x8 (PTX ISA 9.7.14.5.15); the forms of narrower elements are not followed.
    const bool plain = form.has("m8n8") && form.has("b16") && x.sure == kAllLanes && x.at.space == ptx::Space::shared;
    if (!plain) {
        if (m.writes) b_.give_up("the matrix store at " + line(op) + " is not followed");
        return;
    }
    x.sure = suppliers;
    x.at.known &= suppliers;
    if (x.at.known != suppliers) return m.writes ? b_.give_up("where the store at " + line(op) + " goes depends on data") : void();
    if (!in_bounds(op, m, x)) return;
    if (m.reads) load_matrix(f, op, x, form.has("trans"));
    else store_matrix(f, op, x, form.has("trans"));
}

/// Where half `half` of what lane `lane` holds of matrix `which` lies.
u64 WarpRun::element_place(const Access& x, unsigned which, unsigned lane, unsigned half, bool transposed) const {
    unsigned row = lane / 4, column = lane % 4 * 2 + half;
    if (transposed) std::swap(row, column);
    return x.at.address[which * kMatrixRows + row] + 2 * column;
}

void WarpRun::load_matrix(Frame& f, const MicroOp& op, const Access& x, bool transposed) {
    const std::vector<u32> slots = results_of(f, op);
    const Lanes lanes{kAllLanes, f.alive};
    for (unsigned k = 0; k < slots.size() && (k + 1) * kMatrixRows <= kLanes; ++k) {
        Provenance p;
        p.clear();
        for (unsigned l = 0; l < kLanes; ++l)
            for (unsigned half = 0; half < 2; ++half) {
                const SharedMemory::Accessor who{thread(l), index_, x.op, false, true, false};
                const u64 place = element_place(x, k, l, half, transposed);
                Element e;
                b_.shared.read(place, 2, who, b_.order, e);
                if (e.lost) p.lost |= 1u << l;
                if (e.junk) add_junk(p, l, place);
                for (unsigned c = e.mask; c; c &= c - 1) {
                    p.open(static_cast<u32>(std::countr_zero(c)));
                    p.add(static_cast<u32>(std::countr_zero(c)), l, e.sum[static_cast<std::size_t>(std::countr_zero(c))]);
                }
            }
        f.from.assign(slots[k], p, lanes);
        f.from.set_shaped(slots[k], false);
    }
}

void WarpRun::store_matrix(Frame& f, const MicroOp& op, const Access& x, bool transposed) {
    const FunctionProgram& code = fn(f);
    const u32 suppliers = static_cast<u32>(std::popcount(x.sure));
    if (op.list_count * kMatrixRows != suppliers) return b_.give_up("the matrix store at " + line(op) + " is not followed");
    for (unsigned k = 0; k < op.list_count; ++k)
        for (unsigned l = 0; l < kLanes; ++l) {
            Element e = element(f, code.lists[op.list + k], l);
            e.known = false;
            // Each half carries its share.
            for (unsigned c = e.mask; c; c &= c - 1) e.sum[static_cast<std::size_t>(std::countr_zero(c))] = times(e.sum[static_cast<std::size_t>(std::countr_zero(c))], inverse(2));
            for (unsigned half = 0; half < 2; ++half) {
                const SharedMemory::Accessor who{thread(l), index_, x.op, false, true, false};
                b_.shared.write(element_place(x, k, l, half, transposed), 2, who, b_.order, e);
            }
        }
}

/// The rows of a fragment in memory take the place of lanes.
bool WarpRun::fragment_rows(const Frame& f, const MicroOp& op, const MemoryOp& m, Access& x) {
    const Value* pitch = m.size == kNone ? nullptr : &f.slots[m.size];
    const bool told = pitch && (pitch->known & x.sure) == x.sure && x.at.known == x.sure && m.rows > 0 && m.rows <= kLanes && x.sure == kAllLanes;
    if (!told) {
        if (m.writes) b_.give_up("where the matrix store at " + line(op) + " goes is not known");
        return false;
    }
    b_.domain.tie(pitch->axes);
    const u64 first = x.at.address[0], step = pitch->lane[0] * std::max<u64>(1, m.element_bytes);
    for (unsigned l = 1; l < kLanes; ++l)
        if (x.at.address[l] != first) {
            b_.give_up("lanes of a warp name different matrices (" + line(op) + ")");
            return false;
        }
    for (unsigned r = 0; r < m.rows; ++r) x.at.address[r] = first + step * r;
    x.sure = x.at.known = m.rows >= kLanes ? kAllLanes : (1u << m.rows) - 1;
    MemoryOp row = m;
    row.bytes = m.row_bytes;
    if (!in_bounds(op, row, x)) return false;
    if (x.at.space == ptx::Space::global) note_span(row, x);
    return true;
}

void WarpRun::fragment(Frame& f, const MicroOp& op, const MemoryOp& m, Access& x) {
    if (!fragment_rows(f, op, m, x)) return;
    if (x.at.space != ptx::Space::global && x.at.space != ptx::Space::shared) {
        if (m.writes) b_.give_up("the matrix store at " + line(op) + " is not followed");
        return;
    }
    if (m.writes) store_fragment(f, op, m, x);
    else load_fragment(f, op, m, x);
}

void WarpRun::load_fragment(Frame& f, const MicroOp& op, const MemoryOp& m, const Access& x) {
    const unsigned bytes = std::max(1u, unsigned{m.element_bytes}), columns = m.row_bytes / bytes;
    Provenance all;
    all.clear();
    for (unsigned column = 0; column < columns; ++column) {
        Provenance p;
        p.clear();
        Value out;
        const u64 shift = u64{column} * bytes;
        Access row = x;
        row.base = &f.slots[m.address];
        if (x.at.space == ptx::Space::shared) load_shared(m, row, shift, out, p);
        else load_global(m, row, shift, out, p);
        if (p.lost) all.lost = kAllLanes;
        for (unsigned c = p.mask; c; c &= c - 1) {
            const auto cls = static_cast<u32>(std::countr_zero(c));
            u64 sum = 0;
            for (unsigned r = 0; r < m.rows; ++r) sum = plus(sum, times(p.sum[cls][r], scrambled(r * 64 + column)));
            all.open(cls);
            for (unsigned l = 0; l < kLanes; ++l) all.add(cls, l, sum);
        }
    }
    for (const u32 slot : results_of(f, op)) {
        f.from.assign(slot, all, {kAllLanes, f.alive});
        f.from.set_shaped(slot, false);
    }
}

void WarpRun::store_fragment(Frame& f, const MicroOp& op, const MemoryOp& m, const Access& x) {
    const FunctionProgram& code = fn(f);
    Provenance all;
    all.clear();
    for (u32 k = 0; k < op.list_count; ++k) {
        const u32 slot = code.lists[op.list + k];
        if (slot == m.size) continue;
        Provenance p;
        p.clear();
        f.from.add_to(p, slot, kAllLanes);
        if (p.lost) all.lost = kAllLanes;
        for (unsigned c = p.mask; c; c &= c - 1) {
            const auto cls = static_cast<u32>(std::countr_zero(c));
            all.open(cls);
            for (unsigned l = 0; l < kLanes; ++l) all.add(cls, 0, times(p.sum[cls][l], scrambled(l * 64 + k)));
        }
    }
    const unsigned bytes = std::max(1u, unsigned{m.element_bytes}), columns = m.row_bytes / bytes;
    for (unsigned r = 0; r < m.rows; ++r)
        for (unsigned column = 0; column < columns; ++column) {
            const unsigned lane = (r * columns + column) % kLanes;
            Element e;
            e.lost = all.lost != 0;
            e.mask = all.mask;
            for (unsigned c = all.mask; c; c &= c - 1)
                e.sum[static_cast<std::size_t>(std::countr_zero(c))] = times(all.sum[std::countr_zero(c)][0], scrambled(0x10000 + r * 64 + column));
            const u64 place = x.at.address[r] + u64{column} * bytes;
            if (x.at.space == ptx::Space::shared) {
                b_.shared.write(place, bytes, {thread(lane), index_, x.op, false, true, false}, b_.order, e);
                continue;
            }
            StoreRecord record;
            record.op = x.op;
            record.time = b_.order.now();
            record.bytes = static_cast<std::uint8_t>(bytes);
            record.stride = x.stride;
            record.address = place;
            record.thread = thread(lane);
            record.value = e;
            if (!b_.global.store(record, index_, b_.order)) return b_.give_up("threads read and write the same bytes of an array, and nothing orders them (" + line(op) + ")");
        }
}

}  // namespace flipflop::eval
