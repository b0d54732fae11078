#include "tuning/space.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

namespace flipflop::tuning {

namespace {

constexpr std::size_t kMostValues = 65'535;
constexpr std::size_t kMostParameters = 256;
constexpr std::uint64_t kMostStates = 4'000'000;      ///< prefixes whose completions are counted
constexpr std::uint64_t kMostTable = 4'000'000;       ///< combinations whose answers are kept, of one condition
constexpr std::uint64_t kMostCounting = 4'000'000;    ///< evaluations of conditions while counting; some seconds
constexpr std::uint64_t kMostListing = 60'000'000;    ///< and while listing
constexpr std::uint64_t kMostTries = 2'000'000;       ///< draws of a sample where nothing is counted
constexpr std::uint64_t kFull = ~std::uint64_t{0} >> 1;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    std::uint64_t r = 0;
    return __builtin_mul_overflow(a, b, &r) || r > kFull ? kFull : r;
}
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return std::min(kFull, a + b); }

Diagnostic wrong(const char* id, const std::string& file, std::string message, std::string help = {}) {
    Diagnostic d;
    d.id = id;
    d.file = file;
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

/// splitmix64 (Steele, Lea, Flood 2014): the same numbers on every machine, which std's distributions do not promise.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    /// 0 to `most`, each equally likely.
    std::uint64_t up_to(std::uint64_t most) {
        if (most == ~std::uint64_t{0}) return next();
        const std::uint64_t range = most + 1, limit = ~std::uint64_t{0} - (~std::uint64_t{0} % range + 1) % range;
        std::uint64_t drawn = next();
        while (drawn > limit) drawn = next();
        return drawn % range;
    }

private:
    std::uint64_t state_;
};

}  // namespace

struct Space::Counter {
    /// A condition with its answers so far, by the combination of the values it looks at.
    struct Test {
        std::vector<std::uint32_t> parameters;
        std::vector<std::uint64_t> strides;
        std::vector<std::uint8_t> known;     ///< 0 not asked yet, 1 holds, 2 does not; empty: too many to keep
    };
    /// Parameters that conditions tie together, in the space's order.
    struct Group {
        std::vector<std::uint32_t> members;
        /// By place: the members up to there that a later condition still looks at, and the counts known.
        std::vector<std::vector<std::uint32_t>> waiting;
        std::vector<std::unordered_map<std::uint64_t, std::uint64_t>> completions;
    };

    std::vector<Parameter> parameters;
    std::vector<Expression> conditions;
    std::vector<Test> tests;
    std::vector<std::vector<std::uint32_t>> tests_at;        ///< by parameter: tests that it completes
    std::vector<Group> groups;
    std::vector<std::uint32_t> group_of, place_of;           ///< by parameter
    std::optional<Diagnostic> error;
    std::uint64_t states{}, evaluations{};
    bool overrun{}, counted{};

    bool ask(std::size_t index, const std::uint16_t* c) {
        Test& test = tests[index];
        std::uint64_t at = 0;
        for (std::size_t i = 0; i < test.parameters.size(); ++i) at += test.strides[i] * c[test.parameters[i]];
        if (!test.known.empty() && test.known[at] != 0) return test.known[at] == 1;
        ++evaluations;
        std::array<const Value*, 16> few{};
        std::vector<const Value*> many;
        const Value** values = few.data();
        if (test.parameters.size() > few.size()) {
            many.resize(test.parameters.size());
            values = many.data();
        }
        for (std::size_t i = 0; i < test.parameters.size(); ++i) values[i] = &parameters[test.parameters[i]].values[c[test.parameters[i]]];
        const auto value = conditions[index].evaluate({values, test.parameters.size()});
        if (!value) {
            if (!error) {
                error = value.error();
                for (std::size_t i = 0; i < test.parameters.size(); ++i)
                    error->help += fmt::format("{}{} = {}", i == 0 ? "with " : ", ", parameters[test.parameters[i]].name, values[i]->literal());
            }
            return false;
        }
        const bool holds = value->truthy();
        if (!test.known.empty()) test.known[at] = holds ? 1 : 2;
        return holds;
    }

    /// Whether every condition that parameter `p` completes holds.
    bool holds(std::uint32_t p, const std::uint16_t* c) {
        for (const std::uint32_t test : tests_at[p])
            if (!ask(test, c)) return false;
        return true;
    }

