// Any bytes through the container readers: no crash, no hang, and never more text than the limits allow.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "flipflop/inputs.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    flipflop::ReadOptions options;
    options.limits.max_text_bytes = 8 << 20;
    const auto input = flipflop::read_input_bytes({reinterpret_cast<const char*>(data), size}, "fuzz", options);
    if (!input) {
        if (input.error().message.empty() || !input.error().id.starts_with("FF08")) std::abort();
        return 0;
    }
    if (input->texts.empty() || input->text_bytes > (64ULL << 20)) std::abort();
    for (const auto& text : input->texts)
        if (text.text->find('\0') != std::string::npos) std::abort();
    return 0;
}
