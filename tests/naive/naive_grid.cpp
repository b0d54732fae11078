// The machine's threads, control and arithmetic.
#include <algorithm>

#include "naive_grid.hpp"

namespace naive {

using flipflop::ptx::Opcode;
using flipflop::ptx::OperandKind;

void Bytes::store(std::uint64_t address, Value value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) {
        Page& page = pages_[(address + i) / kPage];
        page.known[(address + i) % kPage] = value.has_value();
        if (value) page.data[(address + i) % kPage] = static_cast<std::uint8_t>(*value >> (8 * i));
    }
}

Value Bytes::load(std::uint64_t address, unsigned bytes) const {
    std::uint64_t value = 0, number = 0;
    const Page* page = nullptr;
    for (unsigned i = 0; i < bytes; ++i) {
        if (!page || number != (address + i) / kPage) {
            number = (address + i) / kPage;
            const auto it = pages_.find(number);
            if (it == pages_.end()) return std::nullopt;
            page = &it->second;
        }
        if (!page->known[(address + i) % kPage]) return std::nullopt;
        value |= std::uint64_t{page->data[(address + i) % kPage]} << (8 * i);
    }
    return value;
}

namespace {

std::uint64_t align_up(std::uint64_t value, std::uint64_t to) { return to ? (value + to - 1) / to * to : value; }

}  // namespace

Grid::Grid(const Module& module, std::uint32_t entry, const Launch& launch, Listener& listener, const GridOptions& options)
    : module_(module), entry_(module.functions[entry]), launch_(launch), listener_(listener), options_(options), steps_left_(options.max_steps),
      global_(options.global ? options.global : &given_) {
    lay_out();
    for (const auto& [index, data] : launch.parameter_data) {
        if (index >= launch.arguments.size()) continue;
        std::uint64_t base = 0;
        for (std::size_t b = 0; b < launch.arguments[index].bytes.size() && b < 8; ++b) base |= std::uint64_t{launch.arguments[index].bytes[b]} << (8 * b);
        for (std::size_t b = 0; b < data.bytes.size(); ++b) given_.store(base + b, data.bytes[b], 1);
    }
}

void Grid::fill(const Symbol& symbol, std::uint64_t address) {
    Bytes& to = symbol.space == Space::constant ? constants_ : *global_;
    const auto given = launch_.symbol_data.find(std::string(symbol.name));
    const unsigned element = std::max(1u, flipflop::ptx::bits_of(symbol.type) / 8);
    if (given != launch_.symbol_data.end())
        for (std::size_t b = 0; b < given->second.bytes.size(); ++b) to.store(address + b, given->second.bytes[b], 1);
    else if (!symbol.initial.empty() || (symbol.space == Space::global && options_.global))
        for (std::size_t e = 0; e * element < *symbol.byte_size; ++e)
            to.store(address + e * element, e < symbol.initial.size() ? Value{symbol.initial[e].bits} : Value{0}, element);
}

void Grid::lay_out() {
    std::uint64_t shared = 0, local = 0, global = kGlobalSymbols, constant = kConstSymbols;
    symbol_at_.assign(module_.symbols.size(), 0);
    for (std::size_t pass = 0; pass < 2; ++pass)      // extern .shared lies behind all that has a size
        for (std::size_t i = 0; i < module_.symbols.size(); ++i) {
            const Symbol& s = module_.symbols[i];
            if (s.kind != Symbol::Kind::variable) continue;
            const bool dynamic = s.space == Space::shared && !s.byte_size;
            if (dynamic != (pass == 1)) continue;
            std::uint64_t* at = s.space == Space::shared ? &shared : s.space == Space::local ? &local : s.space == Space::constant ? &constant : &global;
            const std::uint64_t alignment = s.space == Space::global || s.space == Space::constant ? 256 : std::max<std::uint32_t>(s.alignment, 1);
            *at = align_up(*at, alignment);
            symbol_at_[i] = *at;
            if (!dynamic) *at += s.byte_size.value_or(0);
            if ((s.space == Space::constant || s.space == Space::global) && s.byte_size) fill(s, symbol_at_[i]);
        }
    shared_bytes_ = shared + launch_.dynamic_shared_bytes;
}

