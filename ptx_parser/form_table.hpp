// Owns: the forms of a module: each distinct opcode text is decoded once and found again by hash.
// Invariant: detail(i) belongs to module.forms[i].
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "characters.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop::ptx::detail {

/// What the statement parser needs to know of a form beside the Form itself.
struct FormDetail {
    static constexpr std::size_t kMaxOperands = 8;
    std::array<std::uint64_t, kMaxOperands> allowed{};  ///< register types by operand as bits; 0: not checked
    std::array<std::uint64_t, kMaxOperands> plain{};    ///< types of registers of which there is nothing to say
    std::array<char, kMaxOperands> letters{};
    /// What constants may stand there: any, integers only, floats only.
    enum class Constants : std::uint8_t { any, integers, floats };
    std::array<Constants, kMaxOperands> constants{};
    std::uint8_t checked{};        ///< operands with a letter
    std::uint8_t least{};          ///< operands there must be
    bool open_ended{};             ///< more than `checked` operands are fine
    bool is_call{}, is_branch{};
    bool may_name_label{};         ///< bra, brx.idx, call: an unknown name may be a label or a table
    bool writes_register{};        ///< operand 0 is written
    bool names_space{};            ///< a symbol in its address must be of Form::space
    bool may_negate{};             ///< -reg is allowed
    bool checks_values{};          ///< check_values() has something to say
    bool needs_check{};            ///< there is more to check than the types of registers and constants
    bool value_is_vector{};        ///< letter v: brace lists must have Form::vector elements
    bool used{};                   ///< target and version were checked
    std::uint32_t uses{};
    std::uint32_t first_offset{}, first_line{};
};

class FormTable {
public:
    FormTable();
    /// `text` must outlive the module. Slow only the first time.
    std::uint32_t intern(std::string_view text, std::uint64_t hash, std::vector<Form>& forms) {
        for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[i];
            if (slot.form == kFree) return add(text, hash, forms);
            if (slot.hash != hash || slot.length != text.size()) continue;
            if (text.size() <= 8 || same_bytes(forms[slot.form].text.data(), text.data(), text.size())) return slot.form;   // up to 8 characters the hash is the text
        }
    }
    [[nodiscard]] FormDetail& detail(std::uint32_t form) { return details_[form]; }
    [[nodiscard]] std::size_t size() const { return details_.size(); }
    void clear();

private:
    static constexpr std::uint32_t kFree = 0xffffffff;
    struct Slot {
        std::uint64_t hash{};
        std::uint32_t form{kFree};
        std::uint32_t length{};
    };
    std::uint32_t add(std::string_view text, std::uint64_t hash, std::vector<Form>& forms);
    void place(std::uint64_t hash, std::uint32_t form, std::size_t length);

    std::vector<Slot> slots_;
    std::vector<FormDetail> details_;
    std::vector<std::uint64_t> hashes_;
};

/// Decodes an opcode text; blanks inside it are allowed ("add .s32").
[[nodiscard]] Form decode_form(std::string_view text);
/// Whether a modifier is one that PTX ISA 9.x knows (types and shapes included).
[[nodiscard]] bool is_known_modifier(std::string_view modifier);
/// A data type without an enumerator of its own (Type::other), such as b4x16_p64.
[[nodiscard]] bool is_other_type(std::string_view word);
/// Bits of the register types that may stand for a value of `type`; `wider`: larger registers will do.
[[nodiscard]] std::uint64_t registers_for(Type type, bool wider, bool doubled);

}  // namespace flipflop::ptx::detail
