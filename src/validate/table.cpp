// Tables for `validate`: CSV, our own JSON, Kernel Tuner caches and T4 files, told apart by content.
#include <array>
#include <charconv>
#include <map>

#include <nlohmann/json.hpp>

#include "flipflop/validate.hpp"
#include "inputs/file.hpp"

namespace flipflop::validate {
namespace {

using Json = nlohmann::json;

Diagnostic no_table(const std::string& path, std::string message) {
    Diagnostic error;
    error.id = "FF0780";
    error.file = path;
    error.message = std::move(message);
    error.help = "a CSV with a header line, JSON of flipflop analyze or tune, a Kernel Tuner cache, or a T4 file";
    return error;
}

std::string number_text(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return {digits.data(), end.ptr};
}

std::string cell_of(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
    if (value.is_number()) return number_text(value.get<double>());
    return {};   // null, and what is no cell
}

/// Rows of differing keys; columns in the order they are first met.
class Rows {
public:
    explicit Rows(std::string path) { table_.path = std::move(path); }
    void begin() { table_.rows.emplace_back(table_.columns.size()); }
    void set(const std::string& column, std::string cell) {
        const auto [at, fresh] = index_.emplace(column, table_.columns.size());
        if (fresh) table_.columns.push_back(column);
        auto& row = table_.rows.back();
        if (row.size() <= at->second) row.resize(at->second + 1);
        row[at->second] = std::move(cell);
    }
    void set_scalars(const Json& object) {
        for (const auto& [name, value] : object.items())
            if (value.is_primitive()) set(name, cell_of(value));
    }
    [[nodiscard]] Table finish() && {
        for (auto& row : table_.rows) row.resize(table_.columns.size());
        return std::move(table_);
    }

private:
    Table table_;
    std::map<std::string, std::size_t> index_;
};

void set_dim(Rows& rows, const std::string& name, const Json& dim) {
    constexpr std::array<const char*, 3> kAxes{"_x", "_y", "_z"};
    for (std::size_t i = 0; dim.is_array() && i < 3 && i < dim.size(); ++i) rows.set(name + kAxes[i], cell_of(dim[i]));
}

/// `analyze --format json`: one row a configuration, columns as the CSV names them.
Table analysis_table(const Json& document, const std::string& path) {
    Rows rows(path);
    for (const Json& kernel : document.value("kernels", Json::array()))
        for (const Json& result : kernel.value("results", Json::array()))
            for (const Json& config : result.value("configs", Json::array())) {
                rows.begin();
                rows.set("kernel", cell_of(kernel.value("name", Json())));
                rows.set("gpu", cell_of(result.value("gpu", Json())));
                rows.set("case", cell_of(result.value("case", Json())));
                set_dim(rows, "block", config.value("block", Json()));
                set_dim(rows, "grid", config.value("grid", Json()));
                rows.set_scalars(config);
                if (const auto occupancy = config.find("occupancy"); occupancy != config.end() && occupancy->is_object())
                    rows.set("occupancy", cell_of(occupancy->value("fraction", Json())));
                if (const auto predicted = config.find("predicted"); predicted != config.end() && predicted->is_object()) rows.set_scalars(*predicted);
            }
    return std::move(rows).finish();
}

/// Times, energies and powers under the names that the rest of the tool reads; the unit is in the name.
std::string measurement_name(const std::string& name, std::string unit) {
    if (name == "time" || name == "times") {
        if (unit.empty() || unit == "milliseconds" || unit == "ms") return "time_ms";
        if (unit == "microseconds" || unit == "us") return "time_us";
        if (unit == "seconds" || unit == "s") return "time_s";
        return name;
    }
    if (name == "energy" || name == "nvml_energy" || name == "ps_energy") return unit == "mJ" ? "energy_mj" : "energy_j";
    if (name == "power" || name == "nvml_power" || name == "ps_power") return "power_w";
    return name;
}

Table kernel_tuner_table(const Json& document, const std::string& path) {
    Rows rows(path);
    for (const auto& [key, entry] : document.at("cache").items()) {
        if (!entry.is_object()) continue;
        rows.begin();
        rows.set("gpu", cell_of(document.value("device_name", Json())));
        rows.set("kernel", cell_of(document.value("kernel_name", Json())));
        for (const auto& [name, value] : entry.items()) {
            if (!value.is_primitive() || name == "GFLOP/s" || name == "timestamp") continue;
            if (name == "time" && !value.is_number()) rows.set("error", cell_of(value));   // "CompilationFailedConfig"
            else rows.set(measurement_name(name, {}), cell_of(value));
        }
    }
    return std::move(rows).finish();
}

Table t4_table(const Json& document, const std::string& path) {
    Rows rows(path);
    for (const Json& result : document.at("results")) {
        rows.begin();
        rows.set_scalars(result.at("configuration"));
        const std::string invalidity = cell_of(result.value("invalidity", Json()));
        if (!invalidity.empty() && invalidity != "correct") rows.set("error", invalidity);
        for (const Json& measurement : result.value("measurements", Json::array()))
            rows.set(measurement_name(cell_of(measurement.value("name", Json())), cell_of(measurement.value("unit", Json()))), cell_of(measurement.value("value", Json())));
    }
    return std::move(rows).finish();
}

/// A document whose one list of flat objects is the table; scalars beside it hold for every row.
std::optional<Table> flat_table(const Json& document, const std::string& path) {
    const auto is_rows = [](const Json& list) { return list.is_array() && !list.empty() && list.front().is_object(); };
    const Json* list = is_rows(document) ? &document : nullptr;
    if (document.is_object())
        for (const auto& [name, value] : document.items())
            if (is_rows(value) && (!list || value.size() > list->size())) list = &value;
    if (!list) return std::nullopt;
    Rows rows(path);
    for (const Json& row : *list) {
        if (!row.is_object()) continue;
        rows.begin();
        if (document.is_object())
            for (const char* name : {"gpu", "kernel", "problem"})
                if (const auto value = document.find(name); value != document.end() && value->is_string()) rows.set(name, cell_of(*value));
        rows.set_scalars(row);
        for (const auto& [name, value] : row.items())
            if (value.is_object()) rows.set_scalars(value);   // "parameters": {...}
    }
    return std::move(rows).finish();
}

Result<Table> json_table(std::string_view text, const std::string& path) {
    Json document = Json::parse(text, nullptr, false);
    if (document.is_discarded()) document = Json::parse(std::string(text.substr(0, text.find_last_not_of(", \r\n\t") + 1)) + "}}", nullptr, false);   // Kernel Tuner leaves an open cache so
    if (document.is_discarded()) return tl::unexpected(no_table(path, "it begins like JSON, but is none"));
    try {
        if (document.is_object() && document.value("schema", std::string()) == "flipflop.analysis/1") return analysis_table(document, path);
        if (document.is_object() && document.contains("cache") && document["cache"].is_object()) return kernel_tuner_table(document, path);
        if (document.is_object() && document.contains("results") && document["results"].is_array() && !document["results"].empty() &&
            document["results"].front().contains("configuration"))
            return t4_table(document, path);
        if (auto table = flat_table(document, path)) return std::move(*table);
    } catch (const Json::exception& error) {
        return tl::unexpected(no_table(path, std::string("its JSON is not laid out as a table: ") + error.what()));
    }
    return tl::unexpected(no_table(path, "its JSON holds no table"));
}

/// RFC 4180. An unclosed quote runs to the end, and the row then has the wrong length.
std::vector<std::vector<std::string>> csv_rows(std::string_view text) {
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> row;
    std::string cell;
    bool quoted = false, any = false;
    const auto end_row = [&] {
        if (any || !row.empty()) {
            row.push_back(std::move(cell));
            rows.push_back(std::move(row));
        }
        cell.clear();
        row.clear();
        any = false;
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c != '"') cell += c;
            else if (i + 1 < text.size() && text[i + 1] == '"') cell += text[++i];
            else quoted = false;
        } else if (c == '"') {
            quoted = any = true;
        } else if (c == ',') {
            row.push_back(std::move(cell));
            cell.clear();
            any = true;
        } else if (c == '\n') {
            end_row();
        } else if (c != '\r') {
            cell += c;
            any = true;
        }
    }
    end_row();
    return rows;
}

