// .file, .loc and .section (PTX ISA 11.5): what maps instructions to source lines. DWARF
// itself is kept as text (debug_names.cpp reads names from it).
#include <fmt/format.h>

#include "parser.hpp"

namespace flipflop::ptx::detail {

/// .file number "name" [, timestamp, size]
void Parser::parse_file() {
    Constant number;
    if (!parse_number(number)) return recover();
    const auto path = read_string();
    if (!path) {
        while (!at_end() && *p_ != '\n') ++p_;
        return;
    }
    module().files.push_back({static_cast<std::uint32_t>(number.bits), std::string(*path), std::nullopt, std::nullopt});
    skip_blanks();
    const std::size_t file = module().files.size() - 1;
    for (int i = 0; i < 2 && *p_ == ','; ++i) {
        ++p_;
        Constant value;
        if (!parse_number(value)) return;
        (i == 0 ? module().files[file].modified : module().files[file].bytes) = value.bits;
        skip_blanks();
    }
}

/// .loc file line column [, function_name label[+offset]] [, inlined_at file line column]; ends without ';'.
void Parser::parse_loc() {
    Location location;
    const auto three = [this](std::uint32_t& file, std::uint32_t& line, std::uint32_t& column) {
        for (std::uint32_t* value : {&file, &line, &column}) {
            skip_blanks();
            if (!is_digit(*p_) && value == &column) return true;  // PTX 1.x: no column
            Constant number;
            if (!parse_number(number)) return false;
            *value = static_cast<std::uint32_t>(number.bits);
        }
        return true;
    };
    if (!three(location.file, location.line, location.column)) return recover();
    skip_blanks();
    while (*p_ == ',') {
        ++p_;
        skip_blanks();
        const Name word = read_name();
        if (word.text() == "function_name") {
            skip_blanks();
            const char* start = p_;
            if (*p_ == '.') read_directive();
            else read_name();
            location.function_name = {start, static_cast<std::size_t>(p_ - start)};
            skip_blanks();
            if (*p_ == '+') {
                ++p_;
                Constant offset;
                if (!parse_number(offset)) return;
                location.function_name = {start, static_cast<std::size_t>(p_ - start)};
            }
        } else if (word.text() == "inlined_at") {
            std::uint32_t file = 0, line = 0, column = 0;
            if (!three(file, line, column)) return recover();
            location.inlined_at = location_at(file, line, column);
        } else {
            report_unexpected("function_name or inlined_at");
            return;
        }
        skip_blanks();
    }
    auto& locations = module().locations;
    locations.push_back(location);
    location_ = static_cast<std::uint32_t>(locations.size());
}

/// The latest Location of that place; ptxas wants one to exist, debug information is no reason for us to complain.
std::uint32_t Parser::location_at(std::uint32_t file, std::uint32_t line, std::uint32_t column) {
    const auto key_of = [](const Location& l) { return (std::uint64_t{l.file} << 48) ^ (std::uint64_t{l.line} << 16) ^ l.column; };
    auto& locations = module().locations;
    for (; indexed_locations_ < locations.size(); ++indexed_locations_)  // only modules with inlined code pay for the index
        location_index_[key_of(locations[indexed_locations_])] = static_cast<std::uint32_t>(indexed_locations_ + 1);
    auto [found, is_new] = location_index_.try_emplace(key_of({file, line, column, 0, {}}), 0);
    if (is_new) {
        locations.push_back({file, line, column, 0, {}});
        found->second = static_cast<std::uint32_t>(locations.size());
    }
    return found->second;
}

void Parser::skip_braces() {
    unsigned depth = 0;
    const Position at = here();
    while (!at_end()) {
        switch (*p_) {
            case '\n': ++line_; break;
            case '{': ++depth; break;
            case '}':
                if (--depth == 0) {
                    ++p_;
                    return;
                }
                break;
            case '"': {
                const char* q = p_ + 1;
                while (q < end_ && *q != '"' && *q != '\n') ++q;
                if (q < end_ && *q == '"') p_ = q;
                break;
            }
            case '/':
                if (p_[1] == '/' || p_[1] == '*') {
                    skip_comment();
                    continue;
                }
                break;
            default: break;
        }
        ++p_;
    }
    report(Code::unexpected_end, at, "this '{' is never closed", "the file looks truncated");
}

/// Behind the word; `start` is its dot.
void Parser::parse_section(const char* start) {
    module().has_dwarf = true;
    skip_blanks();
    const char* const name = p_;
    while (!at_end() && *p_ != '{' && *p_ != '\n' && *p_ != ' ' && *p_ != '\t' && *p_ != '\r') ++p_;
    const std::string_view section(name, static_cast<std::size_t>(p_ - name));
    while (!at_end() && *p_ != '{' && *p_ != '\n') ++p_;
    skip_blanks();
    if (*p_ != '{') return report_unexpected("the '{' of a section");
    const char* const body = p_ + 1;
    skip_braces();
    const std::string_view text(start, static_cast<std::size_t>(p_ - start));
    module().sections.push_back({text, section, {body, p_ > body ? static_cast<std::size_t>(p_ - body - 1) : 0}});
}

}  // namespace flipflop::ptx::detail
