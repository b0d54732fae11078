// Where variables lie. Only distances within a space matter for what is counted; windows keep the spaces apart, as the
// generic address space does (PTX ISA 5.1).
#include <algorithm>

#include "evaluator/prepare.hpp"

namespace flipflop::eval {
namespace {

u64 align_up(u64 value, u64 alignment) {
    if (alignment <= 1) return value;
    return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

void map_addresses(Program& program) {
    const ptx::Module& module = *program.module;
    AddressMap& map = program.map;
    const bool narrow = module.address_size == 32;
    map.window_bytes = narrow ? 0x01000000 : 0x100000000;
    const u64 base = narrow ? 0xf0000000 : 0x7ff000000000;
    map.shared_window = base;
    map.local_window = base + map.window_bytes;
    map.constant_window = base + 2 * map.window_bytes;
    map.parameter_window = base + 3 * map.window_bytes;
    map.symbol_base = narrow ? 0xe0000000 : 0x7fe000000000;

    std::vector<bool> in_tree(module.functions.size());
    for (std::size_t f = 0; f < module.functions.size() && f < program.code->function_of_symbol.size(); ++f)
        in_tree[f] = program.code->function_of_symbol[f] >= 0;
    u64 global = map.symbol_base, constant = 0;
    std::vector<u32> dynamic;
    u64 dynamic_alignment = 16;
    for (u32 s = 0; s < module.symbols.size(); ++s) {
        const ptx::Symbol& symbol = module.symbols[s];
        if (symbol.kind != ptx::Symbol::Kind::variable) continue;
        if (symbol.function != kNone && (symbol.function >= in_tree.size() || !in_tree[symbol.function])) continue;
        const u64 bytes = symbol.byte_size.value_or(0);
        const u64 alignment = std::max<u64>(1, symbol.alignment);
        switch (symbol.space) {
        case ptx::Space::shared:
            if (!symbol.byte_size || bytes == 0) {
                dynamic.push_back(s);
                dynamic_alignment = std::max(dynamic_alignment, alignment);
                break;
            }
            map.static_shared = align_up(map.static_shared, alignment);
            map.symbols[s] = map.static_shared;
            map.static_shared += bytes;
            break;
        case ptx::Space::local:
            map.local_bytes = align_up(map.local_bytes, alignment);
            map.symbols[s] = map.local_bytes;
            map.local_bytes += bytes;
            break;
        case ptx::Space::constant:
            constant = align_up(constant, std::max<u64>(alignment, 4));
            map.symbols[s] = constant;
            map.constants.push_back({constant, bytes, s});
            constant += std::max<u64>(bytes, 1);
            break;
        case ptx::Space::global:
            // Device variables are 256-byte aligned by the loader.
            global = align_up(global, std::max<u64>(alignment, 256));
            map.symbols[s] = global;
            map.globals.push_back({global, bytes, s});
            global += std::max<u64>(bytes, narrow ? 0x1000 : 0x100000);
            break;
        default: break;
        }
    }
    map.dynamic_shared = align_up(map.static_shared, dynamic_alignment);
    map.uses_dynamic_shared = !dynamic.empty();
    for (const u32 s : dynamic) map.symbols[s] = map.dynamic_shared;

    const ptx::Function& entry = *program.functions.front().code->ir.function;
    u64 offset = 0;
    for (const ptx::SymbolId id : entry.parameters) {
        const ptx::Symbol& symbol = module.symbol(id);
        offset = align_up(offset, std::max<u64>(1, symbol.alignment));
        map.symbols[static_cast<u32>(id)] = offset;
        map.parameters.push_back(offset);
        offset += symbol.byte_size.value_or(std::max<u64>(1, ptx::bits_of(symbol.type) / 8));
    }
}

}  // namespace flipflop::eval
