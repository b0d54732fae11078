#include "arguments.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "complaints.hpp"

namespace flipflop::advise {

namespace {

constexpr std::uint32_t kAssumedInteger = 1024;
using Bytes = std::vector<std::uint8_t>;
using Encoded = tl::expected<Bytes, std::string>;

std::string without_dot(const std::string& type) { return type.starts_with('.') ? type.substr(1) : type; }

Bytes little_endian(std::uint64_t bits, std::uint32_t bytes) {
    Bytes out(bytes);
    for (std::uint32_t i = 0; i < bytes && i < 8; ++i) out[i] = static_cast<std::uint8_t>(bits >> (8 * i));
    return out;
}

std::uint64_t little_endian_bits(const Bytes& bytes) {
    std::uint64_t bits = 0;
    for (std::size_t i = std::min<std::size_t>(8, bytes.size()); i-- > 0;) bits = bits << 8 | bytes[i];
    return bits;
}

bool is_float_type(const std::string& type) { return type.starts_with("f"); }

/// Whole numbers: decimal or 0x, with a sign; either reading of the top bit is allowed, as C does for int and unsigned.
Encoded encode_integer(std::string_view digits, std::uint32_t bytes, const std::string& value) {
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    if (hex) digits.remove_prefix(2);
    std::uint64_t magnitude{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, hex ? 16 : 10);
    if (end != digits.data() + digits.size() || error == std::errc::invalid_argument || digits.empty())
        return tl::unexpected(fmt::format("'{}' is not a number", value));
    const unsigned bits = 8 * std::min(bytes, 8u);
    const std::uint64_t most = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t most_negative = std::uint64_t{1} << (bits - 1);
    if (error == std::errc::result_out_of_range || magnitude > (negative ? most_negative : most))
        return tl::unexpected(fmt::format("{} does not fit in {} bits", value, bits));
    return little_endian(negative ? ~magnitude + 1 : magnitude, bytes);
}

bool looks_real(std::string_view value) {
    if (value.starts_with('-') || value.starts_with('+')) value.remove_prefix(1);
    if (value.starts_with("0x") || value.starts_with("0X") || value.empty()) return false;
    if (value == "inf" || value == "nan") return true;
    return value.find_first_not_of("0123456789.eE+-") == std::string_view::npos && value.find_first_of(".eE") != std::string_view::npos;
}

std::optional<double> read_real(std::string_view value) {
    if (value.starts_with('+')) value.remove_prefix(1);
    double real{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), real);
    if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
    return real;
}

Encoded encode_real(double real, std::uint32_t bytes, const std::string& value) {
    if (bytes == 8) return little_endian(std::bit_cast<std::uint64_t>(real), 8);
    if (bytes != 4) return tl::unexpected(fmt::format("{} is no value for {} bits; give the bit pattern as 0x...", value, 8 * bytes));
    if (std::isfinite(real) && std::abs(real) > 3.4028235677973366e38) return tl::unexpected(fmt::format("{} does not fit in 32-bit float", value));
    return little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(real)), 4);
}

/// 2^36 apart, so that no two arrays meet and every one is aligned to any sector or line size.
std::uint64_t address_of_parameter(std::uint64_t ordinal, std::uint32_t bytes) {
    return bytes >= 8 ? (ordinal + 1) << 36 : (ordinal + 1) << 24;
}

void set_bytes(ArgumentValue& value, std::uint32_t total, std::uint32_t offset, const Bytes& bytes) {
    if (value.bytes.empty()) value.bytes.assign(total, 0);
    if (value.known.empty()) value.known.assign(total, false);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        value.bytes[offset + i] = bytes[i];
        value.known[offset + i] = true;
    }
}

std::string shown(const Bytes& bytes, const std::string& type, bool pointer) {
    if (bytes.size() > 8) return fmt::format("{} bytes", bytes.size());
    const std::uint64_t bits = little_endian_bits(bytes);
    if (pointer) return fmt::format("{:#x}", bits);
    if (type == "f32") return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (type == "f64") return fmt::format("{}", std::bit_cast<double>(bits));
    return fmt::format("{}", bits);
}

/// The type by which the code reads the parameter's first bytes: nvcc and clang both declare some floats as .b32.
std::string effective_type(const ParameterFacts& p) {
    const std::string declared = without_dot(p.type);
    if (!declared.starts_with('b')) return declared;
    for (const ParameterField& field : p.fields)
        if (field.offset == 0 && is_float_type(without_dot(field.type))) return without_dot(field.type);
    return declared;
}

