#include "attribution.hpp"

#include <algorithm>
#include <cmath>

namespace flipflop::advise {

namespace {

/// The two trees as one: a node has both values, and is a leaf where either is or where they cannot be paired.
struct Paired {
    const Term* shape{};
    double from{}, to{};
    Fold fold{Fold::leaf};
    double p{};
    std::vector<Paired> parts;
    double value{}, gradient{};      // scratch of one point on the line
    double delta{};
};

bool may_lack(Fold fold) { return fold == Fold::sum || fold == Fold::norm || fold == Fold::max; }

Paired single(const Term& term, bool is_from) {
    Paired node;
    node.shape = &term;
    (is_from ? node.from : node.to) = term.value;
    return node;
}

Paired pair_up(const Term& from, const Term& to) {
    Paired node;
    node.shape = &to;
    node.from = from.value;
    node.to = to.value;
    if (from.fold != to.fold || from.p != to.p || from.fold == Fold::leaf || from.parts.empty() || to.parts.empty()) return node;
    std::vector<Paired> parts;
    std::vector<bool> used(to.parts.size(), false);
    bool complete = true;
    for (const Term& part : from.parts) {
        std::size_t match = to.parts.size();
        for (std::size_t i = 0; i < to.parts.size() && match == to.parts.size(); ++i)
            if (!used[i] && to.parts[i].id == part.id) match = i;
        if (match < to.parts.size()) {
            used[match] = true;
            parts.push_back(pair_up(part, to.parts[match]));
        } else {
            complete = false;
            parts.push_back(single(part, true));
        }
    }
    for (std::size_t i = 0; i < to.parts.size(); ++i) {
        if (used[i]) continue;
        complete = false;
        parts.push_back(single(to.parts[i], false));
    }
    if (!complete && !may_lack(from.fold)) return node;
    node.fold = from.fold;
    node.p = from.p;
    node.parts = std::move(parts);
    return node;
}

double evaluate(Paired& node, double s) {
    if (node.parts.empty()) return node.value = node.from + s * (node.to - node.from);
    double value = node.fold == Fold::product ? 1 : 0;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        const double part = evaluate(node.parts[i], s);
        switch (node.fold) {
            case Fold::sum: value += part; break;
            case Fold::difference: value += i == 0 ? part : -part; break;
            case Fold::product: value *= part; break;
            case Fold::ratio: value = i == 0 ? part : part != 0 ? value / part : 0; break;
            case Fold::max: value = i == 0 ? part : std::max(value, part); break;
            case Fold::min: value = i == 0 ? part : std::min(value, part); break;
            case Fold::norm: value += std::pow(std::abs(part), node.p); break;
            case Fold::leaf: break;
        }
    }
    if (node.fold == Fold::norm) value = std::pow(value, 1 / node.p);
    return node.value = value;
}

void push_gradient(Paired& node, double gradient, double step) {
    if (node.parts.empty()) {
        node.delta += gradient * (node.to - node.from) * step;
        return;
    }
    bool chosen = false;      // of equal maxima the first takes it all
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        Paired& part = node.parts[i];
        double slope = 0;
        switch (node.fold) {
            case Fold::sum: slope = 1; break;
            case Fold::difference: slope = i == 0 ? 1 : -1; break;
            case Fold::product: {
                slope = 1;
                for (std::size_t j = 0; j < node.parts.size(); ++j)
                    if (j != i) slope *= node.parts[j].value;
                break;
            }
            case Fold::ratio: {
                const double over = node.parts[1].value;
                if (over != 0) slope = i == 0 ? 1 / over : -node.parts[0].value / (over * over);
                break;
            }
            case Fold::max:
            case Fold::min:
                if (!chosen && part.value == node.value) {
                    slope = 1;
                    chosen = true;
                }
                break;
            case Fold::norm:
                if (node.value > 0) slope = std::pow(std::abs(part.value) / node.value, node.p - 1) * (part.value < 0 ? -1 : 1);
                break;
            case Fold::leaf: break;
        }
        if (slope != 0) push_gradient(part, gradient * slope, step);
    }
}

double gather(Paired& node, double& absolute) {
    if (!node.parts.empty()) {
        node.delta = 0;
        for (Paired& part : node.parts) node.delta += gather(part, absolute);
    } else {
        absolute += std::abs(node.delta);
    }
    return node.delta;
}

/// What the finite number of points on the line leaves over goes to the leaves by the size of their shares.
void spread(Paired& node, double rest, double absolute) {
    if (node.parts.empty()) {
        node.delta += rest * std::abs(node.delta) / absolute;
        return;
    }
    node.delta = 0;
    for (Paired& part : node.parts) {
        spread(part, rest, absolute);
        node.delta += part.delta;
    }
}

Attribution convert(const Paired& node) {
    Attribution a{node.shape->id, node.shape->unit, node.from, node.to, node.delta, {}};
    for (const Paired& part : node.parts) a.parts.push_back(convert(part));
    return a;
}

}  // namespace

Attribution attribute(const Term& from, const Term& to) {
    Paired root = pair_up(from, to);
    constexpr int kPoints = 64;
    for (int k = 0; k < kPoints; ++k) {
        evaluate(root, (k + 0.5) / kPoints);
        push_gradient(root, 1, 1.0 / kPoints);
    }
    double absolute = 0;
    const double total = gather(root, absolute);
    if (absolute > 0) spread(root, (root.to - root.from) - total, absolute);
    else root.delta = root.to - root.from;
    return convert(root);
}

std::vector<const Attribution*> telling_terms(const Attribution& root, std::size_t most, double least_share) {
    std::vector<const Attribution*> cut{&root};
    for (std::size_t i = 0; i < cut.size() && cut.size() < 64;) {
        const Attribution& node = *cut[i];
        // Parts that cancel each other (a factor and its inverse) say less than the node itself.
        double absolute = 0;
        for (const Attribution& part : node.parts) absolute += std::abs(part.delta);
        if (node.parts.empty() || node.delta == 0 || absolute > 3 * std::abs(node.delta)) {
            ++i;
            continue;
        }
        const Attribution* opened = cut[i];
        cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(i));
        for (const Attribution& part : opened->parts)
            if (part.delta != 0) cut.push_back(&part);
    }
    std::stable_sort(cut.begin(), cut.end(), [](const Attribution* a, const Attribution* b) { return std::abs(a->delta) > std::abs(b->delta); });
    if (cut.size() > most) cut.resize(most);
    while (cut.size() > 1 && std::abs(cut.back()->delta) < least_share * std::abs(cut.front()->delta)) cut.pop_back();
    if (!cut.empty() && cut.front()->delta == 0) cut.clear();
    return cut;
}

}  // namespace flipflop::advise
