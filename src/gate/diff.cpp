// What a change does: the difference of two predictions as shares of their terms, and the instructions behind them.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "advise/attribution.hpp"
#include "flipflop/explain.hpp"
#include "flipflop/gate.hpp"

namespace flipflop::gate {
namespace {

constexpr std::size_t kMostTerms = 6;

void find_path(const advise::Attribution& node, const advise::Attribution* wanted, const std::string& above, std::string& out) {
    const std::string path = above.empty() ? node.id : above + "/" + node.id;
    if (&node == wanted) { out = path; }
    for (const advise::Attribution& part : node.parts) {
        if (out.empty()) { find_path(part, wanted, path, out); }
    }
}

std::vector<TermDelta> term_deltas(const Term& base, const Term& head) {
    std::vector<TermDelta> deltas;
    const advise::Attribution root = advise::attribute(base, head);
    if (root.delta == 0) { return deltas; }
    for (const advise::Attribution* term : advise::telling_terms(root, kMostTerms)) {
        TermDelta delta{{}, term->unit, term->from, term->to, term->delta};
        find_path(root, term, {}, delta.path);
        deltas.push_back(std::move(delta));
    }
    return deltas;
}

/// Longest common subsequence of instructions that are alike: what stands between them was added or removed.
std::vector<std::pair<std::optional<std::size_t>, std::optional<std::size_t>>> align(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::pair<std::optional<std::size_t>, std::optional<std::size_t>>> out;
    constexpr std::size_t kLargest = 4'000'000;   // cells of the table; beyond that by position
    if (a.size() * b.size() > kLargest) {
        for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
            out.push_back({i < a.size() ? std::optional(i) : std::nullopt, i < b.size() ? std::optional(i) : std::nullopt});
        }
        return out;
    }
    std::vector<std::vector<std::uint32_t>> length(a.size() + 1, std::vector<std::uint32_t>(b.size() + 1));
    for (std::size_t i = a.size(); i-- > 0;) {
        for (std::size_t j = b.size(); j-- > 0;) { length[i][j] = a[i] == b[j] ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]); }
    }
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() || j < b.size()) {
        if (i < a.size() && j < b.size() && a[i] == b[j]) {
            out.push_back({i++, j++});
        } else if (j == b.size() || (i < a.size() && length[i + 1][j] >= length[i][j + 1])) {
            out.push_back({i++, std::nullopt});
        } else {
            out.push_back({std::nullopt, j++});
        }
    }
    return out;
}

std::vector<std::string> keys_of(const KernelFacts& facts) {
    std::vector<std::string> keys;
    for (const AccessDescription& a : facts.accesses) { keys.push_back(fmt::format("{} {} {}", a.op, to_string(a.space), a.bytes_per_lane)); }
    return keys;
}

AccessSide side_of(const KernelRecord& record, std::size_t index) {
    const AccessDescription& description = record.kernel->facts.accesses[index];
    AccessSide side{description.ptx_line, description.source, {}, {}, {}};
    if (record.own->facts && index < record.own->facts->accesses.size()) {
        const AccessFacts& facts = record.own->facts->accesses[index];
        side.requests = facts.requests ? facts.requests : facts.requests_assumed;
        side.sectors_per_request = facts.sectors_per_request;
        side.wavefronts_per_request = facts.wavefronts_per_request;
    }
    return side;
}

double traffic(const std::optional<AccessSide>& side) {
    if (!side) { return 0; }
    return side->requests.value_or(0) * std::max(side->sectors_per_request.value_or(0), side->wavefronts_per_request.value_or(0));
}

bool alike(const AccessSide& a, const AccessSide& b) {
    const auto same = [](const std::optional<double>& x, const std::optional<double>& y) {
        return x.has_value() == y.has_value() && (!x || std::abs(*x - *y) <= 1e-6 * std::max(std::abs(*x), std::abs(*y)));
    };
    return same(a.requests, b.requests) && same(a.sectors_per_request, b.sectors_per_request) && same(a.wavefronts_per_request, b.wavefronts_per_request);
}