const Loops& Grid::loops_of(const Function& function) {
    auto it = loops_.find(&function);
    if (it == loops_.end()) it = loops_.emplace(&function, find_loops(module_, function)).first;
    return it->second;
}

Value Grid::symbol_address(const Symbol& symbol, std::uint32_t id) const {
    if (symbol.kind == Symbol::Kind::variable) return symbol_at_[id];
    return std::nullopt;
}

Value Grid::special(const Thread& t, Special which) const {
    const Dim3& b = launch_.block;
    const Dim3& g = launch_.grid;
    const unsigned lane = t.linear % 32;
    switch (which) {
        case Special::tid_x: return t.tid[0];
        case Special::tid_y: return t.tid[1];
        case Special::tid_z: return t.tid[2];
        case Special::ntid_x: return b.x;
        case Special::ntid_y: return b.y;
        case Special::ntid_z: return b.z;
        case Special::ctaid_x: return ctaid_.x;
        case Special::ctaid_y: return ctaid_.y;
        case Special::ctaid_z: return ctaid_.z;
        case Special::nctaid_x: return g.x;
        case Special::nctaid_y: return g.y;
        case Special::nctaid_z: return g.z;
        case Special::laneid: return lane;
        case Special::warpid: return t.linear / 32;
        case Special::nwarpid: return (b.count() + 31) / 32;
        case Special::lanemask_eq: return 1u << lane;
        case Special::lanemask_lt: return (1u << lane) - 1;
        case Special::lanemask_le: return (2ull << lane) - 1;
        case Special::lanemask_gt: return ~((2ull << lane) - 1) & 0xffffffff;
        case Special::lanemask_ge: return ~((1ull << lane) - 1) & 0xffffffff;
        default: return std::nullopt;
    }
}

Value Grid::read(const Thread& thread, const Frame& frame, const Operand& o) const {
    switch (o.kind) {
        case OperandKind::reg: {
            Value v = frame.registers[o.index];
            if (v && o.negated) v = frame.function->registers[o.index].type == Type::pred ? *v ^ 1 : 0 - *v;
            return v;
        }
        case OperandKind::special: return special(thread, static_cast<Special>(o.index));
        case OperandKind::immediate: return static_cast<std::uint64_t>(o.value);
        case OperandKind::immediate_f32: return static_cast<std::uint64_t>(o.value) & 0xffffffff;
        case OperandKind::immediate_f64: return static_cast<std::uint64_t>(o.value);
        case OperandKind::symbol: {
            const Value base = symbol_address(module_.symbols[o.index], o.index);
            return base ? Value{*base + static_cast<std::uint64_t>(o.value)} : std::nullopt;
        }
        default: return std::nullopt;
    }
}

Value Grid::address_of(const Frame& frame, const Operand& o) const {
    if (o.kind == OperandKind::address_immediate) return static_cast<std::uint64_t>(o.value);
    const Value base = o.kind == OperandKind::address_reg ? frame.registers[o.index] : symbol_address(module_.symbols[o.index], o.index);
    return base ? Value{*base + static_cast<std::uint64_t>(o.value)} : std::nullopt;
}

void Grid::write(Frame& frame, const Operand& operand, Value value, Type type) {
    if (operand.kind != OperandKind::reg) return;
    if (value) {
        const Type own = frame.function->registers[operand.index].type;
        const unsigned bits = own == Type::pred ? 1 : flipflop::ptx::bits_of(own);
        if (flipflop::ptx::is_signed(type) && flipflop::ptx::bits_of(type) < bits && flipflop::ptx::bits_of(type) < 64) {
            const unsigned from = flipflop::ptx::bits_of(type);
            if ((*value >> (from - 1)) & 1) *value |= ~((1ull << from) - 1);
        }
        if (bits < 64) *value &= (1ull << bits) - 1;
    }
    frame.registers[operand.index] = value;
}

std::uint64_t Grid::key(const Frame& frame) const {
    std::uint64_t k = mixed(frame.path, static_cast<std::uint64_t>(frame.function - module_.functions.data()));
    for (const std::uint32_t loop : frame.loops->around[frame.pc]) k = mixed(k, frame.iteration[loop]);
    return mixed(k, frame.pc);
}

