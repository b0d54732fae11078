#include "passes/source_lines.hpp"

namespace flipflop {
namespace {

/// Index into Module::locations plus one of the outermost caller; 0 for none. A chain of inlined calls is as deep as the
/// source made it; a text can also make it a ring, hence the bound.
std::uint32_t outermost(const ptx::Module& module, std::uint32_t at) {
    if (at == 0 || at > module.locations.size()) return 0;
    for (int steps = 0; steps < 1000; ++steps) {
        const std::uint32_t outer = module.locations[at - 1].inlined_at;
        if (outer == 0 || outer > module.locations.size() || outer == at) return at;
        at = outer;
    }
    return 0;
}

std::optional<SourceLine> line_of(const ptx::Module& module, std::uint32_t at) {
    if (at == 0 || module.locations[at - 1].line == 0) return std::nullopt;
    for (const ptx::SourceFile& file : module.files)
        if (file.number == module.locations[at - 1].file) return SourceLine{file.path, module.locations[at - 1].line};
    return std::nullopt;
}

}  // namespace

std::optional<SourceLine> source_of(const ptx::Module& module, const ptx::Instruction& instruction) {
    const std::uint32_t caller = outermost(module, instruction.location);
    if (caller == 0) return std::nullopt;
    std::uint32_t at = instruction.location;
    while (at != caller && module.locations[at - 1].file != module.locations[caller - 1].file) at = module.locations[at - 1].inlined_at;
    return line_of(module, at);
}

std::vector<std::string> place_names(const ptx::Module& module, const ptx::Instruction& instruction) {
    const std::string ptx_line = ":" + std::to_string(instruction.line);
    std::vector<std::string> names{"ptx" + ptx_line, module.name + ptx_line};
    if (const auto slash = module.name.find_last_of('/'); slash != std::string::npos) names.push_back(module.name.substr(slash + 1) + ptx_line);
    std::uint32_t at = instruction.location;
    for (int steps = 0; at != 0 && at <= module.locations.size() && steps < 1000; ++steps) {
        if (const auto line = line_of(module, at)) {
            const std::string number = ":" + std::to_string(line->line);
            names.push_back(line->file + number);
            const auto slash = line->file.find_last_of('/');
            if (slash != std::string::npos) names.push_back(line->file.substr(slash + 1) + number);
        }
        at = module.locations[at - 1].inlined_at;
    }
    return names;
}

std::optional<SourceLine> source_of(const ptx::Module& module, const ptx::Function& function) {
    for (const ptx::Instruction& i : function.instructions)
        if (auto line = line_of(module, outermost(module, i.location))) return line;
    return std::nullopt;
}

}  // namespace flipflop
