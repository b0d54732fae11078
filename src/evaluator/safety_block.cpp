#include "evaluator/safety_block.hpp"

#include "evaluator/safety_warp.hpp"

namespace flipflop::eval {

SafetySession::SafetySession(const Program& p, const SafetyTraits& t, const Launch& l) : program(p), traits(t), launch(l), memory(p, l) {
    watched.assign(p.memory.size(), false);
    has_data = t.initialised || !l.parameter_data.empty() || !l.symbol_data.empty();
}

BlockRun::BlockRun(SafetySession& session) : shared(session.races), s_(session) {}
BlockRun::~BlockRun() = default;

void BlockRun::breach(u32 rule, u32 op, const std::string& what, bool certain) {
    if (!certain) return give_up(what + ", if it runs");
    if (findings.breach.what.empty()) findings.breach = {what, rule, op};
}

void BlockRun::note_span(u32 op, const MovedBy& stride, u64 low, u64 high, bool writes) {
    for (Span& s : findings.spans)
        if (s.op == op && s.stride == stride) {
            s.low = std::min(s.low, low);
            s.high = std::max(s.high, high);
            return;
        }
    findings.spans.push_back({op, stride, low, high, writes});
}

void BlockRun::run(const Place& place, const std::vector<WarpGroup>& groups) {
    findings = {};
    stopped_ = false;
    classes.clear();
    shared.reset(s_.program.map.dynamic_shared + s_.launch.dynamic_shared_bytes, s_.traits.shared_granule);
    global.reset(s_.traits.global_granule);
    count_ = static_cast<u32>(groups.size());
    order.reset(count_);
    while (warps_.size() < count_) warps_.push_back(std::make_unique<WarpRun>(*this));
    for (u32 w = 0; w < count_; ++w) warps_[w]->start(place, groups[w], w);
    meet();
    if (!stopped_ && classes.overflow()) give_up("the bytes that values derive from move in too many ways");
}

/// Warps in turn, each to its next barrier; a barrier opens when all it waits for are there.
void BlockRun::meet() {
    enum class State : std::uint8_t { ready, waiting, done };
    std::vector<State> state(count_, State::ready);
    std::vector<u32> there;
    while (!stopped_) {
        for (u32 w = 0; w < count_ && !stopped_; ++w) {
            if (state[w] != State::ready) continue;
            const WarpRun::Status status = warps_[w]->run();
            if (status == WarpRun::Status::stopped) return;
            state[w] = status == WarpRun::Status::done ? State::done : State::waiting;
        }
        if (stopped_) return;
        const auto done = static_cast<u32>(std::count(state.begin(), state.end(), State::done));
        if (done == count_) return;
        bool opened = false;
        for (u32 w = 0; w < count_ && !opened; ++w) {
            if (state[w] != State::waiting) continue;
            const WarpRun::Waiting& at = warps_[w]->waiting();
            there.clear();
            for (u32 k = 0; k < count_; ++k)
                if (state[k] == State::waiting && warps_[k]->waiting().id == at.id && warps_[k]->waiting().threads == at.threads) there.push_back(k);
            if (at.threads == 0) {
                if (there.size() + done != count_) continue;
                if (done) breach('f', at.op, "warps that have left the kernel miss the barrier at " + line_of(s_.program, warps_[w]->function(), at.op));
            } else {
                const u32 wanted = (at.threads + kLanes - 1) / kLanes;
                if (there.size() < wanted) continue;
                if (there.size() > wanted) {
                    give_up("which warps meet at barrier " + std::to_string(at.id) + " depends on timing");
                    return;
                }
            }
            order.meet(there);
            for (const u32 k : there) state[k] = State::ready;
            opened = true;
        }
        if (!opened) {
            const u32 w = static_cast<u32>(std::find(state.begin(), state.end(), State::waiting) - state.begin());
            const WarpRun::Waiting& at = warps_[w]->waiting();
            const std::string threads = at.threads ? " for " + std::to_string(at.threads) + " threads" : "";
            breach('f', at.op, "the block cannot satisfy the barrier" + threads + " at " + line_of(s_.program, warps_[w]->function(), at.op));
            give_up("a barrier is never satisfied");
            return;
        }
    }
}

}  // namespace flipflop::eval
