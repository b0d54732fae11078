#include "passes/fingerprint.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <string_view>

namespace flipflop {
namespace {

/// Two 64-bit lanes of multiply and xor-shift (the finaliser of SplitMix64): no cryptography is needed, only that two
/// kernels of a repository do not meet.
class Hash {
public:
    void add(std::uint64_t word) {
        a_ = mix(a_ ^ word);
        b_ = mix((b_ + word) * 0x9e3779b97f4a7c15ULL);
    }
    void add(std::string_view text) {
        add(text.size());
        std::uint64_t word = 0;
        unsigned filled = 0;
        for (const char c : text) {
            word = word << 8U | static_cast<unsigned char>(c);
            if (++filled == 8) {
                add(word);
                word = 0;
                filled = 0;
            }
        }
        if (filled > 0) { add(word); }
    }
    [[nodiscard]] std::string text() const {
        std::array<char, 33> digits{};
        std::snprintf(digits.data(), digits.size(), "%016llx%016llx", static_cast<unsigned long long>(a_), static_cast<unsigned long long>(b_));
        return digits.data();
    }

private:
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31U);
    }
    std::uint64_t a_{0x243f6a8885a308d3ULL}, b_{0x13198a2e03707344ULL};
};

/// Numbers things in the order in which they are first met.
class Numbering {
public:
    std::uint64_t of(std::uint64_t key) { return seen_.try_emplace(key, seen_.size()).first->second; }
    [[nodiscard]] bool knows(std::uint64_t key) const { return seen_.contains(key); }

private:
    std::map<std::uint64_t, std::uint64_t> seen_;
};

class Fingerprint {
public:
    explicit Fingerprint(const ptx::Module& module) : module_(module) {}

    void add(const ptx::Function& function) {
        Numbering registers;
        hash_.add(function.parameters.size() << 8U | function.returns.size());
        for (const ptx::SymbolId p : function.parameters) { describe(module_.symbol(p)); }
        hash_.add(function.instructions.size());
        for (const ptx::Instruction& i : function.instructions) {
            hash_.add(module_.form(i).text);
            hash_.add(i.guard == ptx::RegId::none ? 0 : 2 + 2 * registers.of(static_cast<std::uint64_t>(i.guard)) + i.guard_negated);
            hash_.add(i.operand_count);
            for (const ptx::Operand& o : module_.operands_of(i)) { add(o, registers, 0); }
        }
    }
    [[nodiscard]] std::string text() const { return hash_.text(); }

private:
    void describe(const ptx::Symbol& symbol) {
        hash_.add(static_cast<std::uint64_t>(symbol.kind) << 24U | static_cast<std::uint64_t>(symbol.space) << 16U | static_cast<std::uint64_t>(symbol.type) << 8U | symbol.vector);
        hash_.add(symbol.byte_size.value_or(~0ULL));
    }
    void add_symbol(std::uint32_t index) {
        if (index >= module_.symbols.size()) {
            hash_.add(~0ULL);
            return;
        }
        const bool fresh = !symbols_.knows(index);
        hash_.add(symbols_.of(index));
        if (fresh) { describe(module_.symbols[index]); }
    }
    void add(const ptx::Operand& o, Numbering& registers, int depth) {
        hash_.add(static_cast<std::uint64_t>(o.kind) << 16U | static_cast<std::uint64_t>(o.selector) << 8U | static_cast<std::uint64_t>(o.negated) << 1U | static_cast<std::uint64_t>(o.paired));
        switch (o.kind) {
            case ptx::OperandKind::reg: hash_.add(registers.of(o.index)); return;
            case ptx::OperandKind::address_reg:
                hash_.add(registers.of(o.index));
                hash_.add(static_cast<std::uint64_t>(o.value));
                return;
            case ptx::OperandKind::symbol:
            case ptx::OperandKind::address_symbol:
            case ptx::OperandKind::name:
                add_symbol(o.index);
                hash_.add(static_cast<std::uint64_t>(o.value));
                return;
            case ptx::OperandKind::vector:
            case ptx::OperandKind::list:
                hash_.add(static_cast<std::uint64_t>(o.value));
                if (depth < 8) {   // PTX nests two deep; a hostile text no deeper than this
                    for (const ptx::Operand& child : module_.children_of(o)) { add(child, registers, depth + 1); }
                }
                return;
            case ptx::OperandKind::special: hash_.add(o.index); return;
            default: hash_.add(static_cast<std::uint64_t>(o.value)); return;
        }
    }

    const ptx::Module& module_;
    Numbering symbols_;
    Hash hash_;
};

}  // namespace

std::string code_fingerprint(const ptx::Module& module, const std::vector<std::uint32_t>& tree) {
    Fingerprint fingerprint(module);
    for (const std::uint32_t f : tree) { fingerprint.add(module.functions[f]); }
    return fingerprint.text();
}

}  // namespace flipflop
