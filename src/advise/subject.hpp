// Owns: a kernel in one case: everything that a launch of it takes, GPU and block aside. Made from the options by name
// and type; asked for Launches. Invariant: what was not given is in `assumptions`.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "advise/arguments.hpp"
#include "advise/array_data.hpp"
#include "advise/cases.hpp"
#include "advise/grid_rule.hpp"
#include "flipflop/advise.hpp"
#include "flipflop/evaluator.hpp"

namespace flipflop::advise {

/// The options that are texts, parsed once for all kernels.
struct Requests {
    std::vector<ArgumentRequest> arguments;
    std::vector<DataRequest> data;
    BranchPolicy policy;
    GridRule rule;
    std::optional<Expression> dynamic_smem;
    Cases cases;
    LaunchOptions options;
    std::vector<std::string> params;         ///< source names of the parameters, by position
    std::vector<FieldName> fields;           ///< what fields of structs are called
    bool programs{};                         ///< Triton's: a block is a program, which covers elements by itself
    Names names;                             ///< a variant's parameters, for expressions
    std::size_t group{};                     ///< 0: the command line alone; else the entry of the launches file, plus one
};
/// Everything that can be wrong with the options whatever the kernel: FF07nn, at its place in the launches file where that gave it.
[[nodiscard]] Result<Requests> read_requests(const LaunchOptions& options);

struct Subject {
    BoundArguments arguments;
    std::map<std::uint32_t, ArrayData> parameter_data;
    std::map<std::string, ArrayData> symbol_data;
    BranchPolicy policy;
    GridRule rule;
    std::optional<Expression> dynamic_smem;
    std::optional<Dim3> cluster;
    Names names;                             ///< named arguments
    std::vector<FieldName> fields;           ///< as Requests::fields
    Dim3 reference;                          ///< --current, else the assumed reference block
    bool reference_given{};
    std::string reference_basis;             ///< given | assumed | required
    std::vector<Assumption> assumptions;
    std::vector<std::string> data_misfits;   ///< by data request: why it does not apply here; empty = it does
    const Case* chosen{};                    ///< the case that it is of, or null
    std::optional<Diagnostic> broken;        ///< an expression for the work without an answer: a usage error
    std::vector<std::string> trips_misfits;  ///< the same by place of --trips, in the order of the policy
    std::vector<std::string> taken_misfits;  ///< by place of --taken
};

/// One kernel's subject in a case. `extra` are more arguments (a sensitivity), behind the others. `work` overrides the work.
/// The misfits of its arguments are those of the requests, then the case's, then the extra ones.
[[nodiscard]] Subject make_subject(const KernelCode& code, const Requests& requests, const Case* chosen = nullptr,
                                   const std::vector<ArgumentRequest>& extra = {}, std::optional<Dim3> work = {});

/// The evaluator's budget for one of the many launches of a search; what does not fit is sampled, and says so.
inline constexpr std::uint64_t kSearchBudget = 400'000;

/// A search's limits, in terms of its budget for one launch (operations of warps, counted: the same on every machine).
/// All launches of it together; how far one verdict follows a launch; all verdicts together, the reference among them.
/// Of named blocks, verdicts follow as far as the judge ever does.
inline constexpr std::uint64_t kSearchOfBudget = 20, kVerdictOfBudget = 5, kVerdictsOfBudget = 10;
/// A kernel that is no line of an overview has so many times as much for its verdicts: without one, the fastest launch is not advice.
inline constexpr std::uint64_t kVerdictsAlone = 4;
/// What a launch of a search is left however many there are.
inline constexpr std::uint64_t kLeastOfBudget = 20;      ///< a 20th

/// What the verdicts of one search may still take, in operations of warps; empty: no limit for all of them together.
struct VerdictWork {
    std::optional<std::uint64_t> left;
    bool reference_counted{};
};

/// What launches of one subject do, each evaluated once. Thread-safe.
class FactsBook {
public:
    /// `budget`: of the evaluator for one launch; empty: its own. `brief`: of a kernel that is one line of an
    /// overview: less work for verdicts, and branches on data are followed in one way, as they are assumed, not in all three.
    FactsBook(const KernelCode& code, const Evaluator& evaluator, const Subject& subject, std::optional<std::uint64_t> budget = {}, bool brief = false)
        : code_(code), evaluator_(evaluator), subject_(subject), budget_(budget), brief_(brief) {}

    /// `taken`: an assumed probability of branches on data, in place of the subject's own policy. `budget`: in place of the book's.
    [[nodiscard]] std::shared_ptr<const LaunchFacts> facts(Dim3 block, Dim3 grid, std::uint64_t dynamic_shared_bytes, std::optional<double> taken = {}, std::optional<std::uint64_t> budget = {});
    /// The same where the dynamic shared memory is still open: `settled` bytes are what the launch itself asks for. One
    /// evaluation serves for both, unless the code reads how much it was given.
    [[nodiscard]] std::shared_ptr<const LaunchFacts> facts_settling(Dim3 block, Dim3 grid, std::uint64_t& settled, std::optional<std::uint64_t> budget = {});
    [[nodiscard]] Launch launch(Dim3 block, Dim3 grid, std::uint64_t dynamic_shared_bytes) const;
    /// Whether `candidate` computes what `reference` does. The reference is followed once. What that and the candidate took
    /// is taken from `work`, where there is a limit.
    [[nodiscard]] SafetyVerdict verdict(const Launch& reference, const Launch& candidate, VerdictWork& work);
    /// For one launch of a search; empty: as far as the evaluator goes.
    [[nodiscard]] std::optional<std::uint64_t> budget() const { return budget_; }
    [[nodiscard]] bool brief() const { return brief_; }
    /// So many times its budget for one launch, for one verdict or for all: `of_budget` as above; empty: as far as the judge goes.
    [[nodiscard]] std::optional<std::uint64_t> verdict_budget(std::uint64_t of_budget) const {
        return budget_ ? std::optional(*budget_ * of_budget * (brief_ ? 1 : kVerdictsAlone)) : std::nullopt;
    }
    [[nodiscard]] const Subject& subject() const { return subject_; }
    [[nodiscard]] const KernelCode& code() const { return code_; }

private:
    const KernelCode& code_;
    const Evaluator& evaluator_;
    const Subject& subject_;
    std::optional<std::uint64_t> budget_;
    bool brief_{};
    std::optional<bool> reads_shared_size_;
    std::mutex mutex_, judging_;
    std::map<std::vector<std::uint64_t>, std::shared_ptr<const LaunchFacts>> known_;
    struct Judge { Dim3 block, grid; std::uint64_t dynamic_shared_bytes{}; std::shared_ptr<const ReblockingJudge> judge; };
    std::vector<Judge> judges_;                   ///< by reference launch: GPUs may differ in it
    std::vector<std::unique_ptr<Launch>> idle_;   ///< launches hold whole arrays (--data): one a thread, used again and again
};

}  // namespace flipflop::advise
