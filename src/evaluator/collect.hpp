// Owns: from traces of boxes to LaunchFacts. Input: each box's trace, its domain, and how many warps it stands for.
// Invariant: what a trace's doubts touch never becomes an exact count.
#pragma once

#include <map>

#include "evaluator/fold.hpp"
#include "evaluator/footprint.hpp"
#include "evaluator/machine.hpp"

namespace flipflop::eval {

/// Part of the grid that was not enumerated but stands for `weight` times itself.
struct BoxInfo {
    std::array<u64, 3> low{}, extent{1, 1, 1};   ///< blocks
    double weight{1};                            ///< 1 unless sampled, or where the grid repeats itself
    bool sampled{};
};

/// The block whose footprint, and whose neighbours', stand for all.
[[nodiscard]] std::array<u64, 3> interior_block(const Dim3& grid);

class Collector {
public:
    Collector(Session& session, const Folding& folding) : s_(session), p_(session.program), folding_(folding) {
        accesses_.resize(p_.code->facts.accesses.size());
        loops_.resize(p_.code->facts.loops.size());
    }
    void add(const BoxInfo& box);
    /// What one warp did, or each of a box: for roles. A sampled grid's box counts only with weight 0 (its interior block).
    void add_warps(const Page& page, const BoxInfo& box);
    [[nodiscard]] LaunchFacts finish();
    void mark_sampled() {
        sampled_ = true;
        roles_.clear();
        passed_ = {};
    }

private:
    struct Access {
        double requests{}, lanes{}, sectors{}, ideal{}, lines{}, wavefronts{}, passes{}, located{};
        double unknown{}, unaligned{};
        u64 overrun{};
        bool assumed{}, undecided{};
        std::array<double, 9> patterns{};
        double stride_weight{};
        i64 stride{};
        u32 reason{};
        ptx::Space space{};
    };
    struct Kept {                                ///< for footprints
        u32 memory{}, shape{}, occurrence{};
        u64 base{};
        Strides stride{};
        std::array<i64, kAxes> extent{};
        ptx::Space space{};
    };
    struct KeptBox { BoxInfo box; std::vector<Kept> records; };
    struct PhaseSums {
        double wavefronts{}, shared_requests{}, load_sectors{}, store_sectors{}, local_sectors{}, lines{}, global_requests{},
            atomic_sectors{}, serial{};
    };

    void add_record(const AccessRecord& r, const BoxInfo& box, double volume, KeptBox& kept);
    [[nodiscard]] bool unaligned(const AccessRecord& r, const AxisRepeats& axes) const;
    void classify(Access& a, const AccessRecord& r, double times, double sectors);
    void phases(LaunchFacts& facts) const;
    void access_facts(LaunchFacts& facts) const;
    [[nodiscard]] bool counted(std::size_t loop) const;
    [[nodiscard]] std::string exit_words(std::size_t loop) const;
    void loop_facts(LaunchFacts& facts) const;
    struct WorkingBlock { std::array<u64, 3> block{}; double share{1}; };
    [[nodiscard]] WorkingBlock working_block() const;
    [[nodiscard]] double unfollowed() const;
    void footprint(LaunchFacts& facts) const;
    void totals(LaunchFacts& facts) const;
    void roles(LaunchFacts& facts) const;
    void branches(LaunchFacts& facts) const;
    void partial_barriers(LaunchFacts& facts) const;
    void add_barriers(const Page& page, double warps, std::size_t which);
    [[nodiscard]] Page::Count unit_total(u32 unit) const;
    [[nodiscard]] u32 plain_unit(const FunctionProgram& f, u32 block, bool last) const;
    [[nodiscard]] MachineOpCounts excess_of(const FunctionProgram& f, u32 block, bool& ends_loop) const;
    /// True when calls were left out.
    bool unknowns(LaunchFacts& facts) const;
    [[nodiscard]] std::uint8_t loop_doubt_of(u32 function, u32 instruction) const;
    [[nodiscard]] std::string reason_text(u32 reason) const;
    [[nodiscard]] ByteSet block_set(std::array<u64, 3> block, bool reads) const;
    [[nodiscard]] std::optional<double> instruction_sectors(std::array<u64, 3> block) const;

    Session& s_;
    const Program& p_;
    Folding folding_;                                ///< boxes stand for blocks of the first period
    std::vector<Access> accesses_;
    std::vector<LoopEvent> loops_;
    std::unordered_map<u32, Page::Count> counts_;    ///< by phase * units + unit; read through sorted keys only
    std::unordered_map<u32, PhaseSums> phase_sums_;
    std::vector<KeptBox> kept_;
    /// Shares of the address modulo 128, by the axes that move it.
    std::vector<std::pair<AxisRepeats, std::vector<std::pair<unsigned, double>>>> residues_;
    /// By the units with a duty that a warp ran: how many warps, and counts by unit.
    struct Role { double warps{}; std::map<u32, double> counts; };
    std::map<std::vector<u32>, Role> roles_;
    std::map<u32, Page::Count> events_;              ///< by key beyond the units'
    /// Of the interior and of the last block: by barrier, how many warps passed it how often; whether that is in doubt.
    struct Passed { std::map<double, double> warps; bool doubtful{}; };
    std::array<std::vector<Passed>, 2> passed_;
    std::vector<Page::Count> unit_totals_;
    std::size_t kept_records_{};
    double barrier_lanes_{}, doubtful_instructions_{};
    std::optional<u64> dynamic_touched_;
    double interior_executions_{};                        ///< of a sampled launch: what its interior block carried out, as far as it was followed
    bool interior_cut_{};
    bool sampled_{}, truncated_{}, footprint_lost_{}, global_unknown_{};
    std::string footprint_why_;
    std::vector<std::string> notes_;
};

}  // namespace flipflop::eval
