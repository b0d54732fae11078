// Owns: a PTX module as data: what was written, resolved as far as names and scopes go. It knows PTX and no GPU.
// Input: text. Invariant: every RegId, SymbolId, label and operand index is in range; every instruction has a Form,
// an unknown opcode included (opcode == Opcode::unknown). Memory: see docs/parser.md (about 70 bytes an instruction).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop::ptx {

/// Index of a register within its function (Function::registers). All lanes of `.reg .b32 %r<100>` have ids of their own.
enum class RegId : std::uint32_t { none = 0xffffffff };
/// Index into Module::symbols.
enum class SymbolId : std::uint32_t { none = 0xffffffff };

/// Scalar types of PTX ISA 5.2 and the packed and narrow types of later versions.
enum class Type : std::uint8_t {
    none, pred,
    b8, b16, b32, b64, b128,
    u8, u16, u32, u64,
    s8, s16, s32, s64,
    f16, f16x2, f32, f32x2, f64, bf16, bf16x2, tf32,
    e4m3, e5m2, e4m3x2, e5m2x2, e2m3x2, e3m2x2, e2m1x2, ue8m0, ue8m0x2, ue4m3,
    e2m3, e3m2, e2m1, u4, s4, b1, u16x2, s16x2, u8x4, s8x4,
    texref, samplerref, surfref, other,
};
/// Bits of one value of the type (32 for f16x2; 0 where it has none, such as pred).
[[nodiscard]] unsigned bits_of(Type type);
[[nodiscard]] bool is_signed(Type type);
[[nodiscard]] bool is_float(Type type);
[[nodiscard]] std::string_view to_string(Type type);

enum class Space : std::uint8_t { none, generic, global, shared, local, constant, param, reg, texture, surface };
[[nodiscard]] std::string_view to_string(Space space);  ///< the contract's words: "const", not "constant"

