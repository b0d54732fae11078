// Which coefficients the rows tell, their values, and what the fit says of rows that it did not see.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "advise/complaints.hpp"
#include "calibrate/document.hpp"
#include "calibrate/parameters.hpp"
#include "calibrate/robust_fit.hpp"
#include "calibrate/rows.hpp"
#include "models/power_numbers.hpp"
#include "models/time_numbers.hpp"

namespace flipflop::calibrate {
namespace {

using advise::complain;

constexpr double kWidest = 0.5;         // standard error of a logarithm: wider, and the rows say less than half of what the literature leaves open
constexpr double kLiterature = 0.7;     // of the logarithm that a fit starts from: published energies of one thing differ by a factor of three
constexpr double kMostInflation = 400;  // of the variance by the other coefficients: a correlation of 0.9987
constexpr double kLeastEffect = 0.01;   // a coefficient that halves or doubles no row by a per cent is not in them
constexpr double kWorthIt = 0.95;       // of the error on rows left out: a fit that does not lower it is none
constexpr std::size_t kRowsEach = 3;    // rows a coefficient, at least

/// One quantity of all rows as a function of coefficients: what is fixed in a row is worked out once.
class Quantity {
public:
    Quantity(std::string name, const std::vector<Row>& rows, Machine machine) : name_(std::move(name)), machine_(std::move(machine)) {
        for (const Row& row : rows) {
            if (name_ == "time" ? !row.reading.time_us : !row.reading.power_w) continue;
            Fixed fixed;
            fixed.row = &row;
            if (name_ == "power") {
                const BlockWork work = block_work(row.kernel, row.launch, row.use, machine_, true, row.reading.clock_mhz);
                fixed.counts = energy_counts(row.launch, work.memory, machine_);
                fixed.power.time = time_numbers(work, row.use, machine_, row.reading.clock_mhz);
                // Energies are fitted over the measured time: an error of the predicted time must not end up in a picojoule.
                if (row.reading.time_us) {
                    const double stretch = *row.reading.time_us / fixed.power.time.total_us;
                    fixed.power.time.total_us *= stretch;
                    fixed.power.time.execution_us *= stretch;
                }
            }
            rows_.push_back(std::move(fixed));
        }
    }

    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    [[nodiscard]] const Reading& reading(std::size_t i) const { return rows_[i].row->reading; }
    [[nodiscard]] const Machine& machine() const { return machine_; }

    /// ln(measured / predicted) of the rows in `which`.
    void residuals(const std::vector<const Parameter*>& fitted, std::span<const double> values, const std::vector<std::size_t>& which, std::span<double> out) const {
        Machine machine = machine_;
        for (std::size_t i = 0; i < fitted.size(); ++i) fitted[i]->set(machine, values[i]);
        for (std::size_t i = 0; i < which.size(); ++i) out[i] = residual(rows_[which[i]], machine);
    }

private:
    struct Fixed { const Row* row{}; EnergyCounts counts; PowerNumbers power; };

    [[nodiscard]] double residual(const Fixed& fixed, const Machine& machine) const {
        const Row& row = *fixed.row;
        if (name_ == "time") {
            const BlockWork work = block_work(row.kernel, row.launch, row.use, machine, true, row.reading.clock_mhz);
            return std::log(*row.reading.time_us / time_numbers(work, row.use, machine, row.reading.clock_mhz).total_us);
        }
        PowerNumbers power = fixed.power;
        demand(power, joules(fixed.counts, machine), machine, row.reading.clock_mhz);
        return std::log(*row.reading.power_w / std::max(power.power_w, 1e-9));
    }

    std::string name_;
    Machine machine_;
    std::vector<Fixed> rows_;
};

struct Solved { std::vector<const Parameter*> fitted; Fit fit; };

class Calibration {
public:
    Calibration(const Quantity& quantity, std::string name, const Earlier& earlier) : quantity_(quantity), name_(std::move(name)), earlier_(earlier) {}

