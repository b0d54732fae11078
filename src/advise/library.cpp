#include "library.hpp"

#include <fmt/format.h>

#include "passes/names.hpp"
#include "producer.hpp"

namespace flipflop::advise {

namespace {

ModuleSummary summary_of(const ptx::Module& module) {
    ModuleSummary summary;
    summary.name = module.name;
    summary.ptx_version = fmt::format("{}.{}", module.version_major, module.version_minor);
    summary.target = std::string(module.target);
    summary.address_size = module.address_size;
    summary.lines = module.line_count;
    summary.line_table = !module.locations.empty() || !module.files.empty();
    if (module.text) summary.producer = producer_of(module.own_text());
    return summary;
}

void count(const std::vector<Diagnostic>& diagnostics, Analysis& analysis) {
    for (const Diagnostic& d : diagnostics) {
        if (d.severity == Severity::error) ++analysis.errors;
        if (d.severity == Severity::warning) ++analysis.warnings;
    }
}

std::size_t bytes_of(const PtxText& text) { return text.text ? text.text->size() : 0; }

}  // namespace

Library::Library(const std::vector<Input>& inputs, Analysis& analysis) {
    std::size_t all = 0;
    for (const Input& input : inputs)
        for (const PtxText& text : input.texts) all += bytes_of(text);
    keeps_all_ = all <= kKeptText;
    IdNumbers numbers;
    for (const Input& input : inputs) {
        InputSummary summary;
        summary.path = input.path;
        summary.kind = input.kind;
        summary.sha256 = input.sha256;
        summary.diagnostics = input.diagnostics;
        count(input.diagnostics, analysis);
        for (const PtxText& text : input.texts) {
            auto result = std::make_unique<ptx::ParseResult>(ptx::parse(text.text, text.name));
            analysis.errors += result->errors;
            analysis.warnings += result->warnings;
            const std::size_t first = summary.modules.size();
            for (std::size_t m = 0; m < result->modules.size(); ++m) {
                const ptx::Module& module = result->modules[m];
                summary.modules.push_back(summary_of(module));
                for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
                    const ptx::Function& function = module.functions[f];
                    if (!function.is_entry || !function.has_body) continue;
                    const std::string name(function.name);
                    places_.push_back({texts_.size(), m, f});
                    names_.push_back({name, demangle(name), numbers.next(kernel_id(name))});
                }
            }
            // A text that gives no module still has something to say.
            if (summary.modules.size() == first) summary.modules.push_back(ModuleSummary{text.name, {}, {}, 64, 0, false, {}, {}});
            summary.modules[first].diagnostics = std::move(result->diagnostics);
            if (!keeps_all_) result.reset();
            texts_.push_back({&input, &text, std::move(result)});
        }
        analysis.inputs.push_back(std::move(summary));
    }
}

KernelPlace Library::place_of(std::size_t kernel) const {
    const Place& place = places_[kernel];
    return {texts_[place.text].input, &texts_[place.text].parsed->modules[place.module], place.entry};
}

std::size_t Library::load_from(const std::vector<std::size_t>& chosen, std::size_t begin) {
    if (keeps_all_) return chosen.size();
    std::size_t end = begin, bytes = 0;
    for (; end < chosen.size(); ++end) {
        Text& text = texts_[places_[chosen[end]].text];
        if (text.parsed) continue;
        if (end > begin && bytes + bytes_of(*text.text) > kKeptText) break;
        bytes += bytes_of(*text.text);
        text.parsed = std::make_unique<ptx::ParseResult>(ptx::parse(text.text->text, text.text->name));
    }
    return end;
}

}  // namespace flipflop::advise
