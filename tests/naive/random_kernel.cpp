#include "random_kernel.hpp"

#include <random>
#include <vector>

namespace naive {
namespace {

/// Writes statements; every value is a u32 register, so that any value may feed any other.
class Writer {
public:
    explicit Writer(std::uint64_t seed) : random_(seed) {}

    RandomKernel make();

private:
    unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
    std::string reg() { return "%r" + std::to_string(registers_++); }
    std::string predicate() { return "%p" + std::to_string(predicates_++); }
    std::string wide() { return "%rd" + std::to_string(wides_++); }
    std::string any() { return values_[pick(static_cast<unsigned>(values_.size()))]; }
    void line(const std::string& text) { body_ += "\t" + text + ";\n"; }
    std::string value();
    void load_or_store(bool store);
    void shared_staging();
    void guarded();
    void loop(int depth);
    void statements(int depth, int count);

    std::mt19937_64 random_;
    std::string body_;
    std::vector<std::string> values_;
    unsigned registers_{1}, predicates_{1}, wides_{10}, labels_{}, staged_{};
    bool in_divergence_{};
};

std::string Writer::value() {
    const std::string d = reg(), a = any(), b = any();
    const std::string c = std::to_string(1 + pick(97));
    switch (pick(16)) {
        case 0: line("add.s32 " + d + ", " + a + ", " + b); break;
        case 1: line("mad.lo.s32 " + d + ", " + a + ", " + c + ", " + b); break;
        case 2: line("rem.u32 " + d + ", " + a + ", " + c); break;
        case 3: line("xor.b32 " + d + ", " + a + ", " + b); break;
        case 4: line("shl.b32 " + d + ", " + a + ", " + std::to_string(pick(6))); break;
        case 5: line("shr.u32 " + d + ", " + a + ", " + std::to_string(pick(9))); break;
        case 6: line("and.b32 " + d + ", " + a + ", " + std::to_string((1u << pick(10)) - 1)); break;
        case 7: line("sub.s32 " + d + ", " + a + ", " + b); break;
        case 8: line("div.u32 " + d + ", " + a + ", " + c); break;
        case 9: line("min.s32 " + d + ", " + a + ", " + b); break;
        case 10: line("max.u32 " + d + ", " + a + ", " + b); break;
        case 11: line("mul.hi.u32 " + d + ", " + a + ", 0x9E3779B1"); break;
        case 12: line("bfe.u32 " + d + ", " + a + ", " + std::to_string(pick(8)) + ", " + std::to_string(1 + pick(12))); break;
        case 13: line("lop3.b32 " + d + ", " + a + ", " + b + ", " + any() + ", " + std::to_string(pick(256))); break;
        case 14: line("prmt.b32 " + d + ", " + a + ", " + b + ", " + std::to_string(pick(65536))); break;
        default: {
            const std::string p = predicate();
            static const char* const kCompare[] = {"lt.s32", "ge.u32", "eq.s32", "ne.u32", "gt.s32", "le.u32"};
            line("setp." + std::string(kCompare[pick(6)]) + " " + p + ", " + a + ", " + b);
            line("selp.b32 " + d + ", " + b + ", " + a + ", " + p);
        }
    }
    values_.push_back(d);
    return d;
}

void Writer::load_or_store(bool store) {
    static const unsigned kMask[] = {0xff, 0xfff, 0xffff};
    const std::string i = reg(), w = wide(), address = wide();
    line("and.b32 " + i + ", " + any() + ", " + std::to_string(kMask[pick(3)]));
    const unsigned width = pick(4) == 0 ? 16 : pick(3) == 0 ? 8 : 4;
    const unsigned bytes = pick(6) == 0 && width == 4 ? 1 : width;
    line("mul.wide.u32 " + w + ", " + i + ", " + std::to_string(bytes));
    line("add.s64 " + address + ", " + (store ? "%rd2" : "%rd1") + ", " + w);
    const std::string offset = pick(3) == 0 && bytes == 4 ? "+" + std::to_string(4 * pick(40)) : "";
    const std::string where = "[" + address + offset + "]";
    if (bytes == 1) line(store ? "st.global.u8 " + where + ", " + any() : "ld.global.u8 %r0, " + where);
    else if (bytes == 4) line(store ? "st.global.u32 " + where + ", " + any() : "ld.global.u32 %r0, " + where);
    else if (bytes == 8) line(store ? "st.global.v2.u32 " + where + ", {" + any() + ", " + any() + "}" : "ld.global.v2.u32 {%r0, %r0}, " + where);
    else line(store ? "st.global.v4.u32 " + where + ", {" + any() + ", " + any() + ", " + any() + ", " + any() + "}" : "ld.global.v4.u32 {%r0, %r0, %r0, %r0}, " + where);
}

/// Each thread stores a known value at an address of its own, and after a barrier reads another thread's.
void Writer::shared_staging() {
    if (in_divergence_ || staged_ >= 2) return;
    ++staged_;
    const std::string base = staged_ == 1 ? "stage_a" : "stage_b";
    const std::string a = reg(), b = reg(), s = reg(), i = reg(), d = reg();
    const unsigned stride = 4 * (1 + pick(3));
    line("mov.u32 " + s + ", " + base);
    line("mad.lo.s32 " + a + ", %r3, " + std::to_string(stride) + ", " + s);
    line("st.shared.u32 [" + a + "], " + any());
    line("bar.sync 0");
    line("xor.b32 " + i + ", %r3, " + std::to_string(1u << pick(5)));
    const std::string last = reg();
    line("sub.s32 " + last + ", %r4, 1");
    line("min.u32 " + i + ", " + i + ", " + last);
    line("mad.lo.s32 " + b + ", " + i + ", " + std::to_string(stride) + ", " + s);
    line("ld.shared.u32 " + d + ", [" + b + "]");
    line("bar.sync 0");
    values_.push_back(d);
}

void Writer::guarded() {
    const std::string p = predicate(), label = "$G" + std::to_string(labels_++);
    line("setp." + std::string(pick(2) ? "lt.u32 " : "ne.s32 ") + p + ", " + any() + ", " + any());
    line("@" + p + " bra " + label);
    const bool outer = in_divergence_;
    in_divergence_ = true;
    const std::size_t known = values_.size();
    statements(0, 2 + static_cast<int>(pick(3)));
    values_.resize(known);                       // values made under the guard are not defined on the other way
    in_divergence_ = outer;
    body_ += label + ":\n";
}

void Writer::loop(int depth) {
    const std::string counter = reg(), p = predicate(), bound = reg(), label = "$L" + std::to_string(labels_++);
    if (pick(3) == 0) {
        line("and.b32 " + bound + ", " + any() + ", 7");
        line("add.s32 " + bound + ", " + bound + ", 1");
    } else {
        line("mov.u32 " + bound + ", " + std::to_string(1 + pick(depth > 1 ? 5 : 24)));
    }
    line("mov.u32 " + counter + ", 0");
    body_ += label + ":\n";
    const bool outer = in_divergence_;
    in_divergence_ = true;
    const std::size_t known = values_.size();
    values_.push_back(counter);
    statements(depth - 1, 2 + static_cast<int>(pick(3)));
    values_.resize(known);
    in_divergence_ = outer;
    if (pick(4) == 0) {                           // a break in the middle
        const std::string q = predicate(), out = "$B" + std::to_string(labels_++);
        line("setp.eq.u32 " + q + ", " + counter + ", " + std::to_string(pick(6)));
        line("@" + q + " bra " + out);
        load_or_store(false);
        line("add.s32 " + counter + ", " + counter + ", 1");
        line("setp.lt.u32 " + p + ", " + counter + ", " + bound);
        line("@" + p + " bra " + label);
        body_ += out + ":\n";
        return;
    }
    line("add.s32 " + counter + ", " + counter + ", " + std::to_string(1 + pick(2)));
    line("setp.lt.u32 " + p + ", " + counter + ", " + bound);
    line("@" + p + " bra " + label);
}

void Writer::statements(int depth, int count) {
    for (int i = 0; i < count; ++i) {
        switch (pick(9)) {
            case 0: load_or_store(true); break;
            case 1: case 2: load_or_store(false); break;
            case 3: if (depth > 0) { loop(depth); break; } value(); break;
            case 4: if (depth > 0 || !in_divergence_) { guarded(); break; } value(); break;
            case 5: shared_staging(); break;
            default: value();
        }
    }
}

RandomKernel Writer::make() {
    RandomKernel k;
    static const std::uint32_t kBlocks[][2] = {{32, 1}, {64, 1}, {96, 1}, {40, 1}, {16, 4}, {8, 8}, {33, 2}, {1, 50}, {128, 1}};
    const auto& block = kBlocks[pick(9)];
    k.block_x = block[0];
    k.block_y = block[1];
    k.grid_x = 1 + pick(4);
    k.grid_y = 1 + pick(3);
    k.n = static_cast<std::int32_t>(40 + pick(400));
    registers_ = 12;
    values_ = {"%r1", "%r2", "%r3", "%r5", "%r6", "%r7", "%r8"};
    statements(2, 9 + static_cast<int>(pick(6)));
    load_or_store(true);
    k.text =
        ".version 8.0\n.target sm_80\n.address_size 64\n\n.visible .entry made(.param .u64 made_param_0, .param .u64 made_param_1, .param .u32 made_param_2)\n{\n"
        "\t.reg .pred %p<" + std::to_string(predicates_ + 2) + ">;\n\t.reg .b32 %r<" + std::to_string(registers_ + 2) + ">;\n\t.reg .b64 %rd<" + std::to_string(wides_ + 2) +
        ">;\n\t.shared .align 4 .b8 stage_a[4096];\n\t.shared .align 4 .b8 stage_b[4096];\n"
        "\tld.param.u64 %rd3, [made_param_0];\n\tld.param.u64 %rd4, [made_param_1];\n\tld.param.u32 %r8, [made_param_2];\n"
        "\tcvta.to.global.u64 %rd1, %rd3;\n\tcvta.to.global.u64 %rd2, %rd4;\n"
        "\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %tid.y;\n\tmov.u32 %r9, %ntid.x;\n\tmov.u32 %r10, %ntid.y;\n\tmov.u32 %r6, %ctaid.x;\n\tmov.u32 %r7, %ctaid.y;\n"
        "\tmad.lo.s32 %r3, %r2, %r9, %r1;\n\tmul.lo.s32 %r4, %r9, %r10;\n\tmad.lo.s32 %r5, %r6, %r4, %r3;\n" +
        body_ + "\tret;\n}\n";
    return k;
}

}  // namespace

RandomKernel random_kernel(std::uint64_t seed) { return Writer(seed).make(); }

}  // namespace naive
