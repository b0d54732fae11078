#include "listing.hpp"

#include <algorithm>
#include <map>

#include "passes/source_lines.hpp"

namespace flipflop::advise {

namespace {

/// The lines [first, last] of a text, without their ends.
std::vector<std::string> lines_of(std::string_view text, std::uint32_t first, std::uint32_t last) {
    std::vector<std::string> lines;
    std::size_t begin = 0;
    for (std::uint32_t number = 1; number <= last && begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (number >= first) {
            std::string_view line = text.substr(begin, end - begin);
            if (line.ends_with('\r')) line.remove_suffix(1);
            lines.emplace_back(line);
        }
        begin = end + 1;
    }
    return lines;
}

}  // namespace

Listing listing_of(const KernelCode& code) {
    Listing listing;
    std::map<std::string, std::uint32_t> files;
    for (const FunctionCode& function : code.functions) {
        const ptx::Module& module = *function.ir.module;
        const auto& instructions = function.ir.function->instructions;
        for (std::size_t i = 0; i < instructions.size(); ++i) {
            Listing::Instruction out;
            out.ptx_line = instructions[i].line;
            if (const auto source = source_of(module, instructions[i])) {
                const auto [file, added] = files.try_emplace(source->file, static_cast<std::uint32_t>(listing.files.size() + 1));
                if (added) listing.files.push_back(source->file);
                out.file = file->second;
                out.line = source->line;
            }
            out.access = function.table.access[i];
            out.kind = kClassNames[function.table.contract_class[i]];
            listing.instructions.push_back(out);
        }
    }
    const ptx::Module& module = *code.functions.front().ir.module;
    const ptx::Function& entry = *code.functions.front().ir.function;
    listing.first_line = entry.line;
    // The closing brace stands a line below the last statement in all that compilers write.
    const std::uint32_t last = entry.instructions.empty() ? entry.line : entry.instructions.back().line + 1;
    if (module.text) listing.lines = lines_of(*module.text, entry.line, last);
    return listing;
}

}  // namespace flipflop::advise