/// Why one request does not fit, or empty. Writes what fits into `bound`.
std::string bind_one(const KernelFacts& kernel, const ArgumentRequest& request, BoundArguments& bound) {
    const auto found = find_parameter(kernel, request.parameter);
    if (!found) return fmt::format("there is no parameter '{}'", request.parameter);
    const ParameterFacts& p = kernel.parameters[*found];
    ArgumentValue& value = bound.values[*found];
    const std::uint32_t offset = request.offset.value_or(0);
    const std::string type = request.offset ? request.field_type : p.kind == ParameterKind::pointer ? "ptr" : effective_type(p);
    const std::uint32_t bytes = request.offset ? (type == "ptr" ? std::min(8u, p.bytes) : bytes_of_field_type(type)) : p.bytes;
    if (std::uint64_t{offset} + bytes > p.bytes)
        return fmt::format("bytes {} to {} lie beyond parameter {} of {} bytes", offset, offset + bytes - 1, p.name, p.bytes);
    Bytes encoded;
    bool address_given = true;               // of the pointer that it shares an address with
    if (request.value.starts_with('@')) {
        const auto other = find_parameter(kernel, request.value.substr(1));
        if (!other) return fmt::format("there is no parameter '{}' to share an address with", request.value.substr(1));
        const ParameterFacts& o = kernel.parameters[*other];
        if (o.kind != ParameterKind::pointer || bytes != o.bytes) return fmt::format("'{}' and '{}' are not both pointers", p.name, o.name);
        const ArgumentValue& theirs = bound.values[*other];
        address_given = p.kind != ParameterKind::pointer || theirs.given;
        encoded = theirs.bytes.empty() ? little_endian(address_of_parameter(*other, o.bytes), o.bytes) : theirs.bytes;
    } else if (request.value == "ptr") {
        if (bytes != 8 && bytes != 4) return fmt::format("parameter {} of type {} is no pointer", p.name, p.type);
        if (!request.offset && p.kind == ParameterKind::scalar && is_float_type(type)) return fmt::format("parameter {} of type {} is no pointer", p.name, p.type);
        encoded = little_endian(address_of_parameter(request.offset ? 0x1000 + *found * 512 + offset / 8 : *found, bytes), bytes);
    } else if (!request.offset && p.kind == ParameterKind::aggregate) {
        std::ifstream file(request.value, std::ios::binary);
        if (!file || std::filesystem::is_directory(request.value)) return fmt::format("cannot read '{}' (an aggregate takes a file of {} bytes, or +OFFSET:TYPE=VALUE)", request.value, p.bytes);
        std::string bytes_read(std::size_t{p.bytes} + 1, '\0');   // one more than wanted, and no device is read without an end
        file.read(bytes_read.data(), static_cast<std::streamsize>(bytes_read.size()));
        const auto held = static_cast<std::size_t>(file.gcount());
        if (held > p.bytes) return fmt::format("'{}' holds more than the {} bytes of parameter {}", request.value, p.bytes, p.name);
        if (held != p.bytes) return fmt::format("'{}' holds {} bytes, parameter {} has {}", request.value, held, p.name, p.bytes);
        encoded.assign(bytes_read.begin(), bytes_read.begin() + static_cast<std::ptrdiff_t>(held));
    } else {
        auto result = encode_value(request.value, type, bytes);
        if (!result) return fmt::format("parameter {} ({}): {}", p.name, p.type, result.error());
        encoded = std::move(*result);
    }
    set_bytes(value, p.bytes, offset, encoded);
    value.given = request.value.starts_with('@') ? address_given : request.value != "ptr" || p.kind != ParameterKind::pointer;
    if (!request.offset && p.kind != ParameterKind::aggregate) value.known.clear();
    const std::string word = request.value == "ptr" || request.value.starts_with('@') ? shown(encoded, type, true) : request.value;
    std::string& words = bound.words[*found].value;
    if (!request.offset) words = word;
    else words += fmt::format("{}+{}:{}={}", words.empty() ? "" : " ", offset, type, word);
    bound.words[*found].given = true;
    return {};
}

struct Default { Bytes bytes; std::string word, reason; };

