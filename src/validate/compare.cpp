// Joins predictions with measurements and scores them, set by set.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "flipflop/gpu.hpp"
#include "validate/statistics.hpp"

namespace flipflop::validate {
namespace {

constexpr std::size_t kSmallestSet = 3, kSmallestGroup = 3;

Diagnostic complain(std::string id, std::string message, std::string help = {}) {
    Diagnostic error;
    error.id = std::move(id);
    error.file = "validate";
    error.message = std::move(message);
    error.help = std::move(help);
    return error;
}

std::optional<double> number_of(const std::string& cell) {
    double value{};
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (cell.empty() || error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

/// The same value whatever it was written as: 16, 16.0; True, true.
std::string canonical(const std::string& cell) {
    if (const auto value = number_of(cell)) return fmt::format("{}", *value);
    if (cell == "True") return "true";
    if (cell == "False") return "false";
    return cell;
}

/// Boards are called many names; profiles know them.
std::string canonical_gpu(const std::string& cell, std::map<std::string, std::string>& known) {
    const auto found = known.find(cell);
    if (found != known.end()) return found->second;
    std::string name = cell;
    for (const std::string_view prefix : {"NVIDIA ", "GeForce ", "Tesla "})
        if (name.starts_with(prefix)) name.erase(0, prefix.size());
    for (const std::string& candidate : {cell, name})
        if (const auto gpu = load_gpu(candidate); gpu && candidate.find('/') == std::string::npos) return known[cell] = gpu->id;
    return known[cell] = name;
}

bool starts_with_any(const std::string& name, std::initializer_list<std::string_view> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// What a table found out, which two tables may share without it being a key.
bool is_result(const std::string& name) {
    static const std::set<std::string, std::less<>> kResults{
        "id", "module", "registers", "launchable", "why_not", "safe", "occupancy", "bound_by", "floor_time_us", "pareto", "kept", "recommended", "rank",
        "current", "heuristic", "error", "valid", "n_samples", "edp", "idle_mj", "above_idle_mj", "detail", "temperature_c", "mem_clock_mhz", "num_regs", "dynamic_shared_bytes"};
    return kResults.contains(name) || starts_with_any(name, {"time", "power_w", "power_low", "power_high", "energy", "dram_bytes", "l2_bytes", "p_within", "predicted_"});
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}
bool is_block_axis(const std::string& name) {
    const std::string plain = lower(name);
    return plain.size() > 2 && plain[plain.size() - 2] == '_' && plain.back() >= 'x' && plain.back() <= 'z' && starts_with_any(plain, {"block_"}) && plain.size() <= 12;
}
bool is_grid_axis(const std::string& name) { return lower(name).starts_with("grid_") && name.size() == 6; }

/// A quantity in one unit, from whichever column holds it.
struct Column {
    std::optional<std::size_t> at;
    double factor{1};
    [[nodiscard]] std::optional<double> of(const std::vector<std::string>& row) const {
        if (!at) return std::nullopt;
        const auto value = number_of(row[*at]);
        return value && *value > 0 ? std::optional(*value * factor) : std::nullopt;
    }
};
Column find_column(const Table& table, std::initializer_list<std::pair<std::string_view, double>> names) {
    for (const auto& [name, factor] : names)
        if (const auto at = table.column(name)) return {at, factor};
    return {};
}
Column quantity_column(const Table& table, std::string_view quantity) {
    if (quantity == "time") return find_column(table, {{"time_us", 1}, {"time_ms", 1e3}, {"time_s", 1e6}, {"time", 1e3}});
    if (quantity == "energy") return find_column(table, {{"energy_mj", 1}, {"energy_j", 1e3}});
    return find_column(table, {{"power_w", 1}});
}

struct Joined {
    const std::vector<std::string>* predicted{};
    std::vector<const std::vector<std::string>*> measured;   ///< repeats
    std::string set, gpu, kernel, problem, group;
    std::optional<double> threads;
};

class Comparison {
public:
    Comparison(const Table& predictions, const Table& measurements, const Options& options) : p_(predictions), m_(measurements), options_(options) {}

    Result<Report> run() {
        report_.predictions = p_.path;
        report_.measurements = m_.path;
        report_.prediction_rows = p_.rows.size();
        report_.measurement_rows = m_.rows.size();
        report_.keep_share = options_.keep_share;
        if (auto done = find_keys(); !done) return tl::unexpected(done.error());
        if (auto done = join(); !done) return tl::unexpected(done.error());
        for (const char* quantity : {"time", "energy", "power"}) score_sets(quantity);
        if (report_.sets.empty())
            return tl::unexpected(complain("FF0782", "no set of three rows or more has a predicted and a measured time, energy or power", "columns: time_us or time_ms, energy_mj or energy_j, power_w"));
        add_overall();
        return std::move(report_);
    }

private:
    Result<void> find_keys() {
        const auto filled = [](const Table& table, std::size_t column) { return std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return !row[column].empty(); }); };
        if (!options_.on.empty()) {
            for (const std::string& name : options_.on) {
                if (!p_.column(name) || !m_.column(name))
                    return tl::unexpected(complain("FF0781", fmt::format("--on {}: {} has no such column", name, p_.column(name) ? m_.path : p_.path)));
                report_.joined_on.push_back(name);
            }
        } else {
            for (std::size_t i = 0; i < p_.columns.size(); ++i) {
                const std::string& name = p_.columns[i];
                const auto other = m_.column(name);
                if (!other || is_result(name) || !filled(p_, i) || !filled(m_, *other)) continue;
                report_.joined_on.push_back(name);
            }
        }
        if (report_.joined_on.empty()) return tl::unexpected(complain("FF0781", "the tables share no column to join by", "they need the same parameters under the same names; --on a,b,c names them"));
        for (const std::string& name : report_.joined_on) keys_.push_back({*p_.column(name), *m_.column(name), name});
        const auto& all = m_.columns;
        if (!options_.block_columns.empty()) {
            for (const std::string& name : options_.block_columns)
                if (!m_.column(name)) return tl::unexpected(complain("FF0781", fmt::format("--block-columns {}: {} has no such column", name, m_.path)));
            report_.block_columns = options_.block_columns;
        } else {
            for (const std::string& name : all)
                if (is_block_axis(name)) report_.block_columns.push_back(name);
        }
        return {};
    }

    [[nodiscard]] std::string cell(const Table& table, const std::vector<std::string>& row, std::size_t column) {
        return table.columns[column] == "gpu" ? canonical_gpu(row[column], gpus_) : canonical(row[column]);
    }
    [[nodiscard]] std::string key_of(const Table& table, const std::vector<std::string>& row) {
        std::string key;
        for (const Key& k : keys_) key += cell(table, row, &table == &p_ ? k.predicted : k.measured) + '\x1f';
        return key;
    }
    [[nodiscard]] bool usable(const std::vector<std::string>& row) const {
        if (const auto valid = m_.column("valid"); valid && (row[*valid] == "0" || lower(row[*valid]) == "false")) return false;
        if (m_.column("valid")) return true;   // its `error` may then hold a caveat
        const auto error = m_.column("error");
        return !error || row[*error].empty();
    }

    Result<void> join() {
        std::map<std::string, std::size_t> by_key;
        for (const auto& row : p_.rows) {
            const std::string key = key_of(p_, row);
            const auto [at, fresh] = by_key.emplace(key, joined_.size());
            if (fresh) {
                joined_.emplace_back().predicted = &row;
            } else if (!same_prediction(*joined_[at->second].predicted, row)) {
                return tl::unexpected(complain("FF0783", fmt::format("two predictions of {} have the same {} and differ", p_.path, fmt::join(report_.joined_on, ", ")),
                                               "the tables need a column that tells them apart; --on names the columns"));
            }
        }
        for (const auto& row : m_.rows) {
            if (!usable(row)) {
                ++report_.invalid_measurements;
                continue;
            }
            const auto found = by_key.find(key_of(m_, row));
            if (found == by_key.end()) {
                ++report_.unmatched_measurements;
                continue;
            }
            joined_[found->second].measured.push_back(&row);
        }
        const std::size_t all = joined_.size();
        std::erase_if(joined_, [](const Joined& row) { return row.measured.empty(); });
        report_.unmatched_predictions = all - joined_.size();
        report_.joined = joined_.size();
        if (joined_.empty()) return tl::unexpected(nothing_joins());
        for (Joined& row : joined_) {
            report_.repeats += row.measured.size() - 1;
            describe(row);
        }
        if (report_.repeats > 0) report_.notes.push_back(fmt::format("{} measurements repeat a configuration: their median counts", report_.repeats));
        return {};
    }

    [[nodiscard]] bool same_prediction(const std::vector<std::string>& a, const std::vector<std::string>& b) const {
        for (const char* quantity : {"time", "energy", "power"}) {
            const Column column = quantity_column(p_, quantity);
            if (column.of(a) != column.of(b)) return false;
        }
        return true;
    }

    [[nodiscard]] Diagnostic nothing_joins() {
        std::string detail;
        for (const Key& key : keys_) {
            std::set<std::string> left, right;
            for (const auto& row : p_.rows) left.insert(cell(p_, row, key.predicted));
            for (const auto& row : m_.rows) right.insert(cell(m_, row, key.measured));
            const bool meet = std::any_of(left.begin(), left.end(), [&](const std::string& value) { return right.contains(value); });
            if (!meet) detail += fmt::format("; {}: '{}' in one, '{}' in the other", key.name, *left.begin(), *right.begin());
        }
        return complain("FF0781", fmt::format("no prediction has a measurement, joined on {}{}", fmt::join(report_.joined_on, ", "), detail), "--on a,b,c joins on other columns");
    }

    void describe(Joined& row) {
        const auto text = [&](std::string_view name) -> std::string {
            if (const auto at = m_.column(name)) return (*row.measured.front())[*at];
            if (const auto at = p_.column(name)) return (*row.predicted)[*at];
            return {};
        };
        row.gpu = text("gpu");
        row.kernel = text("kernel");
        row.problem = text("problem").empty() ? text("case") : text("problem");
        row.set = row.gpu + '\x1f' + row.kernel + '\x1f' + row.problem;
        const auto& cells = *row.measured.front();
        double threads = 1;
        bool any = false;
        const bool plain = m_.column("block_x").has_value();   // threads a block, beside parameters of other names
        for (std::size_t i = 0; i < m_.columns.size(); ++i) {
            const bool axis = plain ? starts_with_any(m_.columns[i], {"block_"}) && is_block_axis(m_.columns[i]) && m_.columns[i].size() == 7
                                    : std::find(report_.block_columns.begin(), report_.block_columns.end(), m_.columns[i]) != report_.block_columns.end();
            if (!axis) continue;
            if (const auto value = number_of(cells[i])) {
                threads *= *value;
                any = true;
            }
        }
        if (any) row.threads = threads;
        row.group = row.set;
        for (const Key& key : keys_) {
            const bool shape = std::find(report_.block_columns.begin(), report_.block_columns.end(), key.name) != report_.block_columns.end();
            if (!shape && !is_block_axis(key.name) && !is_grid_axis(key.name)) row.group += '\x1f' + cell(m_, cells, key.measured);
        }
    }

    struct Values { std::vector<const Joined*> rows; std::vector<double> predicted, measured; };

    void score_sets(const char* quantity) {
        const Column predicted = quantity_column(p_, quantity), measured = quantity_column(m_, quantity);
        if (!predicted.at || !measured.at) return;
        std::map<std::string, Values> sets;
        for (const Joined& row : joined_) {
            const auto value = predicted.of(*row.predicted);
            std::vector<double> repeats;
            for (const auto* cells : row.measured)
                if (const auto one = measured.of(*cells)) repeats.push_back(*one);
            if (!value || repeats.empty()) continue;
            Values& values = sets[row.set];
            values.rows.push_back(&row);
            values.predicted.push_back(*value);
            values.measured.push_back(median(std::move(repeats)));
        }
        for (const auto& [name, values] : sets)
            if (values.rows.size() >= kSmallestSet) report_.sets.push_back(score(quantity, values));
    }

    Set score(const std::string& quantity, const Values& values) {
        Set set;
        const Joined& first = *values.rows.front();
        set.gpu = first.gpu;
        set.kernel = first.kernel;
        set.problem = first.problem;
        set.quantity = quantity;
        set.n = values.rows.size();
        set.median_over_best = median(values.measured) / *std::min_element(values.measured.begin(), values.measured.end());
        set.mape = mean_absolute_error(values.predicted, values.measured);
        set.scale = best_scale(values.predicted, values.measured);
        set.mape_one_scale = mean_absolute_error(values.predicted, values.measured, set.scale);
        const auto kept = kept_of(values, quantity);
        set.kept_basis = kept ? "predictions" : "share";
        set.kept = kept ? static_cast<std::size_t>(std::count(kept->begin(), kept->end(), true))
                        : static_cast<std::size_t>(std::max(1.0, std::floor(options_.keep_share * static_cast<double>(set.n))));
        const auto groups = groups_of(values);
        set.model = scores("model", values.predicted, values, groups, set.kept);
        if (kept) {
            const Choice choice = choose(*kept, values.measured);
            set.model.all->kept_holds_best = choice.holds_best;
            set.model.all->kept_within_5pct = choice.within_5pct;
            set.model.all->kept_regret = choice.regret;
        }
        add_baselines(set, values, groups);
        set.interval = coverage(quantity, values);
        return set;
    }

    /// The predictions' own choice, for time (or what they call kept) where there is one.
    [[nodiscard]] std::optional<std::vector<bool>> kept_of(const Values& values, const std::string& quantity) const {
        const auto at = p_.column("kept");
        if (!at || quantity == "power") return std::nullopt;
        std::vector<bool> kept;
        for (const Joined* row : values.rows) kept.push_back(lower((*row->predicted)[*at]) == "true" || (*row->predicted)[*at] == "1");
        if (std::find(kept.begin(), kept.end(), true) == kept.end()) return std::nullopt;
        return kept;
    }

    [[nodiscard]] static std::vector<std::vector<std::size_t>> groups_of(const Values& values) {
        std::map<std::string, std::vector<std::size_t>> by_name;
        for (std::size_t i = 0; i < values.rows.size(); ++i) by_name[values.rows[i]->group].push_back(i);
        std::vector<std::vector<std::size_t>> groups;
        for (auto& [name, members] : by_name)
            if (members.size() >= kSmallestGroup) groups.push_back(std::move(members));
        return groups;
    }

    [[nodiscard]] static Scores scores(std::string name, const std::vector<double>& by, const Values& values, const std::vector<std::vector<std::size_t>>& groups, std::size_t kept) {
        Scores result;
        result.name = std::move(name);
        result.all = rank(by, values.measured, kept);
        if (!groups.empty()) result.by_block = rank_groups(groups, by, values.measured);
        return result;
    }

    void add_baselines(Set& set, const Values& values, const std::vector<std::vector<std::size_t>>& groups) const {
        const std::size_t n = values.rows.size();
        const auto missing = [&](std::string name, std::string why) { set.baselines.push_back({std::move(name), {}, {}, std::move(why)}); };
        const bool threads = std::all_of(values.rows.begin(), values.rows.end(), [](const Joined* row) { return row->threads.has_value(); });
        const auto from_predictions = [&](std::string_view column) {
            std::vector<double> result;
            if (const auto at = p_.column(column))
                for (const Joined* row : values.rows)
                    if (const auto value = number_of((*row->predicted)[*at])) result.push_back(*value);
            return result;
        };
        const std::vector<double> occupancy = from_predictions("occupancy");
        if (occupancy.size() == n && threads) {
            // As cudaOccupancyMaxPotentialBlockSize: most resident warps, then the largest block.
            std::vector<double> by;
            for (std::size_t i = 0; i < n; ++i) by.push_back(-std::round(occupancy[i] * 1e4) * 4096 - *values.rows[i]->threads);
            set.baselines.push_back(scores("occupancy_heuristic", by, values, groups, set.kept));
        } else {
            missing("occupancy_heuristic", occupancy.size() == n ? "the tables do not say the block" : "the predictions have no `occupancy`");
        }
        if (threads) {
            std::vector<double> by;
            for (const Joined* row : values.rows) by.push_back(*row->threads);
            set.baselines.push_back(scores("threads_per_block", by, values, groups, set.kept));
        } else {
            missing("threads_per_block", "the tables do not say the block");
        }
        const std::vector<double> floor = from_predictions("floor_time_us");
        if (floor.size() == n && set.quantity == "time") set.baselines.push_back(scores("roofline", floor, values, groups, set.kept));
        else missing("roofline", set.quantity == "time" ? "the predictions have no `floor_time_us`" : "it is a floor of time");
        set.baselines.push_back(scores("random", std::vector<double>(n, 0.0), values, groups, set.kept));   // all tied: the mean over all orders
    }

    [[nodiscard]] std::optional<Coverage> coverage(const std::string& quantity, const Values& values) const {
        const std::string unit = quantity == "time" ? "us" : quantity == "energy" ? "mj" : "w";
        const auto low = p_.column(quantity + "_low_" + unit), high = p_.column(quantity + "_high_" + unit);
        if (!low || !high) return std::nullopt;
        Coverage result;
        for (std::size_t i = 0; i < values.rows.size(); ++i) {
            const auto from = number_of((*values.rows[i]->predicted)[*low]), to = number_of((*values.rows[i]->predicted)[*high]);
            if (!from || !to) continue;
            ++result.n;
            result.below += values.measured[i] < *from ? 1 : 0;
            result.above += values.measured[i] > *to ? 1 : 0;
        }
        if (result.n == 0) return std::nullopt;
        result.below /= static_cast<double>(result.n);
        result.above /= static_cast<double>(result.n);
        result.share = 1 - result.below - result.above;
        return result;
    }

    void add_overall() {
        for (const char* quantity : {"time", "energy", "power"}) {
            const auto figure = [&](std::string name, auto value) {
                std::vector<double> values;
                std::vector<std::size_t> cluster;
                std::map<std::string, std::size_t> kernels;
                for (const Set& set : report_.sets) {
                    if (set.quantity != quantity) continue;
                    const std::optional<double> one = value(set);
                    if (!one) continue;
                    values.push_back(*one);
                    cluster.push_back(kernels.emplace(set.kernel, kernels.size()).first->second);
                }
                if (values.empty()) return;
                double sum = 0;
                for (double one : values) sum += one;
                Overall row{quantity, std::move(name), values.size(), kernels.size(), sum / static_cast<double>(values.size()), {}, {}};
                if (const auto spread = cluster_bootstrap(values, cluster, kernels.size())) {
                    row.low = spread->low;
                    row.high = spread->high;
                }
                report_.overall.push_back(std::move(row));
            };
            using Maybe = std::optional<double>;
            figure("spearman", [](const Set& set) { return set.model.all->spearman; });
            figure("first_regret", [](const Set& set) { return Maybe(set.model.all->first_regret); });
            figure("kept_within_5pct", [](const Set& set) { return Maybe(set.model.all->kept_within_5pct); });
            figure("kept_regret", [](const Set& set) { return Maybe(set.model.all->kept_regret); });
            figure("block_within_5pct", [](const Set& set) { return set.model.by_block ? Maybe(set.model.by_block->within_5pct) : Maybe(); });
            figure("block_within_10pct", [](const Set& set) { return set.model.by_block ? Maybe(set.model.by_block->within_10pct) : Maybe(); });
            figure("mape", [](const Set& set) { return Maybe(set.mape); });
            figure("mape_one_scale", [](const Set& set) { return Maybe(set.mape_one_scale); });
            figure("interval_coverage", [](const Set& set) { return set.interval ? Maybe(set.interval->share) : Maybe(); });
        }
    }

    struct Key { std::size_t predicted, measured; std::string name; };
    const Table& p_;
    const Table& m_;
    const Options& options_;
    Report report_;
    std::vector<Key> keys_;
    std::vector<Joined> joined_;
    std::map<std::string, std::string> gpus_;
};

}  // namespace

Result<Report> compare(const Table& predictions, const Table& measurements, const Options& options) {
    return Comparison(predictions, measurements, options).run();
}

}  // namespace flipflop::validate
