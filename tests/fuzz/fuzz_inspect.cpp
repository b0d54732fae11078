// The whole path of `inspect`: any bytes as an input, the kernels in it, their facts, the report.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "flipflop/inspect.hpp"
#include "flipflop/report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    flipflop::ReadOptions options;
    options.limits.max_text_bytes = 1 << 20;
    auto input = flipflop::read_input_bytes({reinterpret_cast<const char*>(data), size}, "fuzz", options);
    if (!input) return 0;
    std::vector<flipflop::Input> inputs;
    inputs.push_back(std::move(*input));
    const auto report = flipflop::inspect(inputs, {});
    if (report) {
        if (flipflop::text_report(*report, {}).empty()) std::abort();
    } else if (report.error().message.empty()) {
        std::abort();
    }
    return 0;
}
