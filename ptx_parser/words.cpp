// The words for enumerators, and what a type is.
#include <array>

#include "words.hpp"

namespace flipflop::ptx {
namespace {

struct TypeWord {
    std::string_view word;
    std::uint8_t bits;
};

// In the order of enum Type.
constexpr std::array kTypes = std::to_array<TypeWord>({
    {"", 0}, {"pred", 0},
    {"b8", 8}, {"b16", 16}, {"b32", 32}, {"b64", 64}, {"b128", 128},
    {"u8", 8}, {"u16", 16}, {"u32", 32}, {"u64", 64},
    {"s8", 8}, {"s16", 16}, {"s32", 32}, {"s64", 64},
    {"f16", 16}, {"f16x2", 32}, {"f32", 32}, {"f32x2", 64}, {"f64", 64}, {"bf16", 16}, {"bf16x2", 32}, {"tf32", 32},
    {"e4m3", 8}, {"e5m2", 8}, {"e4m3x2", 16}, {"e5m2x2", 16}, {"e2m3x2", 16}, {"e3m2x2", 16}, {"e2m1x2", 8},
    {"ue8m0", 8}, {"ue8m0x2", 16}, {"ue4m3", 8},
    {"e2m3", 6}, {"e3m2", 6}, {"e2m1", 4}, {"u4", 4}, {"s4", 4}, {"b1", 1}, {"u16x2", 32}, {"s16x2", 32}, {"u8x4", 32}, {"s8x4", 32},
    {"texref", 64}, {"samplerref", 64}, {"surfref", 64}, {"other", 0},
});
static_assert(kTypes.size() == static_cast<std::size_t>(Type::other) + 1);

constexpr std::array kClasses = std::to_array<std::string_view>({
    "fp32", "fp64", "fp16", "bf16", "int32", "int64", "sfu", "conversion", "logic", "predicate", "move", "control", "tensor",
    "load_global", "store_global", "load_shared", "store_shared", "load_local", "store_local", "load_const", "load_param",
    "texture", "atomic", "async_copy", "barrier", "fence", "shuffle", "vote", "other"});
static_assert(kClasses.size() == kInstructionClasses);

constexpr std::array kSpaces = std::to_array<std::string_view>(
    {"", "generic", "global", "shared", "local", "const", "param", "reg", "texture", "surface"});

// In the order of enum Special; "other" and "envreg" are families.
constexpr std::array kSpecials = std::to_array<std::string_view>({
    "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z",
    "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid",
    "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt",
    "%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%pm",
    "%is_explicit_cluster", "%clusterid.x", "%clusterid.y", "%clusterid.z", "%nclusterid.x", "%nclusterid.y", "%nclusterid.z",
    "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
    "%cluster_ctarank", "%cluster_nctarank", "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size",
    "%reserved_smem", "%current_graph_exec", "%envreg", "%other"});
static_assert(kSpecials.size() == static_cast<std::size_t>(Special::other) + 1);

}  // namespace

unsigned bits_of(Type type) { return kTypes[static_cast<std::size_t>(type)].bits; }

bool is_signed(Type type) {
    switch (type) {
        case Type::s4: case Type::s8: case Type::s16: case Type::s32: case Type::s64: case Type::s16x2: case Type::s8x4: return true;
        default: return is_float(type);
    }
}

bool is_float(Type type) {
    return (type >= Type::f16 && type <= Type::ue4m3) || type == Type::e2m3 || type == Type::e3m2 || type == Type::e2m1;
}

std::string_view to_string(Type type) { return kTypes[static_cast<std::size_t>(type)].word; }
std::string_view to_string(Space space) { return kSpaces[static_cast<std::size_t>(space)]; }
std::string_view to_string(InstructionClass instruction_class) {
    const auto index = static_cast<std::size_t>(instruction_class);
    return index < kClasses.size() ? kClasses[index] : "other";
}
std::string_view to_string(Special special) { return kSpecials[static_cast<std::size_t>(special)]; }

namespace detail {

Type type_from(std::string_view word) {
    for (std::size_t i = 1; i + 1 < kTypes.size(); ++i)
        if (kTypes[i].word == word) return static_cast<Type>(i);
    return Type::none;
}

bool is_axis_special(std::string_view name) {
    for (std::string_view axis : {"%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"})
        if (axis == name) return true;
    return false;
}

std::optional<Special> special_from(std::string_view name, char axis) {
    std::string text(name);
    if (axis != 0) (text += '.') += axis;
    for (std::size_t i = 0; i + 1 < kSpecials.size(); ++i)
        if (kSpecials[i] == text) return static_cast<Special>(i);
    return std::nullopt;
}

}  // namespace detail
}  // namespace flipflop::ptx