std::vector<AccessDelta> access_deltas(const KernelRecord& base, const KernelRecord& head) {
    std::vector<AccessDelta> deltas;
    for (const auto& [b, h] : align(keys_of(base.kernel->facts), keys_of(head.kernel->facts))) {
        const AccessDescription& description = h ? head.kernel->facts.accesses[*h] : base.kernel->facts.accesses[*b];
        AccessDelta delta{description.op, std::string(to_string(description.space)), {}, {}};
        if (b) { delta.base = side_of(base, *b); }
        if (h) { delta.head = side_of(head, *h); }
        if (delta.base && delta.head && alike(*delta.base, *delta.head)) { continue; }
        deltas.push_back(std::move(delta));
    }
    std::stable_sort(deltas.begin(), deltas.end(), [](const AccessDelta& a, const AccessDelta& b) {
        const auto size = [](const AccessDelta& d) { return std::abs(traffic(d.head) - traffic(d.base)); };
        return size(a) > size(b);
    });
    return deltas;
}

std::vector<ClassDelta> class_deltas(const LaunchFacts& base, const LaunchFacts& head) {
    std::vector<ClassDelta> deltas;
    for (std::size_t i = 0; i < kClassNames.size(); ++i) {
        if (base.thread_ops[i] != head.thread_ops[i]) { deltas.push_back({std::string(kClassNames[i]), base.thread_ops[i], head.thread_ops[i]}); }
    }
    std::stable_sort(deltas.begin(), deltas.end(), [](const ClassDelta& a, const ClassDelta& b) { return std::abs(a.head - a.base) > std::abs(b.head - b.base); });
    return deltas;
}

/// Findings of the rules that `of` has more often than `other`.
std::vector<const Finding*> surplus(const KernelRecord& of, const KernelRecord& other) {
    std::map<std::string, std::size_t> there;
    for (const Finding& finding : other.result->findings) { ++there[finding.rule]; }
    std::map<std::string, std::size_t> here;
    for (const Finding& finding : of.result->findings) { ++here[finding.rule]; }
    std::vector<const Finding*> found;
    for (const Finding& finding : of.result->findings) {
        std::size_t& left = here[finding.rule];
        if (left <= there[finding.rule]) { continue; }
        --left;
        found.push_back(&finding);
    }
    return found;
}

std::string summary_of(const KernelDiff& diff) {
    for (const Change& change : diff.check->changes) {
        if (change.metric != Metric::time_us || change.budget || !change.base || !change.head || *change.base <= 0) { continue; }
        const double delta = *change.head - *change.base;
        std::string out = fmt::format("{:.3g} us {} time a launch ({:+.3g} %)", std::abs(delta), delta > 0 ? "more" : "less", 100 * (*change.head / *change.base - 1));
        if (!diff.time_terms.empty()) { out += fmt::format(", {:+.3g} us of it through {}", diff.time_terms.front().delta, diff.time_terms.front().path); }
        return out + ".";
    }
    return {};
}

}  // namespace

std::vector<KernelDiff> explain_changes(const CheckReport& report) {
    std::vector<KernelDiff> diffs;
    for (const KernelCheck& check : report.kernels) {
        KernelDiff& diff = diffs.emplace_back();
        diff.check = &check;
        const KernelRecord* const base = check.base;
        const KernelRecord* const head = check.head;
        if (base == nullptr || head == nullptr || base->own == nullptr || head->own == nullptr) {
            diff.summary = summary_of(diff);
            continue;
        }
        diff.explained = true;
        const auto& before = base->own->predicted;
        const auto& now = head->own->predicted;
        if (before && now) {
            diff.time_terms = term_deltas(before->time.total, now->time.total);
            if (before->power && now->power) { diff.energy_terms = term_deltas(*whole_term(*base->own), *whole_term(*head->own)); }
        }
        diff.accesses = access_deltas(*base, *head);
        if (base->own->facts && head->own->facts) { diff.instructions = class_deltas(*base->own->facts, *head->own->facts); }
        diff.fresh = surplus(*head, *base);
        diff.gone = surplus(*base, *head);
        diff.summary = summary_of(diff);
    }
    return diffs;
}

}  // namespace flipflop::gate