    /// Drops the worst told coefficient until all that are left are told; empty where none is.
    Solved solve(std::vector<const Parameter*> candidates, Outcome& outcome) {
        const auto refuse = [&](std::size_t i, std::string reason) {
            outcome.refused.push_back({std::string(candidates[i]->key), std::move(reason)});
            candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(i));
        };
        for (std::size_t i = candidates.size(); i-- > 0;) {
            const bool known = earlier_.value(name_, candidates[i]->key).has_value();
            if (start_of(*candidates[i], quantity_.machine()) <= 0) refuse(i, "the models have no such term for this board");
            else if (!known && effect_of(*candidates[i]) < kLeastEffect) refuse(i, fmt::format("no row depends on it by {:.0f} %", kLeastEffect * 100));
        }
        while (!candidates.empty() && quantity_.size() + earlier_.rows(name_) < kRowsEach * candidates.size())
            refuse(candidates.size() - 1, fmt::format("{} rows are too few for {} coefficients", quantity_.size(), candidates.size()));
        while (!candidates.empty()) {
            Fit fit = fit_rows(candidates, all());
            const auto worst = worst_of(candidates, fit);
            if (!worst) return {candidates, std::move(fit)};
            refuse(worst->first, worst->second);
        }
        return {};
    }

    /// Folds: whole kernels where there are three and more, else configurations in five parts.
    HeldOut hold_out(const Solved& solved) const {
        HeldOut held;
        held.quantity = name_;
        std::set<std::string> kernels;
        for (std::size_t i = 0; i < quantity_.size(); ++i) kernels.insert(quantity_.reading(i).kernel);
        held.kernels = kernels.size();
        held.rows = quantity_.size();
        held.split = kernels.size() >= 3 ? "kernel" : "configuration";
        std::map<std::string, std::vector<std::size_t>> folds;
        for (std::size_t i = 0; i < quantity_.size(); ++i) folds[fold_of(held.split, i)].push_back(i);
        std::vector<double> sizes;
        double sum = 0, before = 0;
        for (const auto& [name, mine] : folds) {
            std::vector<std::size_t> others;
            for (std::size_t i = 0; i < quantity_.size(); ++i)
                if (fold_of(held.split, i) != name) others.push_back(i);
            std::vector<double> out(mine.size()), unfitted(mine.size());
            const Fit fit = fit_rows(solved.fitted, others);
            quantity_.residuals(solved.fitted, fit.values, mine, out);
            quantity_.residuals({}, {}, mine, unfitted);
            double mean = 0;
            for (std::size_t i = 0; i < mine.size(); ++i) {
                mean += std::abs(std::exp(-out[i]) - 1);
                before += std::abs(std::exp(-unfitted[i]) - 1);
                sizes.push_back(std::abs(out[i]));
            }
            sum += mean;
            held.mape[name] = mean / static_cast<double>(mine.size());
        }
        held.mean = sum / static_cast<double>(quantity_.size());
        held.before = before / static_cast<double>(quantity_.size());
        std::sort(sizes.begin(), sizes.end());
        constexpr double kShare = 0.9, kNinety = 1.645;
        held.log_sigma = sizes[static_cast<std::size_t>(kShare * static_cast<double>(sizes.size() - 1))] / kNinety;
        return held;
    }

private:
    [[nodiscard]] std::vector<std::size_t> all() const {
        std::vector<std::size_t> rows(quantity_.size());
        std::iota(rows.begin(), rows.end(), 0);
        return rows;
    }

    [[nodiscard]] std::string fold_of(const std::string& split, std::size_t i) const {
        const Reading& reading = quantity_.reading(i);
        if (split == "kernel") return reading.kernel;
        std::uint64_t hash = 1469598103934665603ULL;   // FNV-1a: the same everywhere
        for (const char c : reading.configuration) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
        return fmt::format("part {} of 5", hash % 5 + 1);
    }

    [[nodiscard]] double effect_of(const Parameter& parameter) const {
        const std::vector<std::size_t> rows = all();
        std::vector<double> low(rows.size()), high(rows.size());
        const double start = start_of(parameter, quantity_.machine());
        const std::vector<const Parameter*> one{&parameter};
        const std::array<double, 1> down{start * std::max(0.5, parameter.down)}, up{start * std::min(2.0, parameter.up)};
        quantity_.residuals(one, down, rows, low);
        quantity_.residuals(one, up, rows, high);
        double most = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) most = std::max(most, std::abs(low[i] - high[i]));
        return most;
    }