Result<Table> csv_table(std::string_view text, const std::string& path) {
    auto rows = csv_rows(text);
    if (rows.empty() || rows.front().size() < 2) return tl::unexpected(no_table(path, rows.empty() ? "the table is empty" : "its first line is no header of a table"));
    Table table{path, std::move(rows.front()), {}};
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].size() != table.columns.size())
            return tl::unexpected(no_table(path, "row " + std::to_string(i + 1) + " has " + std::to_string(rows[i].size()) + " cells, the header " + std::to_string(table.columns.size())));
        table.rows.push_back(std::move(rows[i]));
    }
    return table;
}

}  // namespace

std::optional<std::size_t> Table::column(std::string_view name) const {
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (columns[i] == name) return i;
    return std::nullopt;
}

Result<Table> read_table(std::string_view text, const std::string& path) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    if (text.starts_with("\x1f\x8b")) return tl::unexpected(no_table(path, "it is compressed with gzip; unpack it first (zcat FILE | flipflop validate ... -)"));
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return tl::unexpected(no_table(path, "the table is empty"));
    return text[first] == '{' || text[first] == '[' ? json_table(text, path) : csv_table(text, path);
}

Result<Table> read_table_file(const std::string& path) {
    const auto file = FileBytes::open(path, InputLimits{});
    if (!file) return tl::unexpected(file.error());
    return read_table(file->view(), path);
}

}  // namespace flipflop::validate
