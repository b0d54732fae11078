#include "passes/live_ranges.hpp"

#include <algorithm>
#include <vector>

namespace flipflop {
namespace {

using ptx::Opcode;

constexpr std::uint32_t kNever = 0xffffffff;
constexpr int kDeepest = 64;   // nests that are looked through: time stays linear

struct Range { std::uint32_t begin{kNever}, end{}; bool carried{}; };

/// 32-bit registers of a value; 0 for predicates.
std::uint32_t width_of(const ptx::Register& r) {
    const unsigned bits = ptx::bits_of(r.type) * r.vector;
    return bits == 0 ? 0 : (bits + 31) / 32;
}

/// What ptxas reads from the constant bank or folds into its user: parameters, and copies and conversions of addresses.
bool is_free(const ptx::Form& form) {
    return (form.opcode == Opcode::ld && form.space == ptx::Space::param) || form.opcode == Opcode::cvta;
}

std::vector<Range> ranges_of(const KernelIr& ir) {
    std::vector<Range> ranges(ir.function->registers.size());
    const auto count = static_cast<std::uint32_t>(ir.function->instructions.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        for (const ptx::RegId r : ir.reads(i)) {
            Range& range = ranges[static_cast<std::uint32_t>(r)];
            if (range.begin == kNever) {   // read before it is written: the value comes round a loop
                range.begin = i;
                range.carried = true;
            }
            range.end = i;
        }
        for (const ptx::RegId r : ir.writes(i)) {
            Range& range = ranges[static_cast<std::uint32_t>(r)];
            if (range.begin == kNever) range.begin = i;
            range.end = std::max(range.end, i);
        }
    }
    return ranges;
}

struct Span { std::uint32_t begin{}, end{}; };

/// From the header to the last latch, as compilers lay out a loop; blocks that stand elsewhere are left out.
std::vector<Span> loop_spans(const KernelIr& ir) {
    std::vector<Span> spans;
    spans.reserve(ir.loops.size());
    for (const Loop& loop : ir.loops) {
        Span span{ir.block(loop.header).begin, ir.block(loop.header).end};
        for (const BlockId latch : loop.latches) span.end = std::max(span.end, ir.block(latch).end);
        spans.push_back(span);
    }
    return spans;
}

}  // namespace

std::uint32_t live_registers(const KernelIr& ir) {
    const auto& code = ir.function->instructions;
    if (code.empty()) return 0;
    std::vector<Range> ranges = ranges_of(ir);
    const std::vector<Span> spans = loop_spans(ir);
    std::vector<std::int32_t> change(code.size() + 1);
    for (std::size_t r = 0; r < ranges.size(); ++r) {
        Range& range = ranges[r];
        if (range.begin == kNever) continue;
        const std::uint32_t width = width_of(ir.function->registers[r]);
        const auto definitions = ir.definitions_of(static_cast<ptx::RegId>(r));
        if (width == 0 || definitions.empty() || (definitions.size() == 1 && is_free(ir.module->form(code[definitions[0]])))) continue;
        // Where it ends inside a loop that it does not begin in, it lasts to the loop's end.
        int depth = 0;
        for (LoopId id = ir.block(ir.block_of[range.end]).loop; id != LoopId::none && depth < kDeepest; id = ir.loop(id).parent, ++depth) {
            const auto l = static_cast<std::uint32_t>(id);
            const bool outside = range.begin < spans[l].begin;
            if (!outside && !range.carried) break;
            range.end = std::max(range.end, spans[l].end - 1);
            if (outside) continue;
            range.begin = spans[l].begin;
            break;
        }
        // Read at its end, where the result may already take its place.
        change[range.begin] += static_cast<std::int32_t>(width);
        change[std::max(range.end, range.begin + 1)] -= static_cast<std::int32_t>(width);
    }
    std::int32_t alive = 0, most = 0;
    for (const std::int32_t c : change) most = std::max(most, alive += c);
    return static_cast<std::uint32_t>(most);
}

}  // namespace flipflop