/// Does an index get multiplied by it: the length of a row, a pitch?
bool is_stride(const std::vector<ParameterUse>& uses) {
    return std::any_of(uses.begin(), uses.end(), [](const ParameterUse& u) { return u.what == "address stride"; });
}

/// What a row has at least: the extent of x where y tells rows, and how often loops run; with the words for it.
struct RowLength { std::uint64_t elements{}; std::string words; };

RowLength shortest_row(const KernelFacts& kernel, const std::uint64_t (&extents)[3], const BoundArguments& bound) {
    RowLength row;
    const auto take = [&](std::uint64_t elements, std::string words) {
        if (elements > row.elements && elements <= 0x7fffffff) row = {elements, std::move(words)};
    };
    if (kernel.dimensions >= 2) take(extents[0], "the extent of x");
    // What bounds a loop or divides an index is a row's length too, where it was given.
    const auto counts_row = [](const std::vector<ParameterUse>& uses) {
        return std::any_of(uses.begin(), uses.end(), [](const ParameterUse& u) { return u.what == "loop bound" || u.what == "divisor"; });
    };
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const ParameterFacts& p = kernel.parameters[i];
        const ArgumentValue& value = bound.values[i];
        if (!value.given || value.bytes.size() < p.bytes) continue;
        const std::string name = p.source_name.empty() ? p.name : p.source_name;
        if (p.kind == ParameterKind::scalar && p.bytes <= 8 && !is_float_type(effective_type(p)) && counts_row(p.uses)) take(little_endian_bits(value.bytes), name);
        for (const ParameterField& field : p.fields) {
            const std::string type = without_dot(field.type);
            const std::uint32_t bytes = bytes_of_field_type(type);
            if (p.kind != ParameterKind::aggregate || bytes == 0 || is_float_type(type) || field.kind == ParameterKind::pointer || !counts_row(field.uses) || field.offset + bytes > p.bytes) continue;
            if (!value.known.empty() && !value.known[field.offset]) continue;
            take(little_endian_bits(Bytes(value.bytes.begin() + field.offset, value.bytes.begin() + field.offset + bytes)), fmt::format("{}+{}:{}", name, field.offset, type));
        }
    }
    return row;
}

Default default_scalar(const std::string& type, std::uint32_t bytes, int guard_axis, const std::vector<ParameterUse>& uses, const RowLength& row, const std::uint64_t (&extents)[3],
                       const std::string& extent_words) {
    if (type == "f32" || type == "f64") return {*encode_value("1", type, bytes), "1", "a float; its value seldom changes what is executed"};
    if (guard_axis >= 0 && guard_axis < 3) {
        std::uint64_t extent = extents[guard_axis];
        if (bytes < 8) extent = std::min<std::uint64_t>(extent, (std::uint64_t{1} << (8 * bytes - 1)) - 1);
        return {little_endian(extent, bytes), fmt::format("{}", extent),
                fmt::format("compared with the global index in {}: taken as that axis' extent ({})", "xyz"[guard_axis], extent_words)};
    }
    if (bytes >= 4 && is_stride(uses) && row.elements > kAssumedInteger)
        return {little_endian(row.elements, bytes), fmt::format("{}", row.elements), fmt::format("rows lie that far apart, so it is at least {} ({}): taken as that", row.words, row.elements)};
    const std::uint64_t number = bytes == 1 ? 1 : kAssumedInteger;
    return {little_endian(number, bytes), fmt::format("{}", number), "an integer about which nothing is known"};
}

