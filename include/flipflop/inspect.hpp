// Owns: what `flipflop inspect` says, as plain data (CONTRACT.md section 7), and the step from inputs to it.
// Input: inputs as read_input gave them. No GPU, no launch, no outside tool. Deterministic; prints nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
    std::optional<Diagnostic> selection;      ///< a --kernel pattern that is none, or that selects nothing: exit 2
};

struct InspectOptions {
    std::vector<std::string> kernels;         ///< --kernel, empty = all
    bool full{};                              ///< all of each kernel's facts, from a library too
    unsigned threads{1};                      ///< that parse and analyse; the caller's is one of them
};

/// Inspects piece by piece, so that a library of gigabytes needs the memory of its facts and of a few texts at a time:
/// `add_text` for each text (as ReadOptions::on_text gives them), `add_input` for each Input once it is whole (its own
/// texts, if it kept any, are inspected then), `finish` once. Texts wait for other threads only up to a few megabytes;
/// then the caller's thread works too. The report does not depend on the number of threads.
/// Kernels of containers, and of texts of more than a few megabytes, get an overview (AnalysisDepth) unless `full`.
class Inspector {
public:
    explicit Inspector(InspectOptions options = {});
    Inspector(Inspector&&) noexcept;
    Inspector& operator=(Inspector&&) noexcept;
    ~Inspector();

    void add_text(const Input& input, PtxText text);
    void add_input(const Input& input);
    [[nodiscard]] std::uint64_t errors() const;   ///< so far, of inputs that are whole
    [[nodiscard]] InspectReport finish() &&;

private:
    struct Work;
    std::unique_ptr<Work> work_;
};

/// The same for inputs that hold their texts. A pattern that selects nothing is a usage error (exit 2); a module without
/// kernels is none.
[[nodiscard]] Result<InspectReport> inspect(const std::vector<Input>& inputs, const InspectOptions& options);

}  // namespace flipflop
