#include "source_names.hpp"

#include <filesystem>

#include "toml_reader.hpp"

namespace flipflop::advise {

const std::vector<CudaSignature>& SourceNames::signatures_of(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (const auto found = read_.find(path); found != read_.end()) return found->second;
    std::error_code ignored;
    std::vector<CudaSignature> signatures;
    if (std::filesystem::is_regular_file(path, ignored))
        if (const auto text = toml_reader::read_whole(path)) signatures = cuda_signatures(*text);
    return read_.emplace(path, std::move(signatures)).first->second;
}

void SourceNames::apply(const Input& input, KernelFacts& kernel) {
    if (input.kind != InputKind::cuda || kernel.parameters.empty()) return;
    if (!kernel.source) return name_parameters(signatures_of(input.path), kernel);
    std::error_code ignored;
    const bool own = std::filesystem::equivalent(kernel.source->file, input.path, ignored);
    name_parameters(signatures_of(own ? input.path : kernel.source->file), kernel, kernel.source->line);
}

}  // namespace flipflop::advise
