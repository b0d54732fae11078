// Words and exit codes of the options: small lookups that the door and the reports share.
#include "flipflop/advise.hpp"

namespace flipflop {

std::string_view to_string(Objective objective) {
    switch (objective) {
        case Objective::time: return "time";
        case Objective::energy: return "energy";
        case Objective::edp: return "edp";
        case Objective::energy_at_95: return "energy@95";
    }
    return "time";
}

int exit_code_of(const Diagnostic& diagnostic) {
    // FF07nn usage, FF09nn profiles (a GPU is a configuration), FF06nn outside tools; all the rest speaks of an input.
    const std::string_view id = diagnostic.id;
    if (id.starts_with("FF07") || id.starts_with("FF09")) return 2;
    if (id.starts_with("FF06")) return 4;
    return 3;
}

}  // namespace flipflop
