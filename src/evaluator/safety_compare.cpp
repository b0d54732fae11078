#include "evaluator/safety_compare.hpp"

#include <algorithm>
#include <unordered_map>

#include "evaluator/safety_listing.hpp"

namespace flipflop::eval {
namespace {

std::string count_text(double n) {
    const auto whole = static_cast<u64>(n);
    return static_cast<double>(whole) == n ? std::to_string(whole) : std::to_string(n);
}

class Comparison {
public:
    Comparison(const SafetySubject& subject, const LaunchRecord& reference, const LaunchRecord& candidate)
        : subject_(subject), r_(reference), c_(candidate) {}

    SafetyVerdict run() {
        if (const auto v = breaches()) return *v;
        // What one launch alone shows is weighed first; the rest needs both.
        if (!r_.unknown.empty()) return {std::nullopt, "the reference launch cannot be followed: " + r_.unknown};
        if (const auto v = races()) return *v;
        if (!c_.unknown.empty()) return {std::nullopt, c_.unknown};
        if (const auto v = places(r_.stores, c_.stores, false)) return *v;
        if (const auto v = places(r_.conditional, c_.conditional, true)) return *v;
        if (const auto v = atomics()) return *v;
        if (const auto v = origins()) return *v;
        return {true, "the whole grid writes the same bytes, each by as many threads and from the same bytes"};
    }

private:
    using Answer = std::optional<SafetyVerdict>;

    [[nodiscard]] SafetyVerdict mismatch(const std::string& why) const {
        if (subject_.assumed) return {std::nullopt, "unlike the assumed reference: " + why};
        return {false, why};
    }

    [[nodiscard]] Answer breaches() const {
        if (c_.breach.what.empty()) return {};
        if (r_.breach.rule == c_.breach.rule && (subject_.other || r_.breach.op == c_.breach.op))
            return SafetyVerdict{std::nullopt, c_.breach.what + ", in the reference launch too"};
        return SafetyVerdict{false, c_.breach.what};
    }

    [[nodiscard]] std::string line(u32 memory) const {
        const Program& program = subject_.other ? *subject_.other : subject_.program;
        const MemoryOp& m = program.memory[memory];
        return line_of(program, m.function, m.instruction);
    }

    [[nodiscard]] Answer races() const {
        for (const bool certain : {true, false})
            for (const Race& race : c_.races) {
                if (race.certain != certain) continue;
                const bool known = std::any_of(r_.races.begin(), r_.races.end(), [&](const Race& o) {
                    return o.first == race.first && o.second == race.second && o.same_warp == race.same_warp;
                });
                if (known && !subject_.other) continue;
                const std::string where = race.first == race.second ? line(race.first) : line(race.first) + " and " + line(race.second);
                const std::string why = "two threads touch the same shared memory without a barrier between (" + where + ")";
                if (!certain) return SafetyVerdict{std::nullopt, why + ", if both run"};
                // Whether it is the reference's own race in other code, nobody can tell.
                if (subject_.other && !r_.races.empty()) return SafetyVerdict{std::nullopt, why + ", and the reference has such places too"};
                return mismatch(why);
            }
        return {};
    }