/// Comparison of setp/set/slct (PTX ISA 9.7.6); the *u forms are true for NaN.
enum class Compare : std::uint8_t { none, eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class BoolOp : std::uint8_t { none, and_op, or_op, xor_op };
enum class Rounding : std::uint8_t { none, rn, rna, rz, rm, rp, rs, rni, rzi, rmi, rpi };

/// The contract's instruction classes (CONTRACT.md section 5), one for each Opcode and its modifiers.
enum class InstructionClass : std::uint8_t {
    fp32, fp64, fp16, bf16, int32, int64, sfu, conversion, logic, predicate, move, control, tensor,
    load_global, store_global, load_shared, store_shared, load_local, store_local, load_const, load_param,
    texture, atomic, async_copy, barrier, fence, shuffle, vote, other,
    count_,
};
[[nodiscard]] std::string_view to_string(InstructionClass instruction_class);
inline constexpr std::size_t kInstructionClasses = static_cast<std::size_t>(InstructionClass::count_);

/// One opcode a row of ptx_parser/instructions.def; `unknown` stands for every opcode the table has not.
enum class Opcode : std::uint16_t {
    unknown,
#define PTX_OP(name, identifier, ...) identifier,
#include "ptx_parser/instructions.def"
#undef PTX_OP
    count_,
};

/// The decoded opcode text ("ld.global.nc.v4.f32"), shared by all instructions of a module that spell it alike.
/// Modifiers are a set: their order in the text does not matter, except between types.
struct Form {
    std::string_view text;            ///< as written, opcode and modifiers
    Opcode opcode{Opcode::unknown};
    InstructionClass instruction_class{InstructionClass::other};
    Type type{Type::none};            ///< first type in the text: the destination's, or the only one
    Type type2{Type::none};           ///< second type (the source of cvt, the compared type of set), else none
    Type type3{Type::none};
    Type type4{Type::none};
    Space space{Space::none};         ///< generic when a memory operation names none
    Space space2{Space::none};        ///< source side of cp.async and bulk copies, else none
    Compare compare{Compare::none};
    BoolOp bool_op{BoolOp::none};
    Rounding rounding{Rounding::none};
    std::uint8_t vector{1};           ///< 1, 2, 4 or 8
    std::uint8_t results{};           ///< leading operands that are written; a pair p|q (Operand::paired) counts once.
                                      ///< 0 for call, whose returned values are a leading `list` operand
    bool wide{}, hi{}, lo{}, sat{}, ftz{}, approx{}, full{}, uniform{}, to{};
    bool cc{};                        ///< writes the carry flag (".cc")
    bool carry_in{};                  ///< reads it (addc, subc, madc)
    bool is_volatile{}, relaxed{}, acquire{}, release{}, sync{}, noinc{}, try_form{};
    bool may_branch{};                ///< bra, brx, ret, exit, trap
    bool reads_memory{}, writes_memory{};
    std::vector<std::string_view> modifiers;  ///< every modifier as written, without its dot, types included
    [[nodiscard]] bool has(std::string_view modifier) const;
};

enum class OperandKind : std::uint8_t {
    none,
    reg,             ///< index = RegId; `negated` for !p
    special,         ///< index = Special
    immediate,       ///< value = the 64-bit integer pattern
    immediate_f32,   ///< value = IEEE bits in the low word (0f...)
    immediate_f64,   ///< value = IEEE bits (0d... and decimal floats)
    symbol,          ///< index = SymbolId, value = byte offset (sym+4): the address of a variable, function or parameter
    label,           ///< value = instruction index within the function (== instruction count for a label at the end)
    address_reg,     ///< [reg+value]
    address_symbol,  ///< [sym+value]; index = SymbolId
    address_immediate,  ///< [value]
    vector,          ///< {a, b, ...}: index = first child in Module::operands, value = how many
    list,            ///< (a, b, ...) of a call, [tensor, {c0, c1}] of tensor copies and textures; children as above
    discard,         ///< _
    name,            ///< a label table, prototype or other name that is no value: index = SymbolId or none
};

/// One operand, 16 bytes.
struct Operand {
    OperandKind kind{OperandKind::none};
    bool negated{};            ///< !p, or -reg where PTX allows it
    std::uint8_t selector{};   ///< 0 none; 1-4 .x .y .z .w; 5-8 .b0-.b3; 9-10 .h0 .h1 (video); 11, 12: .h, .b and digits: value is 1, then these, in hex
    bool paired{};             ///< the first of p|q: the next operand is the second result
    std::uint32_t index{};
    std::int64_t value{};
    [[nodiscard]] RegId reg() const { return static_cast<RegId>(index); }
    [[nodiscard]] SymbolId symbol() const { return static_cast<SymbolId>(index); }
};

/// Special registers (PTX ISA section 10). Axis registers have one enumerator an axis.
enum class Special : std::uint16_t {
    tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z,
    laneid, warpid, nwarpid, smid, nsmid, gridid,
    lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge, lanemask_gt,
    clock, clock_hi, clock64, globaltimer, globaltimer_lo, globaltimer_hi, pm,
    is_explicit_cluster,
    clusterid_x, clusterid_y, clusterid_z, nclusterid_x, nclusterid_y, nclusterid_z,
    cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z, cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z,
    cluster_ctarank, cluster_nctarank,
    dynamic_smem_size, total_smem_size, aggr_smem_size, reserved_smem, current_graph_exec, envreg, other,
};
[[nodiscard]] std::string_view to_string(Special special);

/// One statement that does something. Operands are Module::operands[operands_begin, +operand_count).
struct Instruction {
    std::uint32_t form{};            ///< index into Module::forms
    std::uint32_t operands_begin{};
    std::uint16_t operand_count{};   ///< top-level operands, children of vectors and lists not counted
    bool guard_negated{};
    RegId guard{RegId::none};        ///< @p
    std::uint32_t offset{};          ///< byte offset of the statement (its guard included) in Module::text
    std::uint32_t line{};            ///< 1-based line in the text
    std::uint32_t location{};        ///< 1-based index into Module::locations, 0 for none
};

struct Register {
    std::string_view name;           ///< "%r"; the number, if any, in `number`
    std::int32_t number{-1};         ///< of a parameterised register, else -1
    Type type{Type::none};
    std::uint8_t vector{1};
};

enum class Linkage : std::uint8_t { none, visible, external, weak, common };

/// A piece of an initialiser: a number, or the address of a symbol plus an offset (masked as PTX `mask()` says).
struct InitialValue {
    std::uint64_t bits{};
    SymbolId address_of{SymbolId::none};
    std::uint8_t mask_byte{0xff};    ///< 0xff = whole; else which byte of the address
    bool generic{};                  ///< generic(sym)
};

/// A variable, parameter or function name.
struct Symbol {
    std::string_view name;
    enum class Kind : std::uint8_t { variable, parameter, function, label_table, prototype } kind{Kind::variable};
    Space space{Space::none};
    Type type{Type::none};
    std::uint8_t vector{1};
    Linkage linkage{Linkage::none};
    std::uint32_t alignment{};       ///< bytes; the declared one or the type's own
    std::optional<std::uint64_t> byte_size;  ///< whole object; none for `extern .shared x[]` and the like
    std::vector<std::uint32_t> dimensions;   ///< outermost first; 0 for an unsized first dimension
    std::uint32_t function{0xffffffff};      ///< owner (parameters, local and function-scope variables), else 0xffffffff
    std::uint32_t index{};           ///< parameter: position from 0; function: index into Module::functions; label table: into label_tables
    bool is_pointer{};               ///< parameter declared with .ptr
    Space pointer_space{Space::none};
    std::uint32_t pointer_alignment{};
    std::vector<InitialValue> initial;       ///< element by element; shorter than the object: the rest is zero
    std::string_view sampler_state;          ///< initialiser of a texture, sampler or surface, with its braces
    std::vector<std::string_view> attributes;  ///< what stands in the parentheses of .attribute: ".managed"
    std::uint32_t offset{};          ///< where it is declared in the text
    std::uint32_t scope{};           ///< of a variable inside a body: index into Function::scopes
};

struct LabelTable {                  ///< .branchtargets / .calltargets
    std::vector<std::uint32_t> instruction_targets;  ///< instruction indices within the function
    std::vector<SymbolId> function_targets;
};

/// A `.loc`: file number, line and column of the source, and through what it was inlined.
struct Location {
    std::uint32_t file{}, line{}, column{};
    std::uint32_t inlined_at{};      ///< 1-based index into Module::locations, 0 for none
    std::string_view function_name;
};

/// Performance directives, with nothing where the text says nothing.
struct LaunchDirectives {
    std::optional<std::uint32_t> max_registers, min_blocks_per_sm;
    std::optional<std::uint32_t> max_threads[3];       ///< .maxntid
    std::optional<std::uint32_t> required_threads[3];  ///< .reqntid
    std::optional<std::uint32_t> required_cluster[3];  ///< .reqnctapercluster
    std::optional<std::uint32_t> max_cluster_rank;
    std::optional<std::uint32_t> abi_preserve, abi_preserve_control;
    bool explicit_cluster{}, blocks_are_clusters{}, no_return{};
    std::vector<std::string_view> pragmas;
};

struct Label {
    std::string_view name;
    std::uint32_t instruction{};     ///< the instruction it stands before
    std::uint32_t line{};
    std::uint32_t scope{};           ///< index into Function::scopes
};

/// A pair of braces inside a body; scope 0 is the body itself. Names declared in it hide those outside.
struct Scope {
    std::uint32_t parent{};
    std::uint32_t begin{}, end{};    ///< instruction indices [begin, end)
    std::uint32_t begin_offset{}, end_offset{};  ///< of its braces in the text; of scope 0, those of the body
};

/// One declarator of a `.reg` statement: `count` registers from `first` on, name<count> when `parameterised`.
struct RegisterRange {
    RegId first{RegId::none};
    std::uint32_t count{};
    std::uint32_t scope{};
    bool parameterised{};
};

/// A `.pragma` among the instructions.
struct BodyPragma {
    std::uint32_t instruction{};     ///< the instruction it stands before
    std::string_view text;           ///< without its quotes
};

struct Function {
    std::string_view name;
    bool is_entry{};
    bool has_body{};
    Linkage linkage{Linkage::none};
    SymbolId symbol{SymbolId::none};
    std::vector<SymbolId> returns;
    std::vector<SymbolId> parameters;
    bool is_variadic{};                      ///< its parameters end in "..."
    std::vector<std::string_view> attributes;  ///< as Symbol::attributes
    LaunchDirectives directives;
    std::vector<Register> registers;         ///< by RegId. A `.reg` parameter is a Symbol of space reg and a register of that name;
                                             ///< they come first: returns, then parameters
    std::vector<RegisterRange> register_ranges;
    std::vector<Scope> scopes;
    std::vector<BodyPragma> body_pragmas;    ///< all pragmas in the body, in text order
    std::vector<Label> labels;               ///< in text order
    std::vector<Instruction> instructions;
    std::vector<SymbolId> variables;         ///< declared inside the body: .local, .shared, .param, ...
    std::uint32_t line{};                    ///< of its name
    std::uint32_t unknown_instructions{};
};

struct SourceFile {
    std::uint32_t number{};
    std::string path;
    std::optional<std::uint64_t> modified, bytes;   ///< seconds since 1970, size
};

/// A `.section`, or a @@DWARF line of PTX 1.x and 2.x, which has no name and no body.
struct DebugSection {
    std::string_view text;           ///< as written, directive and braces included
    std::string_view name, body;     ///< body: its bytes without the braces
};

/// One PTX module (one .version to the next, or the end). Owns its text; all string_views point into it.
struct Module {
    std::string name;                        ///< of the file or container entry
    std::shared_ptr<const std::string> text; ///< with the texts of the modules concatenated to it
    std::uint32_t begin_offset{}, end_offset{};  ///< of its own part of the text; what stands before the first .version is the first one's
    std::uint32_t version_major{}, version_minor{};
    std::string_view target;                 ///< "sm_80", "sm_90a"
    std::uint32_t target_number{};           ///< 80, 90
    char target_suffix{};                    ///< 'a', 'f' or 0
    std::vector<std::string_view> target_options;
    std::uint32_t address_size{64};          ///< bits
    std::vector<Form> forms;
    std::vector<Operand> operands;
    std::vector<Symbol> symbols;
    std::vector<Function> functions;
    std::vector<LabelTable> label_tables;
    std::vector<std::string_view> prototypes;  ///< text of each .callprototype, "(...) _ (...)"; Symbol::index points here
    std::vector<std::pair<SymbolId, SymbolId>> aliases;  ///< .alias: new name, existing one
    std::vector<std::string_view> pragmas;     ///< at module level
    std::vector<Location> locations;
    std::vector<SourceFile> files;
    std::vector<DebugSection> sections;
    std::uint64_t instruction_count{};
    std::uint32_t line_count{};
    bool has_dwarf{};
    /// Names of functions' parameters in the source, in order, by the function's linkage name (debug_names.cpp).
    std::map<std::string, std::vector<std::string>, std::less<>> parameter_names;