void assume_aggregate(const ParameterFacts& p, const std::vector<FieldName>& named, const RowLength& row, const std::uint64_t (&extents)[3], const std::string& extent_words, ArgumentValue& value,
                      ParameterValue& words, std::vector<Assumption>& assumptions) {
    for (const ParameterField& field : p.fields) {
        const std::string type = without_dot(field.type);
        const std::uint32_t bytes = bytes_of_field_type(type);
        if (bytes == 0 || std::uint64_t{field.offset} + bytes > p.bytes) continue;   // wide reads stay unknown
        if (!value.known.empty() && value.known[field.offset]) continue;
        Default d = field.kind == ParameterKind::pointer
                        ? Default{little_endian(address_of_parameter(0x1000 + std::uint64_t{p.index} * 512 + field.offset / 8, bytes), bytes), "ptr", ""}
                        : default_scalar(type, bytes, field.guard_axis, field.uses, row, extents, extent_words);
        set_bytes(value, p.bytes, field.offset, d.bytes);
        words.value += fmt::format("{}+{}:{}={}", words.value.empty() ? "" : " ", field.offset, type, d.word);
        const auto name = std::find_if(named.begin(), named.end(), [&](const FieldName& f) { return f.parameter == p.index && f.offset == field.offset; });
        if (field.kind != ParameterKind::pointer)
            assumptions.push_back({name != named.end() ? name->name : fmt::format("{}+{}:{}", p.source_name.empty() ? p.name : p.source_name, field.offset, type), d.word, d.reason, consequence_of(field.uses, field.guard_axis, is_float_type(type))});
    }
    if (value.bytes.empty()) value.bytes.assign(p.bytes, 0);
    if (value.known.empty()) value.known.assign(p.bytes, false);
}

}  // namespace

Result<ArgumentRequest> parse_argument(const std::string& text, const char* option) {
    const auto malformed = [&](std::size_t column, std::string message) {
        return tl::unexpected(complain_at("FF0710", option, text, static_cast<std::uint32_t>(column + 1), std::move(message),
                                          "the form is PARAM=VALUE, PARAM+OFFSET:TYPE=VALUE or PARAM=FILE, such as --arg 2=4096"));
    };
    ArgumentRequest request;
    request.text = text;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) return malformed(text.size(), "there is no '='");
    if (equals == 0) return malformed(0, "the parameter's name is missing");
    request.parameter = text.substr(0, equals);
    request.value = text.substr(equals + 1);
    if (request.value.empty()) return malformed(equals + 1, "the value is missing");
    const std::size_t plus = request.parameter.find('+');
    if (plus == std::string::npos) return request;
    const std::size_t colon = request.parameter.find(':', plus);
    if (colon == std::string::npos) return malformed(equals, "the field's type is missing");
    request.field_type = without_dot(request.parameter.substr(colon + 1));
    if (bytes_of_field_type(request.field_type) == 0) return malformed(colon + 1, fmt::format("'{}' is not a type of a field (u8..u64, s8..s64, b8..b64, f32, f64, ptr)", request.field_type));
    const std::string_view digits = std::string_view(request.parameter).substr(plus + 1, colon - plus - 1);
    const bool hex = digits.starts_with("0x");
    std::uint32_t offset{};
    const char* first = digits.data() + (hex ? 2 : 0);
    const auto [end, error] = std::from_chars(first, digits.data() + digits.size(), offset, hex ? 16 : 10);
    if (error != std::errc{} || end != digits.data() + digits.size() || offset > (1u << 20)) return malformed(plus + 1, "the offset is not a number of bytes");
    request.offset = offset;
    request.parameter.resize(plus);
    return request;
}

Result<void> refuse_repeated(const std::vector<ArgumentRequest>& requests, const char* option) {
    for (std::size_t i = 0; i < requests.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            const ArgumentRequest &a = requests[j], &b = requests[i];
            if (a.level != b.level || a.parameter != b.parameter || a.offset != b.offset) continue;
            return tl::unexpected(complain_at("FF0711", option, b.text, 1, fmt::format("'{}' is given twice: '{}' and '{}'", b.text.substr(0, b.text.find('=')), a.text, b.text)));
        }
    return {};
}

std::optional<std::size_t> find_parameter(const KernelFacts& kernel, const std::string& word) {
    const auto& all = kernel.parameters;
    if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos) {
        std::size_t index{};
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
        return error == std::errc{} && index < all.size() ? std::optional(index) : std::nullopt;
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].name == word) return i;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].short_name == word || (!all[i].source_name.empty() && all[i].source_name == word)) return i;
    return std::nullopt;
}

Encoded encode_value(const std::string& value, const std::string& type_text, std::uint32_t bytes) {
    const std::string type = without_dot(type_text);
    if (bytes == 0 || bytes > 8) return tl::unexpected(fmt::format("a value of {} bytes cannot be given as a number", bytes));
    if (is_float_type(type) && !value.starts_with("0x") && !value.starts_with("0X")) {
        const auto real = read_real(value);
        if (!real) return tl::unexpected(fmt::format("'{}' is not a number", value));
        return encode_real(*real, bytes, value);
    }
    if (!looks_real(value)) return encode_integer(value, bytes, value);
    const auto real = read_real(value);
    if (!real) return tl::unexpected(fmt::format("'{}' is not a number", value));
    if (type.starts_with('b') && bytes >= 4) return encode_real(*real, bytes, value);
    // An integer written with a point ("1e6", "4096.0") is what it says as long as it is whole.
    if (*real != std::floor(*real) || std::abs(*real) > 9e15) return tl::unexpected(fmt::format("{} is not whole", value));
    return encode_integer(fmt::format("{}", static_cast<std::int64_t>(*real)), bytes, value);
}