void Grid::advance(Frame& frame, std::uint32_t to) {
    const Loops& loops = *frame.loops;
    for (std::size_t i = 0; i < loops.loops.size(); ++i) {
        if (loops.loops[i].header != to) continue;
        if (!loops.loops[i].holds[frame.pc]) {
            frame.iteration[i] = 0;
        } else {
            ++frame.iteration[i];
        }
    }
    frame.pc = to;
}

void Grid::call(Thread& thread, Frame& frame, const Instruction& instruction) {
    const auto operands = module_.operands_of(instruction);
    std::vector<Operand> results, arguments;
    const Function* callee = nullptr;
    for (const Operand& o : operands) {
        if (o.kind == OperandKind::list) (callee ? arguments : results) = {module_.children_of(o).begin(), module_.children_of(o).end()};
        else if ((o.kind == OperandKind::symbol || o.kind == OperandKind::name) && module_.symbols[o.index].kind == Symbol::Kind::function) callee = &module_.functions[module_.symbols[o.index].index];
    }
    if (!callee || !callee->has_body) throw GiveUp("a call to a function without a body");
    if (thread.frames.size() > 64) throw GiveUp("recursion");
    Frame next;
    next.function = callee;
    next.loops = &loops_of(*callee);
    next.registers.assign(callee->registers.size(), std::nullopt);
    next.iteration.assign(next.loops->loops.size(), 0);
    next.path = key(frame);
    for (std::size_t i = 0; i < arguments.size() && i < callee->parameters.size(); ++i) {
        const auto formal = static_cast<std::uint32_t>(callee->parameters[i]);
        if (arguments[i].kind == OperandKind::symbol || arguments[i].kind == OperandKind::name) next.parameters[formal] = frame.parameters[arguments[i].index];
        else throw GiveUp("an argument in a register");
    }
    for (const Operand& r : results) next.return_symbols.push_back(r.index);
    advance(frame, frame.pc + 1);
    thread.frames.push_back(std::move(next));
}

void Grid::do_return(Thread& thread) {
    Frame done = std::move(thread.frames.back());
    thread.frames.pop_back();
    if (thread.frames.empty()) {
        thread.state = Thread::State::done;
        return;
    }
    for (std::size_t i = 0; i < done.return_symbols.size() && i < done.function->returns.size(); ++i)
        thread.frames.back().parameters[done.return_symbols[i]] = done.parameters[static_cast<std::uint32_t>(done.function->returns[i])];
}

void Grid::set_predicates(Frame& frame, const Form& form, std::span<const Operand> operands, const std::vector<Value>& sources) {
    const bool combined = form.bool_op != flipflop::ptx::BoolOp::none;
    std::optional<bool> outcome;
    if (sources[0] && sources[1]) outcome = compare(form, form.type, *sources[0], *sources[1]);
    if (!outcome && options_.opaque && sources[0] && sources[1]) outcome = (mixed(mixed(1, *sources[0]), *sources[1]) & 1) != 0;
    const auto joined = [&](bool value) -> Value {
        if (!combined) return value;
        if (!sources[2]) return std::nullopt;
        const bool other = *sources[2] != 0;
        if (form.bool_op == flipflop::ptx::BoolOp::and_op) return value && other;
        if (form.bool_op == flipflop::ptx::BoolOp::or_op) return value || other;
        return value != other;
    };
    write(frame, operands[0], outcome ? joined(*outcome) : Value{}, Type::pred);
    if (operands[0].paired) write(frame, operands[1], outcome ? joined(!*outcome) : Value{}, Type::pred);
}

