// Owns: measured launches ready to be fitted: readings beside what the launch does. Input: tables, kernels. Invariant: every
// row has a reading that says something of the board at a known operating point.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flipflop/calibrate.hpp"
#include "flipflop/models.hpp"

namespace flipflop::calibrate {

inline constexpr const char* kSubject = "calibrate";   ///< whom complaints name

struct Reading {
    std::optional<double> time_us, power_w;
    double clock_mhz{};
    std::string kernel, configuration;       ///< configuration: everything but the clock and the readings
};
struct Row {
    Reading reading;
    LaunchFacts launch;
    KernelFacts kernel;
    ResourceUse use;
};
struct Rows {
    std::vector<Row> rows;
    std::map<std::string, std::size_t> left_out;
    std::string first_problem;               ///< of the first row that could not be used
};

/// A table's cells by name; empty cells are absent.
class Cells {
public:
    Cells(const validate::Table& table, std::size_t row) : table_(table), row_(row) {}
    [[nodiscard]] std::string text(std::string_view column) const;
    [[nodiscard]] std::optional<double> number(std::string_view column) const;
    [[nodiscard]] const validate::Table& table() const { return table_; }
    [[nodiscard]] const std::vector<std::string>& all() const { return table_.rows[row_]; }

private:
    const validate::Table& table_;
    std::size_t row_;
};

/// A launch of a published benchmark that is known well enough to be described without its code (docs/models/calibrate.md), or empty.
[[nodiscard]] std::optional<Row> described_launch(const Cells& cells, const GpuProfile& gpu);

[[nodiscard]] Result<Rows> read_rows(const std::vector<validate::Table>& tables, const std::vector<Input>& kernels, const GpuProfile& gpu, const Options& options);

}  // namespace flipflop::calibrate
