// Operands against what instructions.def says of them: register sizes, constants, vector widths, addresses, values.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "opcode_info.hpp"
#include "parser.hpp"

namespace flipflop::ptx::detail {

void Parser::check_operands(const Instruction& instruction, FormDetail& detail) {
    const Form& form = module().forms[instruction.form];
    const Position here_at{begin_ + instruction.offset, instruction.line};
    if (detail.checked != 0 || !detail.open_ended) {
        std::size_t count = operands_.size();
        for (const Operand& operand : operands_)
            if (operand.paired) --count;
        if (count < detail.least || (!detail.open_ended && count > detail.checked)) {
            report(Code::operand_count, here_at,
                   fmt::format("'{}' has {} operand{}, {} {}", form.text, count, count == 1 ? "" : "s", count < detail.least ? "at least" : "at most",
                               count < detail.least ? detail.least : detail.checked));
            return;
        }
        std::size_t position = 0;
        for (std::size_t i = 0; i < operands_.size() && position < detail.checked; ++i) {
            const Operand& operand = operands_[i];
            const bool plain = operand.kind == OperandKind::reg && !operand.negated && (detail.plain[position] >> static_cast<unsigned>(types_[i]) & 1) != 0;
            if (!plain) check_operand(form, detail, position, operand, types_[i], here_at);
            if (operands_[i].paired) check_partner(form, ++i, here_at);
            ++position;
        }
    }
    if (detail.writes_register && !operands_.empty() && operands_[0].kind != OperandKind::reg) check_result(form, here_at);
    if (detail.checks_values) check_values(form, here_at);
    if (detail.is_call) check_call(here_at);
}

void Parser::check_operand(const Form& form, const FormDetail& detail, std::size_t index, const Operand& operand, Type type, Position at) {
    const std::uint64_t allowed = detail.allowed[index];
    const char letter = detail.letters[index];
    if (operand.negated && !detail.may_negate && operand.kind == OperandKind::reg && type != Type::pred && type != Type::none) {
        report(Code::bad_negation, at, fmt::format("operand {} of '{}' cannot be negated", index + 1, form.text), "negate it with neg or not before");
        return;
    }
    if (operand.kind == OperandKind::reg) {
        if (allowed != 0 && type != Type::none && (allowed >> static_cast<unsigned>(type) & 1) == 0) {
            const Register& reg = function().registers[operand.index];
            const std::string name = reg.number < 0 ? std::string(reg.name) : fmt::format("{}{}", reg.name, reg.number);
            report(Code::operand_type, at, fmt::format("'{}' is .{}, which does not fit operand {} of '{}'", name, to_string(type), index + 1, form.text));
        } else if (letter == 'a') {
            report(Code::operand_type, at, fmt::format("operand {} of '{}' is an address: write it in brackets", index + 1, form.text));
        } else if (letter == 'v' && detail.value_is_vector && form.vector > 1 && type != Type::none) {
            report(Code::vector_width, at, fmt::format("'{}' needs a vector of {} elements in braces", form.text, form.vector));
        }
        return;
    }
    using Constants = FormDetail::Constants;
    if (operand.kind == OperandKind::immediate && detail.constants[index] == Constants::floats) {
        report(Code::operand_type, at, fmt::format("operand {} of '{}' is an integer; a .{} constant is written 1.0 or 0f3F800000", index + 1, form.text, to_string(form.type)));
        return;
    }
    if ((operand.kind == OperandKind::immediate_f32 || operand.kind == OperandKind::immediate_f64) && detail.constants[index] == Constants::integers) {
        report(Code::operand_type, at, fmt::format("operand {} of '{}' is a floating-point constant where an integer stands", index + 1, form.text));
        return;
    }
    if (operand.kind == OperandKind::address_reg && letter == 'a') return check_address_register(form, operand, at);
    if (operand.kind == OperandKind::special) return check_special_operand(form, index, operand, at);
    if (operand.kind == OperandKind::address_symbol && letter == 'a' && detail.names_space) return check_space(form, operand, at);
    if (operand.kind == OperandKind::vector && letter == 'v' && detail.value_is_vector) {
        if (static_cast<unsigned>(operand.value) != form.vector)
            report(Code::vector_width, at, fmt::format("'{}' moves {} element{}, the braces hold {}", form.text, form.vector, form.vector == 1 ? "" : "s", operand.value));
        else check_vector(form, operand, allowed, at);
        return;
    }
    if (operand.kind == OperandKind::address_immediate && letter == 'a' && (form.opcode == Opcode::ld || form.opcode == Opcode::st) && form.space != Space::local)
        report(Code::immediate_address, at, "an immediate address is allowed in .local only");
}

void Parser::check_vector(const Form& form, const Operand& operand, std::uint64_t allowed, Position at) {
    const auto& registers = function().registers;
    for (const Operand& child : module().children_of(operand)) {
        if (child.kind != OperandKind::reg || child.selector != 0) continue;
        const Register& reg = registers[child.index];
        if (reg.vector > 1 || (allowed >> static_cast<unsigned>(reg.type) & 1) != 0 || allowed == 0) continue;
        const std::string name = reg.number < 0 ? std::string(reg.name) : fmt::format("{}{}", reg.name, reg.number);
        report(Code::operand_type, at, fmt::format("'{}' is .{}, which does not fit the vector of '{}'", name, to_string(reg.type), form.text));
        return;
    }
}

/// Addresses of .global and generic ones are as wide as .address_size says; ptxas takes narrower ones for the other spaces.
void Parser::check_address_register(const Form& form, const Operand& operand, Position at) {
    const bool plain = form.opcode == Opcode::ld || form.opcode == Opcode::st || form.opcode == Opcode::atom || form.opcode == Opcode::red;
    if (!plain || (form.space != Space::global && form.space != Space::generic) || module().address_size != 64 || operand.selector != 0) return;
    const Register& reg = function().registers[operand.index];
    if (bits_of(reg.type) != 32 || reg.vector > 1) return;
    const std::string name = reg.number < 0 ? std::string(reg.name) : fmt::format("{}{}", reg.name, reg.number);
    report(Code::operand_type, at, fmt::format("'{}' has 32 bits; an address of '{}' has 64 (.address_size)", name, form.text), "hold the address in a .b64 register");
}

/// Special registers are read by mov and cvt, by a mov of their own size (what ptxas takes: .u16 of a 32-bit one too).
void Parser::check_special_operand(const Form& form, std::size_t index, const Operand& operand, Position at) {
    const Module& m = module();
    const unsigned version = m.version_major * 10 + m.version_minor;
    if (version < 20 || index == 0) return;   // index 0: check_result says that it cannot be written
    const auto special = static_cast<Special>(operand.index);
    if (form.opcode != Opcode::mov && form.opcode != Opcode::cvt) {
        if (form.opcode != Opcode::unknown)
            report(Code::special_operand, at, fmt::format("{} cannot be an operand of '{}'", to_string(special), form.text), "copy it to a register first: mov.u32 %r1, %tid.x;");
        return;
    }
    if (form.opcode != Opcode::mov || form.vector > 1 || special == Special::other || special == Special::gridid) return;
    if (special == Special::is_explicit_cluster && form.type == Type::pred) return;
    const unsigned bits = bits_of(form.type);
    const bool wide = special == Special::clock64 || special == Special::globaltimer || special == Special::current_graph_exec || (special == Special::pm && operand.value >= 64);
    const bool whole = operand.value == 4 && special <= Special::nctaid_z;
    if (whole) report(Code::vector_width, at, fmt::format("'{}' takes one part of the vector: .x, .y or .z", form.text));
    else if (is_float(form.type) || bits == 0 || (bits == 64) != wide || bits > 64)
        report(Code::operand_type, at, fmt::format("{} has {} bits and does not fit '{}'", to_string(special), wide ? 64 : 32, form.text), wide ? "read it by mov.u64" : "read it by mov.u32");
}

/// The second result of p|q is a predicate.
void Parser::check_partner(const Form& form, std::size_t index, Position at) {
    if (index >= operands_.size() || operands_[index].kind != OperandKind::reg) return;
    if (types_[index] != Type::pred && types_[index] != Type::none)
        report(Code::operand_type, at, fmt::format("the second result of '{}' is a predicate, not .{}", form.text, to_string(types_[index])));
}

void Parser::check_result(const Form& form, Position at) {
    if (operands_.empty()) return;
    switch (operands_[0].kind) {
        case OperandKind::immediate: case OperandKind::immediate_f32: case OperandKind::immediate_f64:
            report(Code::not_writable, at, fmt::format("the result of '{}' is a register, not a constant", form.text));
            break;
        case OperandKind::special:
            report(Code::not_writable, at, fmt::format("{} cannot be written", to_string(static_cast<Special>(operands_[0].index))));
            break;
        case OperandKind::address_reg: case OperandKind::address_symbol: case OperandKind::address_immediate:
            report(Code::not_writable, at, fmt::format("the first operand of '{}' is its result, a register", form.text));
            break;
        default: break;
    }
}

/// ld.shared of a symbol in .global, and stores where nothing may be stored.
void Parser::check_space(const Form& form, const Operand& operand, Position at) {
    const Symbol& symbol = module().symbol(operand.symbol());
    if (symbol.kind == Symbol::Kind::function || symbol.space == Space::none) return;
    if (symbol.space != form.space) {
        report(Code::state_space, at, fmt::format("'{}' is in .{}, '{}' addresses .{}", symbol.name, to_string(symbol.space), form.text, to_string(form.space)));
        return;
    }
    if (form.opcode != Opcode::st || form.space != Space::param || symbol.kind != Symbol::Kind::parameter) return;
    const auto& inputs = function().parameters;
    if (std::find(inputs.begin(), inputs.end(), operand.symbol()) != inputs.end())
        report(Code::state_space, at, fmt::format("'{}' is an input of '{}' and cannot be stored to", symbol.name, function().name));
}

/// Rules of single instructions about constants and counts.
void Parser::check_values(const Form& form, Position at) {
    const auto constant = [&](std::size_t i) -> std::optional<std::int64_t> {
        if (i >= operands_.size() || operands_[i].kind != OperandKind::immediate) return std::nullopt;
        return operands_[i].value;
    };
    const auto bad = [&](std::int64_t value, std::string_view wanted) { report(Code::bad_value, at, fmt::format("'{}' does not take {}: {}", form.text, value, wanted)); };
    switch (form.opcode) {
        case Opcode::bar: case Opcode::bar_arrive: case Opcode::bar_red: case Opcode::barrier: {
            const std::size_t first = form.opcode == Opcode::bar_red ? 1 : 0;
            if (const auto id = constant(first); id && (*id < 0 || *id > 15)) bad(*id, "barriers are 0 to 15");
            if (const auto count = constant(first + 1); count && form.opcode != Opcode::bar_red && (*count <= 0 || *count % 32 != 0))
                bad(*count, "the number of threads is a multiple of the warp size");
            break;
        }
        case Opcode::cp_async:
            if (const auto bytes = constant(2); bytes && form.has("cg") && *bytes != 16) bad(*bytes, "cp.async.cg copies 16 bytes");
            else if (bytes && *bytes != 4 && *bytes != 8 && *bytes != 16) bad(*bytes, "cp.async copies 4, 8 or 16 bytes");
            break;
        case Opcode::lop3: {
            const std::size_t table = operands_[0].paired ? 5 : 4;
            if (table < operands_.size() && operands_[table].kind == OperandKind::reg) report(Code::bad_value, at, fmt::format("the table of '{}' is a constant", form.text));
            break;
        }
        case Opcode::pmevent:
            if (const auto event = constant(0); event && form.has("mask") && (*event < 0 || *event > 0xffff)) bad(*event, "a mask of events has 16 bits");
            else if (event && !form.has("mask") && (*event < 0 || *event > 15)) bad(*event, "events are 0 to 15");
            else if (!event) report(Code::bad_value, at, "the event of 'pmevent' is a constant");
            break;
        case Opcode::setmaxnreg:
            if (const auto count = constant(0); count && (*count < 24 || *count > 256 || *count % 8 != 0)) bad(*count, "a multiple of 8 from 24 to 256");
            break;
        case Opcode::atom:
            if (form.has("cas") && operands_.size() < 4) report(Code::operand_count, at, fmt::format("'{}' has a result, an address and two values", form.text));
            break;
        case Opcode::st:
            if (form.space == Space::constant) report(Code::state_space, at, "nothing can be stored to .const");
            break;
        case Opcode::mov:
            if (operands_.size() > 1 && operands_[1].kind == OperandKind::symbol && bits_of(form.type) == 32 && module().address_size == 64 &&
                module().symbol(operands_[1].symbol()).space == Space::global)
                report(Code::operand_type, at, fmt::format("the address of '{}' has 64 bits (.address_size), '{}' moves 32", module().symbol(operands_[1].symbol()).name, form.text));
            check_vector_sizes(form, at);
            break;
        case Opcode::ldmatrix: case Opcode::stmatrix: case Opcode::mma: check_vector_sizes(form, at); break;
        case Opcode::tex: case Opcode::tld4: case Opcode::suld: case Opcode::sust: check_vector_sizes(form, at); break;
        default: break;
    }
}

/// Brace lists whose length the opcode text fixes: packed mov, matrices.
void Parser::check_vector_sizes(const Form& form, Position at) {
    const auto odd = [&](const Operand& group) {
        const auto size = static_cast<std::uint64_t>(group.value);
        const bool is_odd = group.kind == OperandKind::vector && size != 0 && !std::has_single_bit(size);
        if (is_odd) report(Code::vector_width, at, fmt::format("'{}' has no brace list of {} elements", form.text, size));
        return is_odd;
    };
    for (const Operand& operand : operands_) {
        if (odd(operand)) return;
        if (operand.kind == OperandKind::list)
            for (const Operand& child : module().children_of(operand))
                if (odd(child)) return;
        if (operand.kind != OperandKind::vector || operand.value == 0) continue;
        const auto size = static_cast<std::uint64_t>(operand.value);
        if (form.opcode == Opcode::mma || form.vector > 1 || form.instruction_class == InstructionClass::texture) continue;
        if (form.opcode == Opcode::mov) {
            check_packed(form, operand, at);
            continue;
        }
        const std::uint64_t matrices = form.has("x4") ? 4 : form.has("x2") ? 2 : 1;
        if (form.has("m8n8") && size != matrices)
            report(Code::vector_width, at, fmt::format("'{}' moves {} matrices, the braces hold {} elements", form.text, matrices, size));
    }
}

/// mov.b64 {a, b}, c: the elements have one size, and together that of the type.
void Parser::check_packed(const Form& form, const Operand& operand, Position at) {
    unsigned bits = 0;
    for (const Operand& child : module().children_of(operand)) {
        if (child.kind != OperandKind::reg || child.selector != 0) continue;
        const Register& reg = function().registers[child.index];
        if (reg.vector > 1) return;
        if (bits != 0 && bits_of(reg.type) != bits) {
            report(Code::vector_width, at, fmt::format("the elements in the braces of '{}' have different sizes", form.text));
            return;
        }
        bits = bits_of(reg.type);
    }
    if (bits != 0 && bits_of(form.type) != 0 && bits * static_cast<std::uint64_t>(operand.value) != bits_of(form.type))
        report(Code::vector_width, at, fmt::format("{} elements of {} bits do not make the {} bits of '{}'", operand.value, bits, bits_of(form.type), form.text));
}

}  // namespace flipflop::ptx::detail