    /// From its .version to the next one: what an assembler is given.
    [[nodiscard]] std::string_view own_text() const { return std::string_view(*text).substr(begin_offset, end_offset - begin_offset); }
    [[nodiscard]] const Form& form(const Instruction& i) const { return forms[i.form]; }
    [[nodiscard]] std::span<const Operand> operands_of(const Instruction& i) const {
        return {operands.data() + i.operands_begin, i.operand_count};
    }
    [[nodiscard]] std::span<const Operand> children_of(const Operand& o) const {
        return {operands.data() + o.index, static_cast<std::size_t>(o.value)};
    }
    [[nodiscard]] const Symbol& symbol(SymbolId id) const { return symbols[static_cast<std::uint32_t>(id)]; }
};

struct ParseOptions {
    std::uint32_t max_diagnostics{100};      ///< more are counted, not kept
};

/// What came of a text: its modules (two concatenated ones are two) and everything there is to say about them.
struct ParseResult {
    std::vector<Module> modules;
    std::vector<Diagnostic> diagnostics;
    std::uint64_t errors{}, warnings{};      ///< all of them, also those past max_diagnostics
};

/// Parses PTX text of any size. Never throws on any input, never reads outside `text`; recovery is at statement ends.
/// `name` is what diagnostics call the file. An empty text, a binary or a UTF-16 one is an error diagnostic.
[[nodiscard]] ParseResult parse(std::shared_ptr<const std::string> text, std::string name, const ParseOptions& options = {});

/// PTX text that parses to the same module, comments and spacing normalised. What a Module does not hold is left out:
/// directives that the parser does not know.
[[nodiscard]] std::string print(const Module& module);

/// One row of instructions.def.
/// specific: needs an `a` or `f` target; specific_100: one of those below sm_120 (data centre parts); sm90a: that one only.
enum class TargetRule : std::uint8_t { any, specific, specific_100, sm90a };

struct OpcodeInfo {
    std::string_view name;
    Opcode opcode{};
    std::uint8_t results{};
    bool may_branch{};
    bool reads_memory{}, writes_memory{};
    std::uint16_t since_ptx{};               ///< 10 * major + minor, 0 for "always"
    std::uint16_t since_sm{};
    TargetRule target{TargetRule::any};
    std::string_view operands;               ///< signature, see instructions.def
};
[[nodiscard]] const OpcodeInfo& info(Opcode opcode);

}  // namespace flipflop::ptx
