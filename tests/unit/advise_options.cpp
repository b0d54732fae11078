#include "flipflop/advise.hpp"

#include "catch.hpp"

using namespace flipflop;

TEST_CASE("exit codes follow the families of ids", "[advise]") {
    struct Row { const char* id; int code; };
    for (const Row row : {Row{"FF0701", 2}, Row{"FF0901", 2}, Row{"FF0801", 3}, Row{"FF0012", 3}, Row{"FF0601", 4}}) {
        Diagnostic d;
        d.id = row.id;
        CHECK(exit_code_of(d) == row.code);
    }
    CHECK(to_string(Objective::energy_at_95) == "energy@95");
}
