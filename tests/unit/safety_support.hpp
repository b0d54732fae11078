// A kernel, launches of it, and verdicts: what the tests of re-blocking share.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "flipflop/evaluator.hpp"

namespace safety {

using flipflop::ArgumentValue;
using flipflop::Dim3;
using flipflop::Launch;
using flipflop::SafetyVerdict;

inline ArgumentValue number(std::uint64_t value, std::size_t bytes) {
    ArgumentValue a;
    for (std::size_t k = 0; k < bytes; ++k) a.bytes.push_back(static_cast<std::uint8_t>(k < 8 ? value >> (8 * k) : 0));
    a.given = true;
    return a;
}

inline std::string file_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    REQUIRE(in.good());
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
}

/// One kernel of a PTX text. Pointers are 2^36 apart, as the command makes them.
class Kernel {
public:
    /// The entry of that name, else the first.
    explicit Kernel(const std::string& text, const std::string& name = {}) : parsed_(flipflop::ptx::parse(std::make_shared<const std::string>(text), "test.ptx")) {
        for (const auto& d : parsed_.diagnostics) UNSCOPED_INFO(d.message);
        REQUIRE(parsed_.errors == 0);
        REQUIRE(parsed_.modules.size() == 1);
        const auto& functions = parsed_.modules[0].functions;
        std::uint32_t entry = 0;
        while (entry < functions.size() && (!functions[entry].is_entry || (!name.empty() && functions[entry].name != name))) ++entry;
        REQUIRE(entry < functions.size());
        entry_ = entry;
        code_ = flipflop::analyse_kernel(parsed_.modules[0], entry);
    }
    static Kernel from(const std::filesystem::path& path, const std::string& name = {}) { return Kernel(file_text(path), name); }

    [[nodiscard]] Launch launch(Dim3 block, Dim3 grid, const std::vector<std::pair<std::size_t, std::uint64_t>>& arguments,
                                std::uint64_t dynamic_shared = 0) const {
        Launch l;
        l.block = block;
        l.grid = grid;
        l.dynamic_shared_bytes = dynamic_shared;
        for (std::size_t p = 0; p < code_.facts.parameters.size(); ++p) {
            const auto& facts = code_.facts.parameters[p];
            std::uint64_t value = facts.kind == flipflop::ParameterKind::pointer ? (p + 1) << 36 : 0;
            for (const auto& [index, v] : arguments)
                if (index == p) value = v;
            l.arguments.push_back(number(value, facts.bytes));
        }
        return l;
    }
    [[nodiscard]] SafetyVerdict judge(const Launch& reference, const Launch& candidate, bool assumed = false) const {
        return flipflop::judge_reblocking(code_, reference, candidate, assumed);
    }
    [[nodiscard]] const flipflop::KernelCode& code() const { return code_; }
    [[nodiscard]] const flipflop::ptx::Module& module() const { return parsed_.modules[0]; }
    [[nodiscard]] std::uint32_t entry() const { return entry_; }

private:
    flipflop::ptx::ParseResult parsed_;
    flipflop::KernelCode code_;
    std::uint32_t entry_{};
};

inline std::string word(const SafetyVerdict& v) { return !v.safe ? "unverified" : *v.safe ? "safe" : "unsafe"; }

inline std::uint32_t blocks(std::uint32_t work, std::uint32_t block) { return (work + block - 1) / block; }

/// How a launch's grid follows from its block.
struct Rule {
    Dim3 fixed{0, 0, 0}, work{0, 0, 0};
    [[nodiscard]] Dim3 grid(const Dim3& b) const {
        if (fixed.x) return fixed;
        return {blocks(work.x, b.x), blocks(work.y, b.y), blocks(work.z, b.z)};
    }
};

/// "32,8,1"
inline Dim3 shape(const std::string& text) {
    Dim3 d;
    char comma{};
    std::istringstream(text) >> d.x >> comma >> d.y >> comma >> d.z;
    return d;
}

/// The body of an entry `k` with pointers `out` and `in` and two numbers `n` and `m`, and everything it may declare.
inline std::string entry(const std::string& body, const std::string& before = {}) {
    return ".version 8.0\n.target sm_80\n.address_size 64\n" + before +
           ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n, .param .u32 m)\n{\n"
           ".reg .pred %p<20>;\n.reg .f32 %f<40>;\n.reg .f64 %d<20>;\n.reg .b32 %r<60>;\n.reg .b64 %rd<40>;\n.reg .b16 %h<10>;\n"
           "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r1, [n];\nld.param.u32 %r2, [m];\n"
           "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %ctaid.x;\nmad.lo.s32 %r6, %r5, %r4, %r3;\n" +
           body + "\n}\n";
}

}  // namespace safety