    /// How many ways the members of `g` from `place` on can be chosen, given those before in `c`. Writes behind them.
    std::uint64_t completions(Group& g, std::size_t place, std::uint16_t* c) {
        if (place == g.members.size()) return 1;
        std::uint64_t key = 0;
        for (const std::uint32_t p : g.waiting[place]) key = key * parameters[p].values.size() + c[p];
        if (const auto known = g.completions[place].find(key); known != g.completions[place].end()) return known->second;
        if (++states > kMostStates) overrun = true;
        if (overrun || error) return 0;
        const std::uint32_t p = g.members[place];
        std::uint64_t total = 0;
        for (std::size_t v = 0; v < parameters[p].values.size() && !overrun && !error; ++v) {
            c[p] = static_cast<std::uint16_t>(v);
            if (holds(p, c)) total = plus(total, completions(g, place + 1, c));
            if (evaluations > kMostCounting && !counted) overrun = true;
        }
        if (!overrun && !error) g.completions[place].emplace(key, total);
        return total;
    }

    /// Every group's count; the product is the space's. Nothing where counting costs too much.
    std::optional<std::uint64_t> total() {
        std::vector<std::uint16_t> c(parameters.size());
        std::uint64_t all = 1;
        for (Group& g : groups) all = times(all, completions(g, 0, c.data()));
        counted = !overrun && !error;
        return counted ? std::optional(all) : std::nullopt;
    }

    void unrank(std::uint64_t index, std::uint16_t* c) {
        for (std::size_t i = groups.size(); i-- > 0;) {
            Group& g = groups[i];
            const std::uint64_t count = completions(g, 0, c);
            unrank_in(g, index % count, c);
            index /= count;
        }
    }
    void unrank_in(Group& g, std::uint64_t index, std::uint16_t* c) {
        for (std::size_t place = 0; place < g.members.size(); ++place) {
            const std::uint32_t p = g.members[place];
            for (std::size_t v = 0; v < parameters[p].values.size(); ++v) {
                c[p] = static_cast<std::uint16_t>(v);
                if (!holds(p, c)) continue;
                // Counting writes to the members behind `place` only.
                const std::uint64_t below = completions(g, place + 1, c);
                c[p] = static_cast<std::uint16_t>(v);
                if (index < below) break;
                index -= below;
            }
        }
    }

    /// Nested loops; a prefix that cannot be completed is left at once.
    bool list(std::uint64_t most, Configurations& out) {
        const std::size_t width = parameters.size();
        std::vector<std::uint16_t> c(width), scratch(width);
        std::vector<std::size_t> next(width);
        std::size_t depth = 0;
        std::uint64_t steps = 0;
        for (;;) {
            if (next[depth] == parameters[depth].values.size()) {
                next[depth] = 0;
                if (depth == 0) return true;
                --depth;
                continue;
            }
            const auto p = static_cast<std::uint32_t>(depth);
            c[depth] = static_cast<std::uint16_t>(next[depth]++);
            if (++steps > kMostStates * 100 || evaluations > kMostListing) overrun = true;
            if (error || overrun) return false;
            if (!holds(p, c.data()) || !can_end(p, c, scratch)) continue;
            if (depth + 1 < width) {
                ++depth;
                continue;
            }
            if (out.size() == most) return false;
            out.add(c.data());
        }
    }
    bool can_end(std::uint32_t p, const std::vector<std::uint16_t>& c, std::vector<std::uint16_t>& scratch) {
        if (!counted) return true;
        Group& g = groups[group_of[p]];
        const std::size_t place = place_of[p] + 1;
        if (place == g.members.size()) return true;
        std::uint64_t key = 0;
        for (const std::uint32_t w : g.waiting[place]) key = key * parameters[w].values.size() + c[w];
        if (const auto known = g.completions[place].find(key); known != g.completions[place].end()) return known->second > 0;
        scratch = c;
        return completions(g, place, scratch.data()) > 0;
    }

    void group_up();
    void prepare_tests();
};

