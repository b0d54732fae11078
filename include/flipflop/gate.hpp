// Owns: the gate for pull requests (CONTRACT.md section 9): what a baseline holds (Snapshot), a team's policy (Policy),
// and the comparison of two snapshots (CheckReport). Input: an Analysis made with AnalyzeOptions::own_launch. Invariant:
// verdicts depend on the two snapshots, the policy and the day alone; a metric that cannot be compared is never a failure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/analysis.hpp"
#include "flipflop/diagnostic.hpp"

namespace flipflop::gate {

enum class Metric : std::uint8_t {
    time_us, energy_mj, recommended_time_us, recommended_energy_mj, registers, spill_bytes, shared_bytes, occupancy, sectors_per_request, findings,
};
inline constexpr std::array<std::string_view, 10> kMetricNames{
    "time_us", "energy_mj", "recommended_time_us", "recommended_energy_mj", "registers", "spill_bytes", "shared_bytes", "occupancy", "sectors_per_request", "findings"};
inline constexpr std::size_t kMetrics = kMetricNames.size();
[[nodiscard]] inline std::string_view to_string(Metric metric) { return kMetricNames[static_cast<std::size_t>(metric)]; }

// ---- what is compared ---------------------------------------------------------------------------------------------
/// Findings of one rule, by severity (note, warning, error).
using SeverityCounts = std::array<std::uint32_t, 3>;

/// One kernel on one GPU in one case. The launch is the team's own: --current, else the first --block, else the reference.
struct KernelRecord {
    std::string name, demangled;
    std::string module;                      ///< last part of its path: the rest differs between machines
    std::string producer, fingerprint;
    std::string gpu, case_name;
    Dim3 block, grid;
    std::string launch_basis;                ///< given | assumed | required
    bool launchable{true};
    std::string why_not;
    std::string registers_basis;             ///< ptxas | cubin | estimate
    std::string sectors_basis;               ///< exact | sampled | partial; empty without global accesses
    std::array<std::optional<double>, kMetrics> metrics;   ///< to six digits, so that machines agree
    std::map<std::string, SeverityCounts> findings;
    // Of a fresh analysis only; a baseline file does not hold them.
    std::string module_path;
    std::optional<SourceLine> source;
    std::uint32_t ptx_line{};
    const KernelAnalysis* kernel{};          ///< into the Analysis that the snapshot was taken of
    const KernelResult* result{};
    const ConfigResult* own{};

