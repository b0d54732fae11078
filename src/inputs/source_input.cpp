#include "inputs/source_input.hpp"

#include <fmt/format.h>

#include "inputs/collector.hpp"
#include "inputs/file.hpp"
#include "inputs/source_compile.hpp"

namespace flipflop {

std::optional<InputKind> source_kind(Content content) {
    switch (content) {
        case Content::cuda: return InputKind::cuda;
        case Content::llvm_ir: return InputKind::llvm_ir;
        case Content::llvm_bitcode: return InputKind::llvm_bitcode;
        default: return std::nullopt;
    }
}

Result<Input> read_source(std::string_view bytes, const std::string& path, InputKind kind, const ReadOptions& options) {
    const SourceLanguage language = kind == InputKind::cuda ? SourceLanguage::cuda : SourceLanguage::llvm;
    const auto tools = find_compilers(*options.source, language, false);
    if (!tools) {
        Diagnostic d = tools.error();
        d.file = path;
        return tl::unexpected(std::move(d));
    }
    const SourceText source{path, path == "-" ? std::string() : path, bytes};
    std::optional<SourceCompiler> compiler;
    std::optional<Diagnostic> refusal;
    for (const CompilerTool& tool : *tools) {
        compiler.emplace(tool, *options.source, source);
        auto refused = compiler->refusal();
        if (!refused) break;
        if (!refusal) refusal = std::move(refused);
        compiler.reset();
    }
    if (!compiler) {
        refusal->file = refusal->file.empty() ? path : refusal->file;
        return tl::unexpected(std::move(*refusal));
    }
    CompileResult result = std::move(compiler->compile({{}}, 1).front());
    Input input;
    input.path = path;
    input.kind = kind;
    input.file_bytes = bytes.size();
    input.sha256 = sha256(bytes);
    input.used[compiler->tool().name()] = compiler->tool().version;
    if (!result.ptx) {
        if (result.tool_failed) return tl::unexpected(std::move(result.messages.front()));
        input.diagnostics = std::move(result.messages);
        return input;
    }
    if (const std::string trouble = compiler->cache().trouble(); !trouble.empty()) {
        Diagnostic d = input_error("FF0615", path, trouble);
        d.severity = Severity::note;
        input.diagnostics.push_back(std::move(d));
    }
    Collector collector{input, options, bytes};
    collector.add_text(fmt::format("{}#compute_{}", path, compiler->architecture()), std::move(*result.ptx));
    collector.finish();
    return input;
}

}  // namespace flipflop
