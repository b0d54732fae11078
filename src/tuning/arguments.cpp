// The file's Arguments as what --arg and --data say: values of scalars, contents of integer arrays.
#include "tuning/arguments.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "inputs/file.hpp"

namespace flipflop::tuning {

namespace {

constexpr std::uint64_t kMostFilled = 64ULL << 20;   ///< bytes of one array that are worth knowing

struct TypeInfo { std::string_view name; std::uint32_t bytes; bool whole; };
constexpr TypeInfo kTypes[]{{"bool", 1, true}, {"int8", 1, true}, {"uint8", 1, true}, {"int16", 2, true}, {"uint16", 2, true}, {"int32", 4, true}, {"uint32", 4, true}, {"int", 4, true},
                            {"uint", 4, true}, {"int64", 8, true}, {"uint64", 8, true}, {"half", 2, false}, {"float", 4, false}, {"double", 8, false},
                            {"half2", 4, false}, {"half4", 8, false}, {"half8", 16, false}, {"half16", 32, false}, {"float2", 8, false}, {"float4", 16, false}, {"float8", 32, false},
                            {"float16", 64, false}, {"double2", 16, false}, {"double4", 32, false}, {"double8", 64, false}, {"double16", 128, false}};

const TypeInfo* type_of(std::string_view name) {
    const auto found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeInfo& t) { return t.name == name; });
    return found == std::end(kTypes) ? nullptr : found;
}

/// Contents that decide addresses are whole numbers; those of others are not known and need not be.
std::optional<ArrayData> contents_of(const Spec& spec, const Argument& a) {
    const TypeInfo* const type = type_of(a.type);
    if (!type || !type->whole) return std::nullopt;
    ArrayData data;
    data.element_bytes = type->bytes;
    if (a.fill == "BinaryRaw" && !a.source.empty()) {
        InputLimits limits;
        limits.max_file_bytes = kMostFilled;
        const auto file = FileBytes::open((std::filesystem::path(spec.file).parent_path() / a.source).string(), limits);
        if (!file) return std::nullopt;
        data.bytes.assign(file->view().begin(), file->view().end());
        return data;
    }
    if (a.fill != "Constant" || !a.value || !a.value->number()) return std::nullopt;
    const auto elements = elements_of(spec, a);
    if (!elements || *elements > kMostFilled / type->bytes) return std::nullopt;
    const std::int64_t value = a.value->whole() ? a.value->integer : static_cast<std::int64_t>(a.value->real);
    data.bytes.resize(*elements * type->bytes);
    for (std::uint64_t i = 0; i < *elements; ++i) std::memcpy(data.bytes.data() + i * type->bytes, &value, type->bytes);
    return data;
}

}  // namespace

std::optional<std::uint64_t> bytes_of_type(const std::string& type) {
    const TypeInfo* const known = type_of(type);
    return known ? std::optional<std::uint64_t>(known->bytes) : std::nullopt;
}

tl::expected<BoundFile, std::string> bind_file(const Spec& spec, std::size_t parameters) {
    BoundFile bound;
    std::vector<const Argument*> given;
    std::size_t constants = 0;
    for (const Argument& a : spec.arguments)
        if (a.memory != Argument::Memory::local && a.memory != Argument::Memory::symbol) {
            given.push_back(&a);
            constants += a.constant ? 1 : 0;
        }
    // An argument in constant memory is copied to its symbol; kernels that take it as a parameter too and kernels that do
    // not are both published. The number of parameters tells.
    if (given.size() != parameters && given.size() - constants == parameters)
        given.erase(std::remove_if(given.begin(), given.end(), [](const Argument* a) { return a->constant; }), given.end());
    if (!spec.arguments.empty() && given.size() != parameters)
        return tl::unexpected(fmt::format("the file gives {} arguments, the kernel has {} parameters", given.size(), parameters));
    for (std::size_t i = 0; i < given.size(); ++i) {
        const Argument& a = *given[i];
        const std::string index = std::to_string(i);
        if (a.memory == Argument::Memory::scalar) {
            bound.arguments.push_back({index + "=" + a.value->words(), index, a.value->kind == Value::Kind::truth ? std::to_string(a.value->integer) : a.value->words(), {}, {}});
        } else {
            bound.arguments.push_back({index + "=ptr", index, "ptr", {}, {}});
            if (auto data = contents_of(spec, a)) bound.data.push_back({a.name, index, std::move(*data), {}});
        }
    }
    for (const Argument& a : spec.arguments)
        if (a.constant && !a.name.empty())
            if (auto data = contents_of(spec, a)) bound.data.push_back({a.name, a.name, std::move(*data), {}});
    for (const Argument& a : spec.arguments)
        if (a.memory == Argument::Memory::local)
            if (const auto elements = elements_of(spec, a)) bound.local_bytes += *elements * bytes_of_type(a.type).value_or(1);
    return bound;
}

}  // namespace flipflop::tuning
