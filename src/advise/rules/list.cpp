// The rules by name, for `flipflop rules` and for SARIF.
#include "flipflop/advise.hpp"

namespace flipflop {

std::vector<RuleInfo> list_rules() {
    return {
#define RULE(id, function, family, title) RuleInfo{id, family, title},
#include "advise/rules/rules.def"
#undef RULE
    };
}

}  // namespace flipflop