    [[nodiscard]] const std::optional<double>& metric(Metric m) const { return metrics[static_cast<std::size_t>(m)]; }
    [[nodiscard]] std::optional<double>& metric(Metric m) { return metrics[static_cast<std::size_t>(m)]; }
};

/// What predictions for a GPU rest on.
struct GpuBasis {
    std::string gpu, id;
    std::string profile, coefficients;       ///< digests
    PairedError paired;                      ///< of a fresh analysis; not in a file
};

struct Snapshot {
    std::string origin;                      ///< the file, or the inputs
    std::string tool_version, models;        ///< model_version() of the build
    std::optional<std::string> ptxas;
    std::vector<std::string> options;        ///< the launch options as given, "--work=4096", sorted
    std::vector<GpuBasis> gpus;              ///< by name
    std::vector<KernelRecord> kernels;       ///< by name, module, GPU, case
};

/// `analysis` must outlive the snapshot's pointers. `options` as they will stand in the file.
[[nodiscard]] Snapshot take_snapshot(const Analysis& analysis, const std::vector<std::string>& options);

/// FF0780: missing, corrupt, with conflict markers, or of another schema (all exit 2).
[[nodiscard]] Result<Snapshot> read_baseline(const std::string& path);
[[nodiscard]] Result<Snapshot> parse_baseline(std::string_view text, const std::string& name);
/// Is the file a baseline, going by its first bytes? False for what cannot be read.
[[nodiscard]] bool is_baseline(const std::string& path);

// ---- the team's policy --------------------------------------------------------------------------------------------
enum class Direction : std::uint8_t { up, down, both };

struct ThresholdRule {
    std::string match{"*"}, gpu;             ///< globs; an empty gpu is every one
    std::vector<Metric> metrics;
    std::optional<double> relative, absolute;   ///< with both, a change must exceed both
    std::optional<Direction> direction;      ///< empty: the worse one
    bool off{};
    bool uncertain_fails{};
};
struct BudgetRule {
    std::string match{"*"}, gpu;
    Metric metric{};
    std::optional<double> min, max;
    std::uint32_t line{};
};
/// A day, comparable as text: "2027-01-31".
struct Waiver {
    std::string match{"*"}, gpu;
    std::optional<Metric> metric;
    std::string rule;                        ///< of a finding, where it is not a metric
    std::string reason, owner, expires;      ///< owner and expires may be empty
    std::uint32_t line{};
};
enum class RuleSetting : std::uint8_t { note, warning, error, off };

/// [energy]: what makes millijoules a launch into kilowatt-hours a year.
struct EnergyPolicy {
    struct Calls { std::string match{"*"}; double calls{1}; };
    double launches_per_day{};               ///< of each kernel with calls 1
    std::optional<double> grams_co2e_per_kwh, price_per_kwh;
    std::string currency{"EUR"};
    std::vector<Calls> calls;                ///< [[energy.calls]]: launches of a kernel for one of the day's; the last match holds
};

struct Policy {
    std::string file;                        ///< empty: the defaults
    std::vector<std::string> gpus;
    std::optional<std::string> fail_on;      ///< as --fail-on
    std::vector<ThresholdRule> thresholds;   ///< the last that matches holds
    std::vector<BudgetRule> budgets;
    std::vector<Waiver> waivers;
    std::map<std::string, RuleSetting> rules;
    std::optional<EnergyPolicy> energy;
    std::vector<Diagnostic> warnings;
};

/// FF0781 with line and column: not TOML, an unknown key (with a did-you-mean), a value of the wrong kind, a waiver
/// without a reason.
[[nodiscard]] Result<Policy> parse_policy(std::string_view text, const std::string& name);
[[nodiscard]] Result<Policy> read_policy(const std::string& path);
/// flipflop.toml from `input` up to the root of its repository, then from `working_directory` up, then in
/// `config_home`/flipflop. Empty: there is none.
[[nodiscard]] std::string find_policy(const std::string& input, const std::string& working_directory, const std::string& config_home);

// ---- the comparison -----------------------------------------------------------------------------------------------
enum class Verdict : std::uint8_t { ok, improved, regressed, waived, uncertain, incomparable };
[[nodiscard]] std::string_view to_string(Verdict verdict);
enum class Status : std::uint8_t { same, changed, added, removed, renamed };
[[nodiscard]] std::string_view to_string(Status status);

struct Change {
    Metric metric{};
    bool budget{};                           ///< against a budget: threshold is the limit, base is empty
    bool relative{};                         ///< change and threshold are shares of base; else in the metric's unit
    std::optional<double> base, head;
    std::optional<double> change, low, high; ///< 90 %; both equal to change where the metric is a count
    std::optional<double> threshold;
    std::optional<double> threshold_absolute;   ///< beside a relative one
    Verdict verdict{Verdict::ok};
    std::string why;                         ///< of incomparable, of a launch that is gone, of a waiver
};

/// A finding that base has not, or has less often.
struct NewFinding {
    std::string rule;
    Severity severity{Severity::warning};
    std::uint32_t count{};
    Verdict verdict{Verdict::ok};            ///< regressed where it fails the gate, or waived
    std::vector<const Finding*> candidates;  ///< all of head's of that rule
};

struct KernelCheck {
    std::string name, demangled, gpu, case_name;
    Status status{Status::same};
    std::string renamed_from;
    bool toolchain_changed{};
    std::vector<Change> changes;             ///< where values differ or the verdict is not ok
    std::vector<NewFinding> new_findings;
    const KernelRecord* base{};
    const KernelRecord* head{};
    [[nodiscard]] bool fails() const;
    /// 0 fails, 1 uncertain, 2 waived, 3 incomparable, 4 improved or otherwise changed, 5 same
    [[nodiscard]] int rank() const;
};

struct WaiverUse {
    const Waiver* waiver{};
    bool used{}, expired{};
};
struct Note { std::string kind, message; };

struct YearlyAmount { double kwh{}; std::optional<double> cost, co2e_kg; };
struct YearlyChange {
    const KernelCheck* kernel{};
    double calls{1};
    YearlyAmount change, low, high;          ///< more is positive
};
/// Of the changes in energy of the teams' own launches.
struct Yearly {
    std::vector<YearlyChange> kernels;       ///< those whose energy changed
    std::optional<YearlyAmount> total;       ///< empty where GPUs or cases are alternatives
    std::string currency;
    std::vector<std::string> assumptions;
};

struct CheckReport {
    bool fail{};
    std::string incomplete;                  ///< why it is no pass even without a failure: an input that could not be read; or empty
    bool has_base{};
    std::string base_origin;
    std::vector<KernelCheck> kernels;        ///< by name, GPU, case
    std::vector<WaiverUse> waivers;          ///< in the policy's order
    std::vector<Note> notes;
    std::vector<Diagnostic> warnings;        ///< for standard error
    std::optional<Yearly> yearly;            ///< yearly_of(), put here by whoever wants it reported
};
/// Empty without [energy] in the policy, or without a base. Holds pointers into `report`, which must stay where it is.
[[nodiscard]] std::optional<Yearly> yearly_of(const CheckReport& report, const Policy& policy);

struct CheckOptions {
    std::string today;                       ///< "2026-12-01": what waivers' expiry is compared with; empty: nothing expires
    std::optional<Severity> fail_on{Severity::error};   ///< new findings of this severity or worse fail; empty: none does
    std::vector<std::string> kernels;        ///< --kernel: base's kernels that it does not select are not "removed"
};

/// `base` null: findings and budgets only. The arguments must outlive the report.
[[nodiscard]] CheckReport check(const Snapshot* base, const Snapshot& head, const Policy& policy, const CheckOptions& options);

/// A name without what changes from build to build: hashes of anonymous namespaces and static functions, and template
/// values ("gemm<128>" and "gemm<256>" are one).
[[nodiscard]] std::string normalised_name(std::string_view name);

// ---- what a change does -------------------------------------------------------------------------------------------
/// A term whose change brings about `delta` of the whole difference (shares of all terms add up to it).
struct TermDelta { std::string path, unit; double base{}, head{}, delta{}; };
/// A memory instruction on one side.
struct AccessSide {
    std::uint32_t ptx_line{};
    std::optional<SourceLine> source;
    std::optional<double> requests, sectors_per_request, wavefronts_per_request;
};
struct AccessDelta {
    std::string op, space;
    std::optional<AccessSide> base, head;    ///< empty on the side that has no such instruction
};
struct ClassDelta { std::string name; double base{}, head{}; };   ///< thread-level executions over the grid

struct KernelDiff {
    const KernelCheck* check{};
    std::string summary;                     ///< one sentence; empty where nothing is to be said
    bool explained{};                        ///< both sides are analyses: the rest is known
    std::vector<TermDelta> time_terms, energy_terms;   ///< in us and in mJ; largest first
    std::vector<AccessDelta> accesses;       ///< that differ; most traffic first
    std::vector<ClassDelta> instructions;    ///< that differ; largest first
    std::vector<const Finding*> fresh, gone; ///< findings of rules that one side has more often, costliest first
};
/// Parallel to `report.kernels`.
[[nodiscard]] std::vector<KernelDiff> explain_changes(const CheckReport& report);

// ---- rules and alerts ---------------------------------------------------------------------------------------------
/// What a failure of the gate itself is called; findings have the ids of list_rules().
inline constexpr std::array<std::string_view, 5> kGateRules{"FF501", "FF502", "FF503", "FF504", "FF505"};

/// A page of docs/rules, compiled in.
struct RulePage { std::string id, family, title, text; };
/// All of them, by id: the findings' rules and the gate's own (FF5nn).
[[nodiscard]] const std::vector<RulePage>& rule_pages();

/// What a code-scanning page or an annotation is told: one place, one sentence.
struct Alert {
    std::string rule;
    Severity severity{Severity::warning};
    std::string message;
    std::string kernel, gpu;                 ///< of the first kernel that has it
    std::size_t more_kernels{};              ///< others that have it at the same place
    std::string file;                        ///< relative to the repository's root, with '/'
    std::uint32_t line{1};
    std::string fingerprint;                 ///< of rule, kernel and position among its like: no line number in it
    std::string state;                       ///< "new" | "unchanged" | empty without a base
    std::string suppressed;                  ///< a waiver's or a source comment's reason, or empty
    bool in_source{};                        ///< the reason stands in the source
    std::optional<double> cost_us, cost_mj;
};

/// Where reports point to: a file of the repository that the reader can open.
struct Repository {
    std::string root;                        ///< absolute
    std::string working_directory;           ///< absolute; relative paths start here
    std::string fallback;                    ///< of an alert whose own file is not in the repository: policy, baseline or input
};
/// The repository around `working_directory`, else the folder itself.
[[nodiscard]] Repository find_repository(const std::string& working_directory, const std::string& fallback);
struct RepositoryPlace { std::string file; std::uint32_t line{1}; };
/// The source line where its file is in the repository, else the PTX, else the fallback. Never absolute, never above the root.
[[nodiscard]] RepositoryPlace locate(const Repository& repository, const std::optional<SourceLine>& source, const std::string& module, std::uint32_t ptx_line);

/// The text of a source file that a `.loc` of `module` names. Empty where that is no regular file inside the repository
/// (nobody's PTX makes a report show other files of the machine) or has more than 4 MB.
[[nodiscard]] std::optional<std::string> source_text(const Repository& repository, const std::string& file, const std::string& module);

/// Worst first; the same finding of several kernels at one place is one alert.
[[nodiscard]] std::vector<Alert> alerts_of(const Snapshot& head, const Policy& policy, const Repository& repository);
/// Failures of the gate, then all findings of head, those that base has not marked new.
[[nodiscard]] std::vector<Alert> alerts_of(const CheckReport& report, const Policy& policy, const Repository& repository);

struct MatchedPair { std::optional<std::size_t> base, head; };
struct Matching {
    std::vector<MatchedPair> pairs;          ///< indices into the two lists; every kernel once
    std::vector<Note> notes;                 ///< what was ambiguous
};
/// By name, then by normalised name, then by fingerprint; what is ambiguous stays unmatched, with a note.
[[nodiscard]] Matching match_kernels(const std::vector<const KernelRecord*>& base, const std::vector<const KernelRecord*>& head);

}  // namespace flipflop::gate