void Grid::execute(Thread& thread, Frame& frame, const Instruction& instruction) {
    const Form& form = module_.form(instruction);
    const auto operands = module_.operands_of(instruction);
    if (form.results == 0 || operands.empty()) return;
    std::vector<Value> sources;
    const std::size_t first = std::max<std::size_t>(form.results, 1) + ((operands[0].paired && form.results < 2) ? 1 : 0);
    for (std::size_t i = first; i < operands.size(); ++i) sources.push_back(read(thread, frame, operands[i]));
    if (form.opcode == Opcode::setp) return set_predicates(frame, form, operands, sources);
    if (operands[0].kind == OperandKind::vector) {             // mov.b64 {lo, hi}, x
        const auto parts = module_.children_of(operands[0]);
        const unsigned bits = flipflop::ptx::bits_of(form.type) / static_cast<unsigned>(parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i)
            write(frame, parts[i], form.opcode == Opcode::mov && sources[0] && bits < 64 ? Value{(*sources[0] >> (bits * i)) & ((1ull << bits) - 1)} : Value{}, Type::none);
        return;
    }
    Value result;
    if (form.opcode == Opcode::mov && operands.size() == 2 && operands[1].kind == OperandKind::vector) {
        const auto parts = module_.children_of(operands[1]);
        const unsigned bits = flipflop::ptx::bits_of(form.type) / static_cast<unsigned>(parts.size());
        std::uint64_t whole = 0;
        bool known = true;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const Value part = read(thread, frame, parts[i]);
            known = known && part.has_value();
            if (part && bits < 64) whole |= (*part & ((1ull << bits) - 1)) << (bits * i);
        }
        if (known) result = whole;
    } else if (form.opcode == Opcode::cvta) {
        result = sources[0];
        const std::uint64_t window = form.space == Space::shared ? kSharedWindow : form.space == Space::local ? kLocalWindow : 0;
        if (result) *result += form.to ? 0 - window : window;
    } else {
        result = compute(form, sources, thread.carry);
        bool known = !sources.empty();
        for (const Value& v : sources) known = known && v.has_value();
        if (!result && known && options_.opaque) {
            std::uint64_t h = static_cast<std::uint64_t>(form.opcode);
            for (const Value& v : sources) h = mixed(h, *v);
            result = h;
        }
    }
    write(frame, operands[0], result, form.opcode == Opcode::cvt ? form.type : Type::none);
    for (std::size_t i = 1; i < form.results; ++i) write(frame, operands[i], std::nullopt, Type::none);
}

/// Runs one instruction; false when the thread has to wait or is done.
bool Grid::step(Thread& thread) {
    if (steps_left_-- == 0) throw GiveUp("too many steps");
    Frame& frame = thread.frames.back();
    if (frame.pc >= frame.function->instructions.size()) {
        do_return(thread);
        return thread.state != Thread::State::done;
    }
    const Instruction& instruction = frame.function->instructions[frame.pc];
    const Form& form = module_.form(instruction);
    bool active = true;
    if (instruction.guard != flipflop::ptx::RegId::none) {
        const Value guard = frame.registers[static_cast<std::uint32_t>(instruction.guard)];
        if (!guard) throw GiveUp("line " + std::to_string(instruction.line) + ": a guard that is not known");
        active = (*guard != 0) != instruction.guard_negated;
    }
    // A branch is executed whichever way its guard sends the lane.
    listener_.executed(thread, key(frame), instruction, form, active || form.opcode == Opcode::bra);
    if (!active) {
        advance(frame, frame.pc + 1);
        return true;
    }
    const auto operands = module_.operands_of(instruction);
    switch (form.opcode) {
        case Opcode::bra: advance(frame, static_cast<std::uint32_t>(operands[0].value)); return true;
        case Opcode::brx_idx: {
            const Value index = read(thread, frame, operands[0]);
            const auto& targets = module_.label_tables[module_.symbol(operands[1].symbol()).index].instruction_targets;
            if (!index || *index >= targets.size()) throw GiveUp("an indirect branch that is not known");
            advance(frame, targets[*index]);
            return true;
        }
        case Opcode::ret: do_return(thread); return thread.state != Thread::State::done;
        case Opcode::exit_: case Opcode::trap: thread.state = Thread::State::done; return false;
        case Opcode::call: call(thread, frame, instruction); return true;
        case Opcode::bar: case Opcode::barrier:
            wait_at_barrier(thread, frame, instruction);
            return false;
        case Opcode::ld: case Opcode::ldu: case Opcode::st: case Opcode::atom: case Opcode::red: memory(thread, frame, instruction); break;
        case Opcode::cp_async:
            if (operands.size() >= 3) copy_async(thread, frame, instruction);
            break;
        default:
            if (is_exchange(form)) {
                thread.state = Thread::State::exchange;
                return false;
            }
            execute(thread, frame, instruction);
            break;
    }
    advance(frame, frame.pc + 1);
    return true;
}

