#include "random_reblocking.hpp"

#include <random>
#include <vector>

namespace naive {
namespace {

class Maker {
public:
    explicit Maker(std::uint64_t seed) : random_(seed) {}
    RandomReblocking make();

private:
    unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
    bool chance(unsigned percent) { return pick(100) < percent; }
    std::string reg() { return "%r" + std::to_string(registers_++); }
    std::string real() { return "%f" + std::to_string(reals_++); }
    std::string wide() { return "%rd" + std::to_string(wides_++); }
    std::string predicate() { return "%p" + std::to_string(predicates_++); }
    void line(const std::string& text) { body_ += "\t" + text + ";\n"; }
    std::string any() { return values_[pick(static_cast<unsigned>(values_.size()))]; }

    std::string address(const std::string& base, const std::string& index);
    std::string source_index();
    void load();
    void exchange();
    void shuffle();
    void combine();
    void scale();
    void store();

    std::mt19937_64 random_;
    std::string body_;
    std::vector<std::string> values_;
    unsigned registers_{20}, reals_{1}, wides_{10}, predicates_{5}, n_{};
    bool strides_{};
};

std::string Maker::address(const std::string& base, const std::string& index) {
    const std::string w = wide(), a = wide();
    line("mul.wide.u32 " + w + ", " + index + ", 4");
    line("add.s64 " + a + ", " + base + ", " + w);
    return a;
}

std::string Maker::source_index() {
    const std::string i = reg();
    switch (pick(8)) {
        case 0: line("xor.b32 " + i + ", %r5, " + std::to_string(1u << pick(4))); break;
        case 1: line("sub.s32 " + i + ", %r8, %r5"); line("sub.s32 " + i + ", " + i + ", 1"); break;
        case 2: line("mul.lo.s32 " + i + ", %r5, 7"); line("rem.u32 " + i + ", " + i + ", %r8"); break;
        case 3: line("mad.lo.s32 " + i + ", %r3, %r2, " + std::to_string(pick(32))); break;      // one element for the whole block
        case 4: line("shr.u32 " + i + ", %r5, " + std::to_string(1 + pick(4))); break;
        default: line("add.s32 " + i + ", %r5, " + std::to_string(pick(5))); break;
    }
    return i;
}

void Maker::load() {
    const std::string f = real();
    line("ld.global.f32 " + f + ", [" + address("%rd2", source_index()) + "]");
    values_.push_back(f);
}

/// Through shared memory: what a thread stores another reads behind a barrier (sometimes without one).
void Maker::exchange() {
    const std::string a = reg(), i = reg(), b = reg(), f = real();
    line("shl.b32 " + a + ", %r1, 2");
    line("st.shared.f32 [" + a + "], " + any());
    if (!chance(5)) line("bar.sync 0");
    switch (pick(6)) {
        case 0: line("sub.s32 " + i + ", %r2, %r1"); line("sub.s32 " + i + ", " + i + ", 1"); break;
        case 1: line("add.s32 " + i + ", %r1, 1"); line("rem.u32 " + i + ", " + i + ", %r2"); break;
        case 2: line("and.b32 " + i + ", %r1, " + std::to_string(0xffffffe0u)); break;
        default: line("xor.b32 " + i + ", %r1, " + std::to_string(1u << pick(7))); break;
    }
    line("shl.b32 " + b + ", " + i + ", 2");
    line("ld.shared.f32 " + f + ", [" + b + "]");
    line("bar.sync 0");
    values_.push_back(f);
}

void Maker::shuffle() {
    const std::string b = reg(), c = reg(), f = real();
    line("mov.b32 " + b + ", " + any());
    const unsigned clamp = chance(50) ? 0x1f : 0x181f;             // whole warps, or segments of eight
    line("shfl.sync." + std::string(chance(70) ? "bfly" : "down") + ".b32 " + c + ", " + b + ", " + std::to_string(1u << pick(4)) + ", " + std::to_string(clamp) + ", 0xffffffff");
    line("mov.b32 " + f + ", " + c);
    values_.push_back(f);
}

void Maker::combine() {
    const std::string f = real(), a = any(), b = any();
    switch (pick(6)) {
        case 0: line("max.f32 " + f + ", " + a + ", " + b); break;
        case 1: line((a == b ? "add.f32 " : "sub.f32 ") + f + ", " + a + ", " + b); break;      // x - x depends on nothing
        case 2: {
            const std::string p = predicate();
            line("setp.gt.f32 " + p + ", " + a + ", " + b);
            line("selp.f32 " + f + ", " + a + ", " + b + ", " + p);
            break;
        }
        case 3: line("fma.rn.f32 " + f + ", " + a + ", 0f40000000, " + b); break;
        default: line("add.f32 " + f + ", " + a + ", " + b); break;
    }
    values_.push_back(f);
}

/// A factor made from where the thread stands.
void Maker::scale() {
    static const char* const kFactors[] = {"%r5", "%r5", "%r1", "%r2", "%r6", "%r3"};
    const std::string m = reg(), k = real(), f = real();
    line("and.b32 " + m + ", " + kFactors[pick(6)] + ", " + (chance(50) ? "7" : "1023"));
    line("cvt.rn.f32.u32 " + k + ", " + m);
    line((chance(50) ? "mul.f32 " : "add.f32 ") + f + ", " + any() + ", " + k);
    values_.push_back(f);
}

void Maker::store() {
    const std::string i = reg(), value = values_.back();
    switch (pick(12)) {
        case 0: line("mad.lo.s32 " + i + ", %r3, " + std::to_string(64 << pick(3)) + ", %r1"); break;
        case 1: line("shr.u32 " + i + ", %r5, 1"); break;
        case 2: line("xor.b32 " + i + ", %r5, 3"); break;
        case 3: line("shl.b32 " + i + ", %r5, 1"); break;
        case 4: {                                                   // one lane of eight
            const std::string m = reg(), p = predicate();
            line("and.b32 " + m + ", %r1, 7");
            line("setp.eq.u32 " + p + ", " + m + ", 0");
            line("shr.u32 " + i + ", %r5, 3");
            const std::string a = address("%rd1", i);
            line("@" + p + " st.global.f32 [" + a + "], " + value);
            return;
        }
        default: line("mov.u32 " + i + ", %r5"); break;
    }
    const std::string a = address("%rd1", i);
    if (chance(10)) line("red.global.add.f32 [" + a + "], " + value);
    else line("st.global.f32 [" + a + "], " + value);
}

RandomReblocking Maker::make() {
    static const flipflop::Dim3 kBlocks[] = {{32, 1, 1}, {64, 1, 1}, {96, 1, 1}, {128, 1, 1}, {256, 1, 1}, {40, 1, 1}, {64, 2, 1}};
    RandomReblocking k;
    k.reference = kBlocks[chance(70) ? 1 + 2 * pick(2) : pick(6)];
    k.candidate = kBlocks[pick(chance(10) ? 7 : 6)];
    k.n = n_ = chance(60) ? 384 : 250 + pick(150);
    strides_ = chance(20);
    const auto grid = [&](const flipflop::Dim3& b) { return flipflop::Dim3{strides_ ? 3 : (n_ + b.x - 1) / b.x, 1, 1}; };
    k.reference_grid = grid(k.reference);
    k.candidate_grid = grid(k.candidate);
    if (strides_) body_ += "NEXT:\n";
    line("setp.ge.u32 %p1, %r5, %r8");
    const bool together = !strides_ && chance(55);
    // Where threads meet, those without an element stay (mostly) and do not store.
    if (!together || chance(6)) line("@%p1 bra DONE");
    load();
    const unsigned steps = 1 + pick(5);
    for (unsigned s = 0; s < steps; ++s) {
        switch (pick(together ? 7 : 4)) {
            case 0: load(); break;
            case 1: case 2: combine(); break;
            case 3: if (chance(50)) scale(); else combine(); break;
            case 4: shuffle(); combine(); break;
            default: exchange(); break;
        }
    }
    if (together) line("@%p1 bra DONE");
    store();
    if (strides_) {
        line("mad.lo.s32 %r5, %r2, %r4, %r5");
        line("bra.uni NEXT");
    }
    k.text =
        ".version 8.0\n.target sm_80\n.address_size 64\n\n.visible .entry made(.param .u64 made_param_0, .param .u64 made_param_1, .param .u32 made_param_2)\n{\n"
        "\t.reg .pred %p<40>;\n\t.reg .b32 %r<200>;\n\t.reg .f32 %f<100>;\n\t.reg .b64 %rd<200>;\n\t.shared .align 4 .b8 stage[1024];\n"
        "\tld.param.u64 %rd3, [made_param_0];\n\tld.param.u64 %rd4, [made_param_1];\n\tld.param.u32 %r8, [made_param_2];\n"
        "\tcvta.to.global.u64 %rd1, %rd3;\n\tcvta.to.global.u64 %rd2, %rd4;\n"
        "\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %ctaid.x;\n\tmov.u32 %r4, %nctaid.x;\n\tmad.lo.s32 %r5, %r3, %r2, %r1;\n\tmul.lo.s32 %r6, %r2, %r4;\n" +
        body_ + "DONE:\n\tret;\n}\n";
    return k;
}

}  // namespace

RandomReblocking random_reblocking(std::uint64_t seed) { return Maker(seed).make(); }

}  // namespace naive
