// Names of kernels: demangled, short, and the id that stays when others come and go.
#include "passes/names.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "flipflop/passes.hpp"

namespace flipflop {

std::string demangle(const std::string& name) {
    // __cxa_demangle recurses; its own limit exists but is generous, and no compiler writes longer names.
    if (!name.starts_with("_Z") || name.size() > 16384) return name;
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
    return status == 0 && text ? std::string(text.get()) : name;
}

std::string short_name_of(const std::string& demangled) {
    constexpr std::string_view anonymous = "(anonymous namespace)";
    // Parameter list: the first parenthesis outside angle brackets that is not "(anonymous namespace)".
    std::string out;
    int angle = 0;
    for (std::size_t i = 0; i < demangled.size(); ++i) {
        const char c = demangled[i];
        const std::string_view rest = std::string_view(demangled).substr(i);
        if (rest.starts_with("operator")) {   // operator<, operator()(...): its signs are no brackets
            std::size_t length = 8;
            while (length < rest.size() && (rest[length] == '<' || rest[length] == '>' || rest[length] == '=')) ++length;
            if (rest.substr(8).starts_with("()")) length = 10;
            if (angle == 0) out += rest.substr(0, length);
            i += length - 1;
        } else if (rest.starts_with(anonymous)) {
            if (angle == 0) out += anonymous;
            i += anonymous.size() - 1;
        } else if (c == '<') {
            if (angle++ == 0) out += "<...>";
        } else if (c == '>') {
            if (angle > 0) --angle;
        } else if (angle == 0 && c == '(') {
            break;
        } else if (angle == 0 && c == ' ') {
            out.clear();   // what came before was the return type
        } else if (angle == 0) {
            out += c;
        }
    }
    return out.empty() ? demangled : out;
}

std::string kernel_id(std::string_view name) {
    // FNV-1a, 64 bits folded to 32: eight digits to type after '#'.
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    const auto folded = static_cast<std::uint32_t>(hash ^ (hash >> 32));
    std::string out(8, '0');
    for (std::size_t i = 0; i < 8; ++i) out[i] = "0123456789abcdef"[(folded >> (28 - 4 * i)) & 15];
    return out;
}

}  // namespace flipflop
