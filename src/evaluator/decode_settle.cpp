// What a broken file leaves of an instruction: the parser reports it and goes on, so operands may be missing or of a kind
// that the operation cannot take. Such an operation is unknown here, once for all, and the interpreter need not look.
#include <algorithm>

#include "evaluator/decode.hpp"

namespace flipflop::eval {
namespace {

/// How many sources the interpreter reads of an operation that computes a value.
unsigned sources_read(Op op) {
    switch (op) {
    case Op::count: case Op::activemask: case Op::elect: case Op::unknown: case Op::pack: case Op::load: case Op::store:
    case Op::access: case Op::branch: case Op::brx: case Op::leave: case Op::call: case Op::barrier: return 0;
    case Op::mov: case Op::cvt: case Op::abs: case Op::neg: case Op::popc: case Op::clz: case Op::bfind: case Op::brev:
    case Op::not_: case Op::cnot: case Op::fneg: case Op::fabs: case Op::ftanh: case Op::fsqrt: case Op::frcp: case Op::frsqrt: case Op::fex2:
    case Op::flg2: case Op::fsin: case Op::fcos: case Op::testp: case Op::unpack: case Op::vote: case Op::match: case Op::redux:
    case Op::isspacep: case Op::cvta: case Op::mapa: case Op::ctarank: return 1;
    case Op::mad_lo: case Op::mad_hi: case Op::mad_wide: case Op::sad: case Op::bfe: case Op::fns: case Op::dp4a: case Op::dp2a:
    case Op::lop3: case Op::shf: case Op::prmt: case Op::selp: case Op::slct: case Op::madc: case Op::ffma:
    case Op::shfl: return 3;
    case Op::bfi: return 4;
    default: return 2;
    }
}

bool computes(Op op) { return op > Op::count && op < Op::unknown; }

/// These may leave out their first result for the second: setp _|q.
bool two_results(Op op) { return op == Op::setp || op == Op::shfl || op == Op::match || op == Op::elect; }

}  // namespace

void Decoder::decode(u32 index, std::vector<MicroOp>& out) {
    const auto begin = static_cast<std::ptrdiff_t>(out.size());
    translate(index, out);
    for (auto m = out.begin() + begin; m != out.end(); ++m) {
        const unsigned read = std::max<unsigned>(m->sources, sources_read(m->op));
        const bool whole = read <= 4 && std::find(m->src, m->src + std::min(read, 4u), kNone) == m->src + std::min(read, 4u);
        if (m->op == Op::unknown || (computes(m->op) && !whole)) {
            m->op = Op::unknown;
            m->sources = 0;
            std::fill(std::begin(m->src), std::end(m->src), kNone);
        }
    }
    const auto nowhere = [](const MicroOp& m) {
        return computes(m.op) && m.dst[0] == kNone && !(two_results(m.op) && m.dst[1] != kNone);
    };
    out.erase(std::remove_if(out.begin() + begin, out.end(), nowhere), out.end());
}

}  // namespace flipflop::eval