    [[nodiscard]] Fit fit_rows(const std::vector<const Parameter*>& fitted, const std::vector<std::size_t>& rows) const {
        Problem problem;
        for (const Parameter* parameter : fitted) {
            const double start = start_of(*parameter, quantity_.machine());
            problem.unknowns.push_back({std::string(parameter->key), earlier_.value(name_, parameter->key).value_or(start), start * parameter->down, start * parameter->up});
        }
        problem.rows = rows.size();
        problem.residuals = [&](std::span<const double> values, std::span<double> out) { quantity_.residuals(fitted, values, rows, out); };
        Prior start{std::vector<double>(fitted.size()), Matrix(fitted.size())};
        for (std::size_t i = 0; i < fitted.size(); ++i) {
            start.at[i] = std::log(start_of(*fitted[i], quantity_.machine()));
            start.precision.at(i, i) = 1 / (kLiterature * kLiterature);
        }
        problem.prior = std::move(start);
        // How much these rows scatter is theirs to say: what they and the earlier fit disagree about is no scatter.
        if (const auto earlier = earlier_.prior(name_, fitted)) return combine(robust_fit(problem), *earlier, problem.unknowns);
        return robust_fit(problem);
    }

    /// How far the rows are from telling a coefficient; above 1 they do not.
    static double badness(const Fit& fit, std::size_t i) { return std::max({fit.inflation[i] / kMostInflation, fit.standard_error[i] / kWidest, fit.at_bound[i] ? 1.5 : 0.0}); }

    /// The coefficient that the rows tell least, where that is too little, and why. Of two that are alike the one earlier in the table stays.
    [[nodiscard]] std::optional<std::pair<std::size_t, std::string>> worst_of(const std::vector<const Parameter*>& fitted, const Fit& fit) const {
        constexpr double kHopeless = 2.5;   // of a standard error: the rows say nothing
        std::size_t worst = fitted.size();
        for (std::size_t i = fitted.size(); i-- > 0;)
            if (badness(fit, i) > 1 && (worst == fitted.size() || badness(fit, i) > badness(fit, worst) * 1.0001)) worst = i;
        if (worst == fitted.size()) return std::nullopt;
        std::size_t twin = fit.partner[worst];
        if (twin > worst && badness(fit, twin) > 1) std::swap(worst, twin);
        const double error = fit.standard_error[worst];
        if (fit.inflation[worst] > kMostInflation && fitted.size() > 1) return std::pair(worst, fmt::format("the rows do not tell it apart from {}", fitted[twin]->key));
        if (error > kWidest) return std::pair(worst, error > kHopeless ? "the rows say nothing of it" : fmt::format("the rows leave it open by a factor of {:.2g}", std::exp(1.645 * error)));
        return std::pair(worst, fmt::format("it runs to its bound, {:.4g} {}", fit.values[worst], fitted[worst]->unit));
    }

    const Quantity& quantity_;
    std::string name_;
    const Earlier& earlier_;
};

/// The parameters that the options name, in the table's order.
Result<std::vector<const Parameter*>> chosen(const std::vector<std::string>& names, std::string_view quantity) {
    for (const std::string& name : names)
        if (name != "power" && name != "time" && !find_parameter(name)) {
            std::string known;
            for (const Parameter& parameter : parameters()) known += fmt::format("{}{}", known.empty() ? "" : ", ", parameter.key);
            return tl::unexpected(complain("FF0795", kSubject, fmt::format("--fit {}: no such coefficient", name), "power, time, or one of " + known));
        }
    std::vector<const Parameter*> result;
    for (const Parameter& parameter : parameters()) {
        const bool asked = names.empty() || std::find(names.begin(), names.end(), parameter.key) != names.end() || std::find(names.begin(), names.end(), parameter.quantity) != names.end();
        if (parameter.quantity == quantity && asked) result.push_back(&parameter);
    }
    return result;
}