void Space::Counter::prepare_tests() {
    tests_at.resize(parameters.size());
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        Test test;
        std::uint64_t stride = 1;
        std::uint32_t last = 0;
        for (const std::string& name : conditions[i].names()) {
            const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
            const auto p = static_cast<std::uint32_t>(found - parameters.begin());
            test.parameters.push_back(p);
            test.strides.push_back(stride);
            stride = times(stride, found->values.size());
            last = std::max(last, p);
        }
        if (stride <= kMostTable) test.known.assign(stride, 0);
        tests.push_back(std::move(test));
        tests_at[last].push_back(static_cast<std::uint32_t>(i));
    }
    // Cheap ones first: fewer parameters are asked fewer times.
    for (auto& at : tests_at)
        std::stable_sort(at.begin(), at.end(), [&](std::uint32_t a, std::uint32_t b) { return tests[a].parameters.size() < tests[b].parameters.size(); });
}

void Space::Counter::group_up() {
    const std::size_t width = parameters.size();
    std::vector<std::uint32_t> root(width);
    for (std::uint32_t i = 0; i < width; ++i) root[i] = i;
    const auto find = [&](std::uint32_t i) {
        while (root[i] != i) i = root[i];
        return i;
    };
    for (const Test& test : tests)
        for (std::size_t i = 1; i < test.parameters.size(); ++i) {
            const std::uint32_t a = find(test.parameters[0]), b = find(test.parameters[i]);
            root[std::max(a, b)] = std::min(a, b);
        }
    group_of.resize(width);
    place_of.resize(width);
    std::vector<std::uint32_t> group_at(width, ~0U);
    for (std::uint32_t p = 0; p < width; ++p) {
        const std::uint32_t r = find(p);
        if (group_at[r] == ~0U) {
            group_at[r] = static_cast<std::uint32_t>(groups.size());
            groups.emplace_back();
        }
        group_of[p] = group_at[r];
        Group& g = groups[group_of[p]];
        place_of[p] = static_cast<std::uint32_t>(g.members.size());
        g.members.push_back(p);
    }
    for (Group& g : groups) {
        g.waiting.resize(g.members.size() + 1);
        g.completions.resize(g.members.size() + 1);
        for (std::size_t place = 0; place < g.members.size(); ++place) {
            std::set<std::uint32_t> waiting;
            for (std::size_t later = place; later < g.members.size(); ++later)
                for (const std::uint32_t test : tests_at[g.members[later]])
                    for (const std::uint32_t p : tests[test].parameters)
                        if (p < g.members[place]) waiting.insert(p);
            g.waiting[place].assign(waiting.begin(), waiting.end());
            // Where the combinations do not fit into a key, nothing is shared and nothing can be counted.
            std::uint64_t keys = 1;
            for (const std::uint32_t p : g.waiting[place]) keys = times(keys, parameters[p].values.size());
            if (keys >= kFull) overrun = true;
        }
    }
}

Space::Space() = default;
Space::~Space() = default;
Space::Space(Space&&) noexcept = default;
Space& Space::operator=(Space&&) noexcept = default;

Result<Space> Space::make(std::vector<Parameter> parameters, std::vector<Expression> conditions, const std::string& file) {
    if (parameters.empty()) return tl::unexpected(wrong("FF0843", file, "there is no tuning parameter"));
    if (parameters.size() > kMostParameters) return tl::unexpected(wrong("FF0843", file, fmt::format("there are more than {} tuning parameters", kMostParameters)));
    std::set<std::string> names;
    for (const Parameter& p : parameters) {
        if (!names.insert(p.name).second) return tl::unexpected(wrong("FF0843", file, fmt::format("the tuning parameter '{}' is there twice", p.name)));
        if (p.values.empty()) return tl::unexpected(wrong("FF0843", file, fmt::format("the tuning parameter '{}' has no values", p.name), "give at least one: \"Values\": \"[1]\""));
        if (p.values.size() > kMostValues) return tl::unexpected(wrong("FF0843", file, fmt::format("the tuning parameter '{}' has more than {} values", p.name, kMostValues)));
    }
    for (const Expression& condition : conditions)
        for (const std::string& name : condition.names())
            if (!names.contains(name)) return tl::unexpected(wrong("FF0842", file, fmt::format("the condition '{}' names '{}', which is no tuning parameter", condition.text(), name)));
    Space space;
    space.counter_ = std::make_unique<Counter>();
    space.counter_->parameters = std::move(parameters);
    space.counter_->conditions = std::move(conditions);
    space.counter_->prepare_tests();
    space.counter_->group_up();
    return space;
}

const std::vector<Parameter>& Space::parameters() const { return counter_->parameters; }
const std::vector<Expression>& Space::conditions() const { return counter_->conditions; }