BoundArguments bind_arguments(const KernelFacts& kernel, const std::vector<ArgumentRequest>& requests) {
    BoundArguments bound;
    bound.values.resize(kernel.parameters.size());
    bound.words.resize(kernel.parameters.size());
    bound.misfits.resize(requests.size());
    // Two names of one parameter at one level: neither is right. (One name twice is found without a kernel.)
    const auto twice = [&](std::size_t i) {
        for (std::size_t j = 0; j < i; ++j)
            if (requests[j].level == requests[i].level && requests[j].offset == requests[i].offset && requests[i].parameter != requests[j].parameter) {
                const auto a = find_parameter(kernel, requests[j].parameter), b = find_parameter(kernel, requests[i].parameter);
                if (a && a == b) return fmt::format("'{}' gives parameter {} already", requests[j].text, kernel.parameters[*a].name);
            }
        return std::string();
    };
    for (const bool aliases : {false, true})   // an alias takes what its target has got
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (requests[i].value.starts_with('@') != aliases) continue;
            bound.misfits[i] = twice(i);
            if (bound.misfits[i].empty()) bound.misfits[i] = bind_one(kernel, requests[i], bound);
        }
    return bound;
}

void assume_the_rest(const KernelFacts& kernel, const std::uint64_t (&extents)[3], const std::string& extent_words, BoundArguments& bound, const std::vector<FieldName>& named) {
    bool pointers = false;
    const RowLength row = shortest_row(kernel, extents, bound);
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const ParameterFacts& p = kernel.parameters[i];
        ArgumentValue& value = bound.values[i];
        if (p.kind == ParameterKind::aggregate) {
            assume_aggregate(p, named, row, extents, extent_words, value, bound.words[i], bound.assumptions);
        } else if (value.bytes.empty() && p.kind == ParameterKind::pointer) {
            value.bytes = little_endian(address_of_parameter(i, p.bytes), p.bytes);
            bound.words[i].value = shown(value.bytes, "ptr", true);
            pointers = true;
        } else if (value.bytes.empty()) {
            Default d = default_scalar(effective_type(p), p.bytes, p.guard_axis, p.uses, row, extents, extent_words);
            value.bytes = std::move(d.bytes);
            bound.words[i].value = d.word;
            bound.assumptions.push_back({p.source_name.empty() ? p.name : p.source_name, d.word, d.reason, consequence_of(p.uses, p.guard_axis, is_float_type(effective_type(p)))});
        }
        if (std::find(value.known.begin(), value.known.end(), false) == value.known.end()) value.known.clear();
    }
    if (pointers) bound.assumptions.push_back({"pointers", "distinct, 256-byte aligned", "as cudaMalloc gives them", std::nullopt});
}

std::optional<std::uint64_t> given_extent(const KernelFacts& kernel, const BoundArguments& bound, int axis) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const ParameterFacts& p = kernel.parameters[i];
        const ArgumentValue& value = bound.values[i];
        const auto extent = [&](std::uint32_t offset, std::uint32_t bytes) -> std::optional<std::uint64_t> {
            const Bytes piece(value.bytes.begin() + offset, value.bytes.begin() + offset + bytes);
            const std::uint64_t number = little_endian_bits(piece);
            return number >= 1 && number <= 0x7fffffff ? std::optional(number) : std::nullopt;
        };
        if (!value.given) continue;
        if (p.kind == ParameterKind::scalar && p.guard_axis == axis && p.bytes <= 8 && !is_float_type(effective_type(p))) {
            if (const auto found = extent(0, p.bytes)) return found;
        }
        for (const ParameterField& field : p.fields) {
            const std::uint32_t bytes = bytes_of_field_type(without_dot(field.type));
            if (p.kind != ParameterKind::aggregate || field.guard_axis != axis || bytes == 0 || field.offset + bytes > p.bytes || is_float_type(without_dot(field.type))) continue;
            if (!value.known.empty() && !value.known[field.offset]) continue;
            if (const auto found = extent(field.offset, bytes)) return found;
        }
    }
    return std::nullopt;
}

