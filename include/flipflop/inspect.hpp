// Owns: what `flipflop inspect` says, as plain data (CONTRACT.md section 7), and the step from inputs to it.
// Input: inputs as read_input gave them. No GPU, no launch, no outside tool. Deterministic; prints nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "flipflop/diagnostic.hpp"
#include "flipflop/facts.hpp"
#include "flipflop/inputs.hpp"

namespace flipflop {

/// A .func of a module: not an entry.
struct InspectedFunction {
    std::string name, demangled;
    bool has_body{};
    std::uint64_t instructions{};
    std::uint32_t ptx_line{};
};

struct InspectedModule {
    std::string name, ptx_version, target;
    std::uint32_t address_size{64}, lines{};
    std::uint64_t bytes{};                    ///< of its PTX text
    bool line_table{};                        ///< .loc directives or DWARF
    std::uint64_t instructions{}, unknown_instructions{};
    std::vector<KernelFacts> kernels;         ///< in text order, those that --kernel selects
    std::vector<InspectedFunction> functions;
    std::vector<Diagnostic> diagnostics;
};

struct InspectedInput {
    std::string path;
    InputKind kind{InputKind::ptx};
    std::string sha256;
    std::vector<InspectedModule> modules;
    std::vector<CubinEntry> cubins;
    std::vector<Diagnostic> diagnostics;      ///< of the container itself
};

struct InspectSummary {
    std::uint64_t inputs{}, modules{}, kernels{}, ptx_bytes{}, instructions{}, unknown_instructions{}, errors{}, warnings{};
};

struct InspectReport {
    std::vector<InspectedInput> inputs;
    InspectSummary summary;
};

struct InspectOptions {
    std::vector<std::string> kernels;         ///< --kernel, empty = all
};

/// Inspects piece by piece, so that a library of gigabytes needs the memory of its facts and of one text at a time:
/// `add_text` for each text (as ReadOptions::on_text gives them), `add_input` for each Input once it is whole (its own
/// texts, if it kept any, are inspected then), `finish` once.
class Inspector {
public:
    void add_text(const Input& input, const PtxText& text);
    void add_input(const Input& input);
    [[nodiscard]] std::uint64_t errors() const { return errors_; }   ///< so far, of inputs that are whole
    /// A pattern that selects nothing is a usage error (exit 2); a module without kernels is none.
    [[nodiscard]] Result<InspectReport> finish(const InspectOptions& options) &&;

private:
    std::map<std::string, std::vector<InspectedModule>> pending_;   ///< by path, of inputs that are not whole yet
    InspectReport report_;
    std::uint64_t errors_{};
};

/// The same for inputs that hold their texts.
[[nodiscard]] Result<InspectReport> inspect(const std::vector<Input>& inputs, const InspectOptions& options);

}  // namespace flipflop
