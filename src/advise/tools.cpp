#include "flipflop/tools.hpp"

#include <algorithm>

#include "inputs/source_compile.hpp"
#include "passes/ptxas_resources.hpp"

namespace flipflop {

std::vector<FoundTool> find_tools(const SourceOptions& surroundings) {
    std::vector<FoundTool> tools{{"ptxas", {}}, {"nvrtc", {}}, {"nvcc", {}}, {"clang", {}}, {"llc", {}}};
    if (const auto ptxas = find_ptxas({}, {surroundings.path, surroundings.cuda_home, surroundings.temporary_folder})) tools.front().version = ptxas->version;
    for (const SourceLanguage language : {SourceLanguage::cuda, SourceLanguage::llvm}) {
        const auto found = find_compilers(surroundings, language, true);
        if (!found) continue;
        for (const CompilerTool& tool : *found) {
            const auto place = std::find_if(tools.begin(), tools.end(), [&](const FoundTool& t) { return t.name == tool.name(); });
            if (place != tools.end() && !place->version) place->version = tool.version;
        }
    }
    return tools;
}

}  // namespace flipflop