void use_field_names(const std::vector<FieldName>& fields, std::vector<ArgumentRequest>& requests) {
    for (ArgumentRequest& request : requests) {
        const auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldName& f) { return f.name == request.parameter; });
        if (request.offset || found == fields.end()) continue;
        request.parameter = fmt::format("{}", found->parameter);
        request.offset = found->offset;
        request.field_type = found->type;
    }
}

namespace {

/// The value of a field whose bytes are known; `given_only`: by the user.
std::optional<Number> field_value(const ParameterFacts& p, const ArgumentValue& value, std::uint32_t offset, const std::string& type, bool given_only) {
    const std::uint32_t bytes = bytes_of_field_type(type);
    if (std::uint64_t{offset} + bytes > p.bytes || value.bytes.size() < p.bytes || (given_only && !value.given)) return std::nullopt;
    for (std::uint32_t i = offset; i < offset + bytes; ++i)
        if (!value.known.empty() && !value.known[i]) return std::nullopt;
    const Bytes piece(value.bytes.begin() + offset, value.bytes.begin() + offset + bytes);
    const std::uint64_t bits = little_endian_bits(piece);
    if (type == "f32") return Number{static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))};
    if (type == "f64") return Number{std::bit_cast<double>(bits)};
    const unsigned unused = 64 - 8 * bytes;
    if (type.starts_with('s')) return Number{static_cast<std::int64_t>(bits << unused) >> unused};
    return Number{static_cast<std::int64_t>(bits)};
}

}  // namespace

void add_field_names(const KernelFacts& kernel, const BoundArguments& bound, const std::vector<FieldName>& named, const Expression& expression, Names& names,
                     bool given_only, bool whatever) {
    const auto add = [&](const std::string& name, std::size_t parameter, std::uint32_t offset, const std::string& type) {
        auto value = field_value(kernel.parameters[parameter], bound.values[parameter], offset, type, given_only);
        if (value) names.insert_or_assign(name, *value);
        else if (whatever) names.insert_or_assign(name, Number{std::int64_t{0}});
    };
    for (const Expression::Field& f : expression.fields())
        if (const auto parameter = find_parameter(kernel, f.parameter)) add(f.name, *parameter, f.offset, f.type);
    for (const FieldName& f : named)
        if (f.parameter < kernel.parameters.size()) add(f.name, f.parameter, f.offset, f.type);
}

void add_argument_names(const KernelFacts& kernel, const BoundArguments& bound, Names& names, bool given_only, bool whatever) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const ParameterFacts& p = kernel.parameters[i];
        if (p.kind != ParameterKind::scalar || p.bytes > 8 || (bound.values[i].bytes.empty() && !whatever)) continue;
        if (given_only && !bound.values[i].given) continue;
        const std::uint64_t bits = little_endian_bits(bound.values[i].bytes);
        const std::string type = effective_type(p);
        Number number = static_cast<std::int64_t>(p.bytes == 4 ? static_cast<std::int64_t>(static_cast<std::int32_t>(bits)) : static_cast<std::int64_t>(bits));
        if (type == "f32") number = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        if (type == "f64") number = std::bit_cast<double>(bits);
        for (const std::string& name : {p.name, p.short_name, p.source_name})
            if (!name.empty()) names.insert_or_assign(name, number);
    }
}

std::optional<std::string> consequence_of(const std::vector<ParameterUse>& uses, int guard_axis, bool is_float) {
    std::vector<std::string> words;
    const auto add = [&](std::string word) {
        if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
    };
    for (const ParameterUse& use : uses) {
        if (use.what == "guard") add("how many threads do work");
        else if (use.what == "loop bound") add("how often loops run");
        else if (is_float && use.what == "divisor") continue;   // it divides data
        else if (use.what == "address stride" || use.what == "shift" || use.what == "divisor") add("which addresses are touched");
        else if (use.what != "stored value" && use.what != "address base") add(use.what);
    }
    if (guard_axis >= 0 && words.empty()) add("how many threads do work");
    if (words.empty()) return std::nullopt;
    return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace flipflop::advise
