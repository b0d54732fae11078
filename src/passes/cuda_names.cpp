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

/// Behind the brace that closes the one at `i`: in a body '<' compares.
std::size_t behind_body(const Tokens& tokens, std::size_t i) {
    int depth = 0;
    for (; i < tokens.size(); ++i) {
        if (tokens[i] == "{") ++depth;
        else if (tokens[i] == "}" && --depth == 0) return i + 1;
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

/// "const unsigned *__restrict__ p" -> "unsigned int*" as a demangler writes it; "" where a word of it is no built-in type.
std::string plain_type(Tokens declaration, const std::string& name) {
    if (const auto value = std::find(declaration.begin(), declaration.end(), "="); value != declaration.end()) declaration.erase(value, declaration.end());
    int longs = 0;
    bool is_unsigned = false, is_signed = false;
    std::string base, stars;
    for (std::size_t i = 0; i < declaration.size(); ++i) {
        const std::string_view t = declaration[i];
        if (t == "const" || t == "volatile" || t == "__restrict__" || t == "__restrict" || t == "restrict" || t == "__grid_constant__") continue;
        if (t == name && !name.empty()) continue;
        if (t == "unsigned") is_unsigned = true;
        else if (t == "signed") is_signed = true;
        else if (t == "long") ++longs;
        else if (t == "*") stars += '*';
        else if (t == "[" && stars.empty()) {
            stars = "*";
            i = behind(declaration, i) - 1;
        } else if (base.empty() && (t == "int" || t == "char" || t == "short" || t == "float" || t == "double" || t == "bool" || t == "void")) base = std::string(t);
        else if (t == "int" && base == "short") continue;
        else return {};
    }
    if (base.empty() && longs == 0 && !is_unsigned && !is_signed) return {};
    if (longs > 0 && base != "double") base = longs > 1 ? "long long" : "long";
    if (base.empty()) base = "int";
    if (is_signed && base == "char") base = "signed char";
    return (is_unsigned ? "unsigned " : "") + base + stars;
}

void read_parameters(const Tokens& tokens, std::size_t open, std::size_t end, CudaSignature& out) {
    Tokens one;
    int depth = 0;
    for (std::size_t k = open + 1; k < end; ++k) {
        const std::string_view p = tokens[k];
        out.any_number = out.any_number || p == "...";             // as many as an instance has
        if ((p == "," && depth == 0) || k + 1 == end) {
            if (!one.empty() && !(one.size() == 1 && one[0] == "void")) {
                out.parameters.push_back(name_of(one));
                out.types.push_back(plain_type(one, out.parameters.back()));
            }
            one.clear();
            continue;
        }
        depth += (p == "(" || p == "[" || p == "{" || p == "<") - (p == ")" || p == "]" || p == "}" || p == ">");
        one.push_back(p);
    }
}

/// The declaration behind a __global__; false where it is none that can be used. `body`: the token of its '{', or 0.
bool read_signature(const Tokens& tokens, std::size_t i, CudaSignature& out, std::size_t& body) {
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
            read_parameters(tokens, open, end, out);
            body = end < tokens.size() && tokens[end] == "{" ? end : 0;
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

/// The types of "void ns::scale<float, 2>(float const*, int)" without const: {"float*", "int"}; nothing where it lists none.
std::vector<std::string> listed_types(const std::string& demangled) {
    std::size_t begin = std::string::npos;
    int depth = 0;
    for (std::size_t i = 0; i < demangled.size() && begin == std::string::npos; ++i) {
        constexpr std::string_view anonymous = "(anonymous namespace)";
        if (demangled.compare(i, anonymous.size(), anonymous) == 0) { i += anonymous.size() - 1; continue; }
        if (demangled[i] == '(' && depth == 0) begin = i + 1;
        depth += (demangled[i] == '<') - (demangled[i] == '>');
    }
    std::vector<std::string> types;
    if (begin == std::string::npos) return types;
    std::string one;
    depth = 0;
    for (std::size_t i = begin; i < demangled.size(); ++i) {
        const char c = demangled[i];
        if (depth == 0 && (c == ',' || c == ')')) {
            for (const char* word : {" const", " volatile", " __restrict__", " __restrict"})
                for (std::size_t at = one.find(word); at != std::string::npos; at = one.find(word)) one.erase(at, std::char_traits<char>::length(word));
            one.erase(0, one.find_first_not_of(' '));
            if (!one.empty()) types.push_back(one);
            one.clear();
            if (c == ')') break;
            continue;
        }
        depth += (c == '<' || c == '(' || c == '[') - (c == '>' || c == ')' || c == ']');
        one += c;
    }
    return types;
}

/// Could the declaration be of a kernel with these types? A built-in type must be the same; templates and typedefs may be any.
bool fits(const CudaSignature& s, const std::vector<std::string>& types, std::size_t parameters) {
    if (s.any_number) return true;
    if (s.parameters.size() != parameters) return false;
    for (std::size_t i = 0; i < types.size() && types.size() == parameters; ++i)
        if (!s.types[i].empty() && s.types[i] != types[i]) return false;
    return true;
}

}  // namespace

std::vector<CudaSignature> cuda_signatures(std::string_view source) {
    std::vector<CudaSignature> found;
    if (source.find("__global__") == std::string_view::npos) return found;
    const Tokens tokens = tokens_of(source);
    std::uint32_t line = 1;
    std::size_t counted = 0;
    const auto line_of = [&](std::size_t token) {   // asked for in text order
        const auto at = static_cast<std::size_t>(tokens[std::min(token, tokens.size() - 1)].data() - source.data());
        if (at > counted) {
            line += static_cast<std::uint32_t>(std::count(source.begin() + static_cast<std::ptrdiff_t>(counted), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
            counted = at;
        }
        return line;
    };
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        CudaSignature signature;
        std::size_t body = 0;
        if (tokens[i] != "__global__" || !read_signature(tokens, i + 1, signature, body)) continue;
        if (body != 0) {
            signature.first_line = line_of(i);
            signature.last_line = line_of(behind_body(tokens, body) - 1);
        }
        found.push_back(std::move(signature));
    }
    return found;
}

void name_parameters(const std::vector<CudaSignature>& signatures, KernelFacts& kernel, std::optional<std::uint32_t> line) {
    const std::string name = base_name(kernel);
    const std::vector<std::string> types = listed_types(kernel.demangled);
    std::vector<std::string> best(kernel.parameters.size());
    std::vector<bool> doubtful(kernel.parameters.size());
    for (const CudaSignature& s : signatures) {
        if (s.name != name || !fits(s, types, best.size())) continue;
        if (line && (*line < s.first_line || *line > s.last_line)) continue;
        if (s.any_number) return;
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