std::optional<std::size_t> Space::find(std::string_view name) const {
    for (std::size_t i = 0; i < parameters().size(); ++i)
        if (parameters()[i].name == name) return i;
    return std::nullopt;
}

Result<Space::Count> Space::count() const {
    Count count;
    count.product = 1;
    for (const Parameter& p : parameters()) count.product *= static_cast<double>(p.values.size());
    count.exact = counter_->total();
    if (counter_->error) return tl::unexpected(*counter_->error);
    count.beyond = count.exact && *count.exact >= kFull;
    if (count.beyond) count.exact.reset();   // the count stopped there
    return count;
}

Result<Configurations> Space::all(std::uint64_t most) const {
    const auto counted = count();
    if (!counted) return tl::unexpected(counted.error());
    const auto refuse = [&](const std::string& many) {
        return tl::unexpected(wrong("FF0844", "", fmt::format("the space has {} configurations; at most {} are compiled and ranked in one run", many, most),
                                    "--sample 200 takes 200 at random (--seed makes it another 200); --configs FILE.csv names them"));
    };
    if (counted->beyond) return refuse(fmt::format("more than 9.2e18 (of {:.3g} without conditions)", counted->product));
    if (counted->exact && *counted->exact > most) return refuse(std::to_string(*counted->exact));
    if (!counted->exact && counted->product > 1e9) return refuse(fmt::format("up to {:.3g}", counted->product));
    Configurations out;
    out.width = parameters().size();
    if (counted->exact) out.flat.reserve(static_cast<std::size_t>(*counted->exact) * out.width);
    if (counter_->list(most, out)) return out;
    if (counter_->error) return tl::unexpected(*counter_->error);
    return refuse(fmt::format("more than {}", out.size()));
}

Result<Configurations> Space::sample(std::uint64_t wanted, std::uint64_t seed) const {
    const auto counted = count();
    if (!counted) return tl::unexpected(counted.error());
    if (counted->exact && *counted->exact <= wanted) return all(wanted);
    Counter& counter = *counter_;
    const std::size_t width = parameters().size();
    Random random(seed);
    std::set<std::vector<std::uint16_t>> chosen;
    std::vector<std::uint16_t> c(width);
    if (counted->exact) {
        // Floyd's way to draw without replacement (Bentley 1987), in steps that do not depend on the size of the space.
        std::set<std::uint64_t> indices;
        for (std::uint64_t last = *counted->exact - wanted; last < *counted->exact; ++last)
            if (!indices.insert(random.up_to(last)).second) indices.insert(last);
        for (const std::uint64_t index : indices) {
            counter.unrank(index, c.data());
            chosen.insert(c);
        }
    } else if (counted->beyond && std::none_of(counter.groups.begin(), counter.groups.end(), [&](Counter::Group& g) { return counter.completions(g, 0, c.data()) >= kFull; })) {
        // Parameters that share no condition are drawn apart; two draws of so many are hardly ever the same.
        while (chosen.size() < wanted) {
            for (Counter::Group& g : counter.groups) counter.unrank_in(g, random.up_to(counter.completions(g, 0, c.data()) - 1), c.data());
            chosen.insert(c);
        }
    } else {
        for (std::uint64_t tries = 0; chosen.size() < wanted && tries < kMostTries && !counter.error; ++tries) {
            bool good = true;
            for (std::uint32_t p = 0; p < width && good; ++p) {
                c[p] = static_cast<std::uint16_t>(random.up_to(parameters()[p].values.size() - 1));
                good = counter.holds(p, c.data());
            }
            if (good) chosen.insert(c);
        }
    }
    if (counter.error) return tl::unexpected(*counter.error);
    Configurations out;
    out.width = width;
    for (const auto& one : chosen) out.add(one.data());
    return out;
}

Result<bool> Space::allows(const std::uint16_t* configuration) const {
    bool all = true;
    for (std::uint32_t p = 0; p < parameters().size() && all; ++p) all = counter_->holds(p, configuration);
    if (counter_->error) return tl::unexpected(*counter_->error);
    return all;
}

void Space::values_for(const Expression& expression, const std::uint16_t* configuration, std::vector<const Value*>& out) const {
    out.clear();
    for (const std::string& name : expression.names()) {
        const auto found = find(name);
        out.push_back(found ? &parameters()[*found].values[configuration[*found]] : nullptr);
    }
}

}  // namespace flipflop::tuning
