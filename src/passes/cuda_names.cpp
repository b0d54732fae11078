#include "passes/cuda_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace flipflop {
namespace {

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Words, and signs one by one ("::" and "..." whole); no comments, literals and preprocessor lines.
std::vector<std::string_view> tokens_of(std::string_view text) {
    std::vector<std::string_view> tokens;
    bool line_begins = true;
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '\n') { line_begins = true; ++i; continue; }
        if (std::isspace(static_cast<unsigned char>(c)) != 0) { ++i; continue; }
        if (c == '#' && line_begins) {
            while (i < text.size() && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;   // a line that goes on
            continue;
        }
        line_begins = false;
        if (text.substr(i, 2) == "//") { i = std::min(text.find('\n', i), text.size()); continue; }
        if (text.substr(i, 2) == "/*") { const std::size_t end = text.find("*/", i + 2); i = end == std::string_view::npos ? text.size() : end + 2; continue; }
        if (text.substr(i, 2) == "R\"") {
            const std::size_t open = text.find('(', i);
            const std::string close = open == std::string_view::npos ? "" : ")" + std::string(text.substr(i + 2, open - i - 2)) + "\"";
            const std::size_t end = close.empty() ? std::string_view::npos : text.find(close, open);
            i = end == std::string_view::npos ? text.size() : end + close.size();
            continue;
        }
        if (c == '"' || (c == '\'' && (i == 0 || !in_word(text[i - 1])))) {
            for (++i; i < text.size() && text[i] != c && text[i] != '\n'; ++i) i += text[i] == '\\';
            ++i;
            continue;
        }
        std::size_t end = i + 1;
        if (starts_word(c)) { while (end < text.size() && in_word(text[end])) ++end; }
        else if (text.substr(i, 2) == "::") end = i + 2;
        else if (text.substr(i, 3) == "...") end = i + 3;
        tokens.push_back(text.substr(i, end - i));
        i = end;
    }
    return tokens;
}

using Tokens = std::vector<std::string_view>;

/// Behind the bracket that closes the one at `i`; template brackets hold no comparisons in a declaration.
std::size_t behind(const Tokens& tokens, std::size_t i) {
    int depth = 0;
    for (; i < tokens.size(); ++i) {
        const std::string_view t = tokens[i];
        if (t == "(" || t == "[" || t == "{" || t == "<") ++depth;
        else if ((t == ")" || t == "]" || t == "}" || t == ">") && --depth == 0) return i + 1;
    }
    return tokens.size();
}

/// The name that a parameter's declaration ends with, or nothing.
std::string name_of(Tokens declaration) {
    constexpr std::array<std::string_view, 22> kNoNames{"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "class", "enum", "typename", "unsigned",
                                                        "signed", "int", "char", "short", "long", "float", "double", "bool", "void", "auto", "__const__"};
    constexpr std::array<std::string_view, 10> kNoTypes{"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "class", "enum", "typename"};
    const auto among = [](const auto& list, std::string_view t) { return std::find(list.begin(), list.end(), t) != list.end(); };
    if (const auto value = std::find(declaration.begin(), declaration.end(), "="); value != declaration.end()) declaration.erase(value, declaration.end());
    while (!declaration.empty() && declaration.back() == "]") {
        const auto open = std::find(declaration.rbegin(), declaration.rend(), "[");
        if (open == declaration.rend()) return {};
        declaration.erase(open.base() - 1, declaration.end());
    }
    if (declaration.size() < 2 || !starts_word(declaration.back()[0]) || among(kNoNames, declaration.back()) || declaration[declaration.size() - 2] == "::") return {};
    const bool typed = std::any_of(declaration.begin(), declaration.end() - 1, [&](std::string_view t) { return starts_word(t[0]) && !among(kNoTypes, t); });
    return typed ? std::string(declaration.back()) : std::string();
}

/// The declaration behind a __global__; false where it is none that can be used.
bool read_signature(const Tokens& tokens, std::size_t i, CudaSignature& out) {
    constexpr std::array<std::string_view, 8> kAttributes{"__launch_bounds__", "__block_size__", "__cluster_dims__", "__maxnreg__", "__attribute__", "alignas", "__declspec", "decltype"};
    while (i < tokens.size()) {
        const std::string_view t = tokens[i];
        if (t == ";" || t == "{" || t == "}") return false;
        if (t == "(" || t == "[" || t == "<") { i = behind(tokens, i); continue; }
        if (!starts_word(t[0]) || i + 1 >= tokens.size()) { ++i; continue; }
        if (std::find(kAttributes.begin(), kAttributes.end(), t) != kAttributes.end()) { ++i; continue; }
        std::size_t open = i + 1;
        if (tokens[open] == "<") open = behind(tokens, open);      // name<float>( of a specialisation
        if (open < tokens.size() && tokens[open] == "(") {
            out.name = std::string(t);
            const std::size_t end = behind(tokens, open);
            Tokens one;
            int depth = 0;
            for (std::size_t k = open + 1; k < end; ++k) {
                const std::string_view p = tokens[k];
                if (p == "...") return false;                       // as many as an instance has
                if ((p == "," && depth == 0) || k + 1 == end) {
                    if (!one.empty() && !(one.size() == 1 && one[0] == "void")) out.parameters.push_back(name_of(one));
                    one.clear();
                    continue;
                }
                depth += (p == "(" || p == "[" || p == "{" || p == "<") - (p == ")" || p == "]" || p == "}" || p == ">");
                one.push_back(p);
            }
            return true;
        }
        ++i;
    }
    return false;
}

/// "void ns::scale<float, 2>(float*, int)" -> "scale".
std::string base_name(const KernelFacts& kernel) {
    std::string_view text = kernel.demangled.empty() ? kernel.name : kernel.demangled;
    int depth = 0;
    std::size_t begin = 0, end = text.size();
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (depth == 0 && (c == '(' || c == '<') && i > begin && text.substr(i, 21) != "(anonymous namespace)") {
            end = std::min(end, i);
            if (c == '(') break;
        }
        depth += (c == '(' || c == '<') - (c == ')' || c == '>');
        if (depth == 0 && (c == ' ' || c == ':')) { begin = i + 1; end = text.size(); }
    }
    return std::string(text.substr(begin, end - begin));
}

}  // namespace

std::vector<CudaSignature> cuda_signatures(std::string_view source) {
    std::vector<CudaSignature> found;
    if (source.find("__global__") == std::string_view::npos) return found;
    const Tokens tokens = tokens_of(source);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        CudaSignature signature;
        if (tokens[i] == "__global__" && read_signature(tokens, i + 1, signature)) found.push_back(std::move(signature));
    }
    return found;
}

void name_parameters(const std::vector<CudaSignature>& signatures, KernelFacts& kernel) {
    const std::string name = base_name(kernel);
    std::vector<std::string> best(kernel.parameters.size());
    std::vector<bool> doubtful(kernel.parameters.size());
    for (const CudaSignature& s : signatures) {
        if (s.name != name || s.parameters.size() != best.size()) continue;
        for (std::size_t i = 0; i < best.size(); ++i) {
            if (s.parameters[i].empty()) continue;
            doubtful[i] = doubtful[i] || (!best[i].empty() && best[i] != s.parameters[i]);   // an overload calls it otherwise
            best[i] = s.parameters[i];
        }
    }
    for (std::size_t i = 0; i < best.size(); ++i)
        if (kernel.parameters[i].source_name.empty() && !doubtful[i]) kernel.parameters[i].source_name = best[i];
}

}  // namespace flipflop
