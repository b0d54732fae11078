// print_check FILE...: prints every module of the files, parses that again and compares the two. Says what differs, and
// returns 1 when anything does. `make corpus` runs it over whole libraries.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "flipflop/inputs.hpp"
#include "flipflop/ptx.hpp"
#include "tests/same_module.hpp"

namespace {

using namespace flipflop;

/// What is wrong with printing this text, or nothing.
std::string check(const PtxText& text) {
    const ptx::ParseResult first = ptx::parse(text.text, text.name);
    for (const ptx::Module& module : first.modules) {
        const auto printed = std::make_shared<const std::string>(ptx::print(module));
        const ptx::ParseResult second = ptx::parse(printed, text.name);
        if (second.modules.size() != 1) return fmt::format("prints as {} modules", second.modules.size());
        if (second.errors != 0) return "what is printed does not parse: " + render(second.diagnostics.front());
        if (std::string found = testing::difference(module, second.modules[0]); !found.empty()) return found;
    }
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t texts = 0, bad = 0;
    ReadOptions options;
    options.on_text = [&](const Input&, const PtxText& text) {
        ++texts;
        const std::string found = check(text);
        if (found.empty()) return;
        ++bad;
        std::fputs(fmt::format("{}: {}\n", text.name, found).c_str(), stdout);
    };
    for (int i = 1; i < argc; ++i)
        if (const auto read = read_input(argv[i], options); !read) std::fputs(render(read.error()).c_str(), stderr);
    std::fputs(fmt::format("{} of {} texts print to something else\n", bad, texts).c_str(), stdout);
    return bad == 0 && texts > 0 ? 0 : 1;
}
