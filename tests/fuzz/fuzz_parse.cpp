// libFuzzer target: any bytes as PTX text. Beside crashes it looks for broken promises: a text without errors must print
// to a text that parses to the same module, and printing twice must give the same bytes.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "flipflop/ptx.hpp"
#include "tests/same_module.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace flipflop;
    const auto text = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
    const ptx::ParseResult result = ptx::parse(text, "fuzz.ptx");
    for (const Diagnostic& diagnostic : result.diagnostics)
        if (render(diagnostic).empty()) std::abort();
    for (const ptx::Module& module : result.modules) {
        const std::string printed = ptx::print(module);
        if (result.errors != 0) continue;
        const ptx::ParseResult again = ptx::parse(std::make_shared<const std::string>(printed), "printed.ptx");
        if (again.errors != 0 || again.modules.size() != 1) std::abort();
        if (!flipflop::testing::difference(module, again.modules[0]).empty()) std::abort();
        if (ptx::print(again.modules[0]) != printed) std::abort();
    }
    return 0;
}
