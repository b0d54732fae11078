#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "flipflop/models.hpp"

namespace flipflop {

std::string_view to_string(Fold fold) {
    switch (fold) {
        case Fold::leaf: return "leaf";
        case Fold::sum: return "sum";
        case Fold::difference: return "difference";
        case Fold::product: return "product";
        case Fold::ratio: return "ratio";
        case Fold::max: return "max";
        case Fold::min: return "min";
        case Fold::norm: return "norm";
    }
    return "leaf";
}

std::string_view to_string(Basis basis) {
    switch (basis) {
        case Basis::measured: return "measured";
        case Basis::datasheet: return "datasheet";
        case Basis::fitted: return "fitted";
        case Basis::assumed: return "assumed";
        case Basis::derived: return "derived";
    }
    return "derived";
}

namespace {

double p_norm(const std::vector<double>& values, double p) {
    const double largest = *std::max_element(values.begin(), values.end());
    if (largest <= 0) return 0;
    double sum = 0;  // scaled by the largest: no overflow for any p
    for (double value : values) sum += std::pow(std::max(value, 0.0) / largest, p);
    return largest * std::pow(sum, 1 / p);
}

double combine(Fold how, const std::vector<double>& values, double p) {
    switch (how) {
        case Fold::sum: return std::accumulate(values.begin(), values.end(), 0.0);
        case Fold::difference: return values[0] - values[1];
        case Fold::product: return std::accumulate(values.begin(), values.end(), 1.0, std::multiplies<>());
        case Fold::ratio: return values[0] / values[1];
        case Fold::max: return *std::max_element(values.begin(), values.end());
        case Fold::min: return *std::min_element(values.begin(), values.end());
        case Fold::norm: return p_norm(values, p);
        case Fold::leaf: break;
    }
    return 0;
}

/// What a reader trusts least. Derived says only "computed", so it never weakens a term.
int weakness(Basis basis) {
    switch (basis) {
        case Basis::derived: return 0;
        case Basis::measured: return 1;
        case Basis::datasheet: return 2;
        case Basis::fitted: return 3;
        case Basis::assumed: return 4;
    }
    return 0;
}

}  // namespace

Term leaf(std::string id, double value, std::string unit, Basis basis, std::string source) {
    Term term;
    term.id = std::move(id);
    term.value = value;
    term.unit = std::move(unit);
    term.basis = basis;
    term.source = std::move(source);
    return term;
}

Term fold(std::string id, std::string unit, Fold how, std::vector<Term> parts, double p) {
    Term term;
    term.id = std::move(id);
    term.unit = std::move(unit);
    term.fold = how;
    term.p = p;
    std::vector<double> values;
    values.reserve(parts.size());
    for (const Term& part : parts) {
        values.push_back(part.value);
        if (weakness(part.basis) > weakness(term.basis)) term.basis = part.basis;
    }
    term.value = combine(how, values, p);
    term.parts = std::move(parts);
    return term;
}

double refold(const Term& term) {
    if (term.fold == Fold::leaf) return term.value;
    std::vector<double> values;
    values.reserve(term.parts.size());
    for (const Term& part : term.parts) values.push_back(refold(part));
    return combine(term.fold, values, term.p);
}

}  // namespace flipflop