    /// (a) and (b)
    [[nodiscard]] Answer places(const WriteSums& r, const WriteSums& c, bool conditional) const {
        if (r.pairs == c.pairs) return {};
        const std::string maybe = conditional ? "where data decides, " : "";
        if (c.bytes > 0 && (r.bytes == 0 || c.low < r.low || c.high > r.high))
            return mismatch(maybe + "it writes bytes that the reference does not write (" + name_of(c.low < r.low || r.bytes == 0 ? c.low : c.high - 1) + ")");
        if (r.bytes > 0 && (c.bytes == 0 || c.low > r.low || c.high < r.high))
            return mismatch(maybe + "it leaves bytes out that the reference writes (" + name_of(c.bytes == 0 || c.low > r.low ? r.low : r.high - 1) + ")");
        const Listing mine = list_places(r_, conditional, subject_.limit), theirs = list_places(c_, conditional, subject_.limit);
        if (mine.complete && theirs.complete) {
            if (const auto missing = mine.first_not_in(theirs)) return mismatch(maybe + "it leaves bytes out that the reference writes (" + name_of(*missing) + ")");
            if (const auto extra = theirs.first_not_in(mine)) return mismatch(maybe + "it writes bytes that the reference does not write (" + name_of(*extra) + ")");
            if (const auto twice = theirs.first_several_not_in(mine))
                return mismatch(maybe + "several threads write bytes that one thread writes in the reference (" + name_of(*twice) + ")");
            return SafetyVerdict{std::nullopt, "several threads write the same bytes, in the reference too, but not as many"};
        }
        // Each byte of an interval once: any difference is one of these.
        const bool dense = r.bytes == static_cast<double>(r.high - r.low) &&
                           r.pairs == reduced(times(target_powers().of(r.low), series(target_powers().of(1), r.high - r.low)));
        if (dense && c.bytes < r.bytes) return mismatch(maybe + "it writes " + count_text(c.bytes) + " bytes instead of " + count_text(r.bytes));
        if (dense) return mismatch(maybe + "it writes other bytes than the reference, or several threads write the same");
        return SafetyVerdict{std::nullopt, "the bytes that are written differ from the reference's or are written by another number of threads: too many to list"};
    }

    [[nodiscard]] Answer atomics() const {
        const bool listed = r_.atomic_places_complete && c_.atomic_places_complete;
        const bool same = listed ? r_.atomic_places == c_.atomic_places : r_.atomics.pairs == c_.atomics.pairs;
        if (!same && !listed) return SafetyVerdict{std::nullopt, "the places of atomic operations are too many to compare"};
        if (!same) return mismatch("its atomic operations go to other places");
        return {};
    }

    /// (c)
    [[nodiscard]] Answer origins() const {
        const bool derived = r_.stores.derived == c_.stores.derived && r_.conditional.derived == c_.conditional.derived;
        if (!derived || r_.atomics.derived != c_.atomics.derived) {
            if (!r_.certain || !c_.certain)
                return SafetyVerdict{std::nullopt, "the bytes that results derive from are combined in another way, or are others"};
            if (derived) return mismatch("what atomic operations add up derives from other bytes");
            const auto where = first_other_origin(r_, c_, subject_.limit / 16);
            return mismatch("the same bytes are written, but from other bytes" + (where ? " (" + name_of(*where) + ")" : std::string{}));
        }
        if (r_.stores.known != c_.stores.known || r_.conditional.known != c_.conditional.known)
            return mismatch("it stores other numbers, which do not come from memory");
        if (r_.stores.known_float != c_.stores.known_float || r_.conditional.known_float != c_.conditional.known_float)
            return SafetyVerdict{std::nullopt, "it stores other floating-point numbers, which do not come from memory"};
        if (r_.stores.vague != c_.stores.vague || r_.conditional.vague != c_.conditional.vague || r_.atomics.vague != c_.atomics.vague)
            return SafetyVerdict{std::nullopt, "results depend on other constants than the reference's"};
        return {};
    }

    /// The parameter that points there, and how many bytes behind.
    [[nodiscard]] std::string name_of(u64 address) const {
        std::string name = "address " + std::to_string(address);
        u64 best = ~u64{0};
        const auto& parameters = subject_.program.code->facts.parameters;
        for (std::size_t k = 0; k < parameters.size() && k < subject_.reference.arguments.size(); ++k) {
            if (parameters[k].kind != ParameterKind::pointer) continue;
            u64 base = 0;
            const auto& bytes = subject_.reference.arguments[k].bytes;
            for (std::size_t b = 0; b < bytes.size() && b < 8; ++b) base |= u64{bytes[b]} << (8 * b);
            if (address - base >= best) continue;
            best = address - base;
            const std::string& source = parameters[k].source_name;
            name = "byte " + std::to_string(best) + " of " + (source.empty() ? parameters[k].short_name : source);
        }
        return name;
    }

    const SafetySubject& subject_;
    const LaunchRecord& r_;
    const LaunchRecord& c_;
};

}  // namespace

SafetyVerdict compare_launches(const SafetySubject& subject, const LaunchRecord& reference, const LaunchRecord& candidate) {
    return Comparison(subject, reference, candidate).run();
}

}  // namespace flipflop::eval
