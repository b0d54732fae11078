// Owns: the file of a calibration, "flipflop.coefficients/1": values with data sets, rows, method and held-out error, and the
// information matrices that let later rows be added without forgetting these. Invariant: what is written reads back.
#pragma once

#include <string>
#include <vector>

#include "calibrate/parameters.hpp"
#include "calibrate/robust_fit.hpp"
#include "flipflop/calibrate.hpp"

namespace flipflop::calibrate {

struct Information { std::string quantity; std::vector<const Parameter*> parameters; Matrix matrix; std::size_t rows{}; };

/// An earlier fit whose rows are not here any more: its values and their precision.
class Earlier {
public:
    struct Part { std::vector<std::string> keys; std::vector<double> logs; Matrix matrix; std::size_t rows{}; };
    [[nodiscard]] std::optional<double> value(const std::string& quantity, std::string_view key) const;
    [[nodiscard]] std::size_t rows(const std::string& quantity) const;
    /// Over the coefficients that are fitted now; what it knows of others is held fast at its value.
    [[nodiscard]] std::optional<Prior> prior(const std::string& quantity, const std::vector<const Parameter*>& fitted) const;

    std::map<std::string, Part> parts;
    std::string data_sets;                   ///< JSON array, as it stood in the file
};

/// An empty text is no earlier fit. FF0794: not a fit, of another GPU, or without what an update needs.
[[nodiscard]] Result<Earlier> read_earlier(const std::string& text, const std::string& path, const std::string& gpu);

[[nodiscard]] std::string document(const Outcome& outcome, const std::vector<Information>& information, const Earlier& earlier, const std::vector<validate::Table>& tables);

}  // namespace flipflop::calibrate
