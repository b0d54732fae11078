#include "passes/source_lines.hpp"

namespace flipflop {

std::optional<SourceLine> source_of(const ptx::Module& module, const ptx::Instruction& instruction) {
    std::uint32_t at = instruction.location;
    if (at == 0 || at > module.locations.size()) return std::nullopt;
    // A chain of inlined calls is as deep as the source made it; a text can also make it a ring.
    for (std::size_t steps = 0; steps < module.locations.size(); ++steps) {
        const std::uint32_t outer = module.locations[at - 1].inlined_at;
        if (outer == 0 || outer > module.locations.size() || outer == at) break;
        at = outer;
        if (steps > 1000) return std::nullopt;
    }
    const ptx::Location& location = module.locations[at - 1];
    if (location.line == 0) return std::nullopt;
    for (const ptx::SourceFile& file : module.files)
        if (file.number == location.file) return SourceLine{file.path, location.line};
    return std::nullopt;
}

std::optional<SourceLine> source_of(const ptx::Module& module, const ptx::Function& function) {
    for (const ptx::Instruction& i : function.instructions)
        if (auto line = source_of(module, i)) return line;
    return std::nullopt;
}

}  // namespace flipflop