void Grid::start(std::vector<Thread>& threads) {
    const Dim3& b = launch_.block;
    const std::uint64_t block = ctaid_.x + std::uint64_t{launch_.grid.x} * (ctaid_.y + std::uint64_t{launch_.grid.y} * ctaid_.z);
    for (std::uint32_t i = 0; i < threads.size(); ++i) {
        Thread& t = threads[i];
        t.linear = i;
        t.number = block * b.count() + i;
        t.tid[0] = i % b.x;
        t.tid[1] = i / b.x % b.y;
        t.tid[2] = i / b.x / b.y;
        Frame f;
        f.function = &entry_;
        f.loops = &loops_of(entry_);
        f.registers.assign(entry_.registers.size(), std::nullopt);
        f.iteration.assign(f.loops->loops.size(), 0);
        for (std::size_t p = 0; p < entry_.parameters.size() && p < launch_.arguments.size(); ++p) {
            const auto& argument = launch_.arguments[p];
            for (std::size_t k = 0; k < argument.bytes.size(); ++k)
                if (argument.known.empty() || argument.known[k]) f.parameters[static_cast<std::uint32_t>(entry_.parameters[p])].store(k, argument.bytes[k], 1);
        }
        t.frames.push_back(std::move(f));
    }
}

void Grid::wait_at_barrier(Thread& thread, Frame& frame, const Instruction& instruction) {
    std::vector<Value> operands;
    for (const Operand& o : module_.operands_of(instruction)) operands.push_back(read(thread, frame, o));
    for (const Value& v : operands)
        if (!v) throw GiveUp("line " + std::to_string(instruction.line) + ": a barrier that is not known");
    if (module_.form(instruction).has("arrive") || module_.form(instruction).has("red")) throw GiveUp("a split barrier");
    thread.barrier_id = operands.empty() ? 0 : *operands[0];
    thread.barrier_threads = operands.size() > 1 ? *operands[1] : 0;
    thread.state = Thread::State::barrier;
}

/// Barriers whose threads are all there: those of the block that have not left, or as many as are asked for (whole warps).
bool Grid::open_barriers(std::vector<Thread>& threads) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint32_t>> there;
    std::size_t gone = 0;
    for (const Thread& t : threads) {
        if (t.state == Thread::State::done) ++gone;
        else if (t.state == Thread::State::barrier) there[{t.barrier_id, t.barrier_threads}].push_back(t.linear);
    }
    bool opened = false;
    for (const auto& [which, who] : there) {
        std::size_t arrived = who.size();
        if (which.second) {
            std::vector<bool> warps(threads.size() / 32 + 1);
            for (const std::uint32_t t : who) warps[t / 32] = true;
            arrived = 32 * static_cast<std::size_t>(std::count(warps.begin(), warps.end(), true));
        }
        if (which.second ? arrived < which.second : arrived + gone < threads.size()) continue;
        if (!which.second && gone) listener_.fault(at(threads[who.front()]), "threads that have left miss a barrier");
        if (which.second && arrived > (which.second + 31) / 32 * 32) throw GiveUp("which warps meet at a barrier depends on timing");
        listener_.met(who);
        for (const std::uint32_t t : who) {
            threads[t].state = Thread::State::running;
            Frame& f = threads[t].frames.back();
            advance(f, f.pc + 1);
        }
        opened = true;
    }
    return opened;
}

void Grid::run_block(const Dim3& block) {
    ctaid_ = block;
    shared_.clear();
    listener_.begin_block(block);
    std::vector<Thread> threads(launch_.block.count());
    start(threads);
    for (;;) {
        for (Thread& t : threads)
            while (t.state == Thread::State::running && step(t)) {}
        if (exchange(threads, false) || open_barriers(threads) || exchange(threads, true)) continue;
        const auto stuck = std::find_if(threads.begin(), threads.end(), [](const Thread& t) { return t.state != Thread::State::done; });
        if (stuck == threads.end()) break;
        listener_.fault(at(*stuck), "a barrier is never satisfied");
        throw GiveUp("a barrier is never satisfied");
    }
    listener_.end_block();
}

void Grid::run() {
    for (std::uint32_t z = 0; z < launch_.grid.z; ++z)
        for (std::uint32_t y = 0; y < launch_.grid.y; ++y)
            for (std::uint32_t x = 0; x < launch_.grid.x; ++x) run_block({x, y, z});
}

}  // namespace naive
