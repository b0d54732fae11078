#include "passes/parameters.hpp"

#include <bit>
#include <map>

#include "passes/resources.hpp"
#include "passes/value_flow.hpp"

namespace flipflop {
namespace {

std::string type_text(const ptx::Symbol& symbol) {
    std::string text;
    if (symbol.vector > 1) text = "v" + std::to_string(symbol.vector) + ".";
    text += ptx::to_string(symbol.type);
    for (const std::uint32_t d : symbol.dimensions) text += "[" + std::to_string(d) + "]";
    return text;
}

ParameterFacts describe(const ptx::Symbol& symbol, std::uint32_t index) {
    ParameterFacts p;
    p.index = index;
    p.name = std::string(symbol.name);
    p.short_name = "param_" + std::to_string(index);
    p.type = type_text(symbol);
    p.bytes = static_cast<std::uint32_t>(symbol.byte_size.value_or(0));
    const bool blob = !symbol.dimensions.empty() || symbol.vector > 1;
    p.kind = symbol.is_pointer ? ParameterKind::pointer : blob ? ParameterKind::aggregate : ParameterKind::scalar;
    return p;
}

}  // namespace

void describe_parameters(const ptx::Module& module, KernelCode& code) {
    std::map<const ptx::Function*, std::vector<Slot>> known;
    const auto callee = [&](const ptx::Function& f) -> const std::vector<Slot>* {
        const auto found = known.find(&f);
        return found == known.end() ? nullptr : &found->second;
    };
    std::uint8_t address_ids = 0;
    for (const std::uint32_t f : callees_first(module, code)) {
        const KernelIr& ir = code.functions[f].ir;
        FlowResult flow = parameter_flow(ir, callee);
        known[ir.function] = std::move(flow.slots);
        address_ids |= flow.address_ids;
    }
    const unsigned axes = (address_ids | (address_ids >> 3)) & 7U;
    if (code.facts.grid_barrier && axes != 0) code.facts.dimensions = code.facts.block_dimensions = std::bit_width(axes);
    const ptx::Function& entry = *code.functions[0].ir.function;
    std::vector<ParameterFacts> result;
    for (std::uint32_t p = 0; p < entry.parameters.size(); ++p) result.push_back(describe(module.symbol(entry.parameters[p]), p));
    const auto named = module.parameter_names.find(entry.name);
    if (named != module.parameter_names.end() && named->second.size() == result.size())
        for (ParameterFacts& p : result) p.source_name = named->second[p.index];
    for (Slot& slot : known[&entry]) {
        ParameterFacts& p = result[slot.parameter];
        if (slot.is_pointer && p.kind == ParameterKind::scalar) p.kind = ParameterKind::pointer;
        if (p.kind != ParameterKind::aggregate && p.guard_axis < 0) p.guard_axis = slot.guard_axis;
        for (const ParameterUse& u : slot.uses) {
            bool there = false;
            for (const ParameterUse& v : p.uses) there |= v.what == u.what;
            if (!there) p.uses.push_back(u);
        }
        ParameterField field;
        field.offset = slot.offset;
        field.type = std::string(ptx::to_string(slot.type));
        field.kind = slot.is_pointer ? ParameterKind::pointer : ParameterKind::scalar;
        field.uses = std::move(slot.uses);
        field.guard_axis = slot.guard_axis;
        p.fields.push_back(std::move(field));
    }
    code.facts.parameters = std::move(result);
}

}  // namespace flipflop