void keep(Outcome& outcome, const std::string& name, const Solved& solved, const Machine& start) {
    Machine fitted = start;
    for (std::size_t i = 0; i < solved.fitted.size(); ++i) {
        const Parameter& parameter = *solved.fitted[i];
        parameter.set(fitted, solved.fit.values[i]);
        outcome.fitted.push_back({std::string(parameter.key), std::string(parameter.unit), {}, solved.fit.values[i], solved.fit.standard_error[i], name});
        for (const Tied& tie : tied())
            if (tie.follows == parameter.key && tie.get(start) > 0)
                outcome.fitted.push_back({std::string(tie.key), std::string(tie.unit), std::string(tie.follows), tie.get(start) * solved.fit.values[i] / parameter.get(start), solved.fit.standard_error[i], name});
    }
}

/// The first coefficient that was asked for by name and is refused.
std::optional<Refused> asked_and_refused(const Options& options, const Outcome& outcome) {
    for (const Refused& refused : outcome.refused)
        if (std::find(options.coefficients.begin(), options.coefficients.end(), refused.key) != options.coefficients.end()) return refused;
    return std::nullopt;
}

std::string all_refused(const Outcome& outcome) {
    std::string text;
    for (const Refused& refused : outcome.refused) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", refused.key, refused.reason);
    return text;
}

}  // namespace

Result<Outcome> calibrate(const std::vector<validate::Table>& tables, const std::vector<Input>& kernels, const GpuProfile& gpu, const Options& options) {
    Outcome outcome;
    outcome.gpu = gpu.id;
    const auto earlier = read_earlier(options.update, options.update_path, gpu.id);
    if (!earlier) return tl::unexpected(earlier.error());
    auto rows = read_rows(tables, kernels, gpu, options);
    if (!rows) return tl::unexpected(rows.error());
    outcome.left_out.assign(rows->left_out.begin(), rows->left_out.end());
    outcome.rows = rows->rows.size();
    if (rows->rows.empty()) {
        std::string why;
        for (const auto& [reason, n] : outcome.left_out) why += fmt::format("{}{} {}", why.empty() ? "" : ", ", n, reason);
        return tl::unexpected(complain("FF0792", kSubject, "no row can be fitted: " + (why.empty() ? "the tables are empty" : why), rows->first_problem.empty() ? "--kernels FILE gives the code that the rows ran" : rows->first_problem));
    }
    // What the board's own fit says must not bias a new one: it starts from the profile.
    GpuProfile bare = gpu;
    bare.id += " as described";
    std::vector<Information> information;
    for (const char* name : {"power", "time"}) {
        const auto candidates = chosen(options.coefficients, name);
        if (!candidates) return tl::unexpected(candidates.error());
        const Quantity quantity(name, rows->rows, make_machine(bare));
        if (candidates->empty() || quantity.size() == 0) continue;
        Calibration calibration(quantity, name, *earlier);
        const Solved solved = calibration.solve(*candidates, outcome);
        if (const auto refused = asked_and_refused(options, outcome)) return tl::unexpected(complain("FF0793", kSubject, fmt::format("{} cannot be fitted: {}", refused->key, refused->reason)));
        if (solved.fitted.empty()) continue;
        HeldOut held = calibration.hold_out(solved);
        if (held.mean > kWorthIt * held.before && earlier->rows(name) == 0) {
            for (const Parameter* parameter : solved.fitted)
                outcome.refused.push_back({std::string(parameter->key), fmt::format("the fit is off by {:.1f} % on rows left out, without it by {:.1f} %", held.mean * 100, held.before * 100)});
            continue;
        }
        keep(outcome, name, solved, quantity.machine());
        outcome.updated_rows += earlier->rows(name);
        outcome.held_out.push_back(std::move(held));
        information.push_back({name, solved.fitted, solved.fit.information, quantity.size() + earlier->rows(name)});
    }
    if (outcome.fitted.empty()) return tl::unexpected(complain("FF0793", kSubject, "the rows tell no coefficient: " + all_refused(outcome), "more kernels, intensities or clocks"));
    outcome.json = document(outcome, information, *earlier, tables);
    return outcome;
}

}  // namespace flipflop::calibrate
