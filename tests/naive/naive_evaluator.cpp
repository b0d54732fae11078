#include "naive_evaluator.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "naive_machine.hpp"

namespace naive {

using flipflop::Dim3;
using flipflop::Launch;
using flipflop::ptx::Form;
using flipflop::ptx::Opcode;
using flipflop::ptx::Operand;
using flipflop::ptx::OperandKind;
using flipflop::ptx::Space;
using flipflop::ptx::Special;
using flipflop::ptx::Symbol;
using flipflop::ptx::Type;

void Bytes::store(std::uint64_t address, Value value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
        cells[address + i] = value ? std::optional<std::uint8_t>(static_cast<std::uint8_t>(*value >> (8 * i))) : std::nullopt;
}

Value Bytes::load(std::uint64_t address, unsigned bytes) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
        const auto it = cells.find(address + i);
        if (it == cells.end() || !it->second) return std::nullopt;
        value |= std::uint64_t{*it->second} << (8 * i);
    }
    return value;
}

namespace {

constexpr std::uint64_t kSharedWindow = 0x7e0000000000, kLocalWindow = 0x7d0000000000, kWindowBytes = 1ull << 32;
constexpr std::uint64_t kGlobalSymbols = 0x700000000000, kConstSymbols = 0x600000000000;

struct GiveUp : std::runtime_error { using std::runtime_error::runtime_error; };

/// Successors of one instruction, as instruction indices (n = the end).
std::vector<std::uint32_t> successors(const Module& module, const Function& function, std::uint32_t i) {
    const Instruction& instruction = function.instructions[i];
    const Form& form = module.form(instruction);
    std::vector<std::uint32_t> next;
    const bool guarded = instruction.guard != flipflop::ptx::RegId::none;
    if (form.opcode == Opcode::bra) {
        if (guarded) next.push_back(i + 1);
        next.push_back(static_cast<std::uint32_t>(module.operands_of(instruction)[0].value));
    } else if (form.opcode == Opcode::brx_idx) {
        for (const auto& table : module.label_tables)
            if (&table == &module.label_tables[module.symbol(module.operands_of(instruction)[1].symbol()).index])
                next.assign(table.instruction_targets.begin(), table.instruction_targets.end());
    } else if (form.opcode == Opcode::ret || form.opcode == Opcode::exit_ || form.opcode == Opcode::trap) {
        if (guarded) next.push_back(i + 1);
    } else {
        next.push_back(i + 1);
    }
    return next;
}

struct Recorded {
    std::uint64_t address{};
    unsigned bytes{};
    bool known{};
};

/// One warp-level execution being put together: which lanes came by, and with what addresses.
struct Request {
    std::uint32_t line{};
    Space space{};
    std::map<unsigned, Recorded> lanes;
};

class Grid {
public:
    Grid(const Module& module, std::uint32_t entry, const Launch& launch, std::uint64_t max_steps)
        : module_(module), entry_(module.functions[entry]), launch_(launch), steps_left_(max_steps) {
        lay_out();
    }
    Outcome run();

private:
    void lay_out();
    void run_block(const Dim3& block);
    bool step(Thread& thread);                       // false: the thread stopped
    void advance(Frame& frame, std::uint32_t to);
    void execute(Thread& thread, Frame& frame, const Instruction& instruction);
    void memory(Thread& thread, Frame& frame, const Instruction& instruction);
    void copy_async(Thread& thread, Frame& frame, const Instruction& instruction);
    void call(Thread& thread, Frame& frame, const Instruction& instruction);
    void do_return(Thread& thread);
    void record(const Thread& thread, const Frame& frame, const Instruction& instruction, Space space, Value address, unsigned bytes, unsigned side);
    void finish_block();
    [[nodiscard]] Value read(const Thread& thread, const Frame& frame, const Operand& operand) const;
    [[nodiscard]] Value special(const Thread& thread, Special which) const;
    [[nodiscard]] Value address_of(const Frame& frame, const Operand& operand) const;
    [[nodiscard]] Value symbol_address(const Symbol& symbol, std::uint32_t id) const;
    void write(Frame& frame, const Operand& operand, Value value, Type type);
    [[nodiscard]] std::vector<std::uint32_t> key(const Frame& frame) const;
    [[nodiscard]] Space resolve(Space space, Value address) const;
    [[nodiscard]] const Loops& loops_of(const Function& function);

    const Module& module_;
    const Function& entry_;
    const Launch& launch_;
    std::uint64_t steps_left_;
    std::vector<std::uint64_t> symbol_at_;
    std::map<const Function*, Loops> loops_;
    Bytes constants_;
    Dim3 ctaid_;
    Bytes shared_;
    std::map<std::pair<unsigned, std::vector<std::uint32_t>>, Request> requests_;   // by warp and key
    std::set<std::pair<unsigned, std::vector<std::uint32_t>>> executed_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> reads_, writes_;
    Outcome outcome_;
};

std::uint64_t align_up(std::uint64_t value, std::uint64_t to) { return to ? (value + to - 1) / to * to : value; }

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
            if (s.space == Space::constant && s.byte_size) {
                const auto given = launch_.symbol_data.find(std::string(s.name));
                const unsigned element = std::max(1u, flipflop::ptx::bits_of(s.type) / 8);
                if (given != launch_.symbol_data.end())
                    for (std::size_t b = 0; b < given->second.bytes.size(); ++b) constants_.store(symbol_at_[i] + b, given->second.bytes[b], 1);
                else if (!s.initial.empty())
                    for (std::size_t e = 0; e * element < *s.byte_size; ++e)
                        constants_.store(symbol_at_[i] + e * element, e < s.initial.size() ? Value{s.initial[e].bits} : Value{0}, element);
            }
        }
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

std::vector<std::uint32_t> Grid::key(const Frame& frame) const {
    std::vector<std::uint32_t> k = frame.path;
    k.push_back(static_cast<std::uint32_t>(frame.function - module_.functions.data()));
    for (const std::uint32_t loop : frame.loops->around[frame.pc]) k.push_back(frame.iteration[loop]);
    k.push_back(frame.pc);
    return k;
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

Space Grid::resolve(Space space, Value address) const {
    if (space != Space::generic && space != Space::none) return space;
    if (!address) return Space::generic;
    if (*address >= kSharedWindow && *address < kSharedWindow + kWindowBytes) return Space::shared;
    if (*address >= kLocalWindow && *address < kLocalWindow + kWindowBytes) return Space::local;
    if (*address >= kConstSymbols && *address < kConstSymbols + kWindowBytes) return Space::constant;
    return Space::global;
}

void Grid::record(const Thread& thread, const Frame& frame, const Instruction& instruction, Space space, Value address, unsigned bytes, unsigned side) {
    std::vector<std::uint32_t> k = key(frame);
    k.push_back(side);
    Request& request = requests_[{thread.linear / 32, std::move(k)}];
    request.line = instruction.line;
    request.space = space;
    request.lanes[thread.linear % 32] = {address.value_or(0), bytes, address.has_value()};
}

void Grid::memory(Thread& thread, Frame& frame, const Instruction& instruction) {
    const Form& form = module_.form(instruction);
    const auto operands = module_.operands_of(instruction);
    std::size_t at = 0;
    while (operands[at].kind != OperandKind::address_reg && operands[at].kind != OperandKind::address_symbol && operands[at].kind != OperandKind::address_immediate) ++at;
    const unsigned element = std::max(1u, flipflop::ptx::bits_of(form.type) / 8), bytes = element * form.vector;
    const bool loads = form.opcode == Opcode::ld || form.opcode == Opcode::ldu;
    const bool stores = form.opcode == Opcode::st;
    std::vector<Operand> values;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i == at) continue;
        if (operands[i].kind == OperandKind::vector) for (const Operand& c : module_.children_of(operands[i])) values.push_back(c);
        else values.push_back(operands[i]);
    }
    if (form.space == Space::param) {
        Bytes& object = frame.parameters[operands[at].index];
        if (operands[at].kind != OperandKind::address_symbol) throw GiveUp("parameter through a register");
        for (unsigned i = 0; i < form.vector; ++i) {
            const auto offset = static_cast<std::uint64_t>(operands[at].value) + i * element;
            if (loads) write(frame, values[i], object.load(offset, element), form.type);
            else object.store(offset, read(thread, frame, values[i]), element);
        }
        return;
    }
    const Value raw = address_of(frame, operands[at]);
    const Space space = resolve(form.space, raw);
    const bool generic = form.space == Space::generic || form.space == Space::none;
    Value address = raw;
    if (raw && generic && space == Space::shared) *address -= kSharedWindow;
    if (raw && generic && space == Space::local) *address -= kLocalWindow;
    record(thread, frame, instruction, space, address, bytes, 0);
    if (space == Space::global || space == Space::generic) {
        if (!address) outcome_.unique_known = false;
        else {
            if (!stores) reads_.emplace_back(*address, *address + bytes);
            if (!loads) writes_.emplace_back(*address, *address + bytes);
        }
    }
    Bytes* bytes_of = space == Space::shared ? &shared_ : space == Space::local ? &thread.local : space == Space::constant ? &constants_ : nullptr;
    for (unsigned i = 0; i < form.vector && i < values.size(); ++i) {
        if (loads) {
            write(frame, values[i], bytes_of && address ? bytes_of->load(*address + i * element, element) : Value{}, form.type);
        } else if (stores && bytes_of) {
            if (!address) bytes_of->cells.clear();
            else bytes_of->store(*address + i * element, read(thread, frame, values[i]), element);
        }
    }
    if (!loads && !stores) {                                   // atomics: what they return and leave behind is not followed
        if (form.opcode == Opcode::atom) write(frame, values[0], std::nullopt, form.type);
        if (bytes_of && address) bytes_of->store(*address, std::nullopt, element);
    }
}

void Grid::copy_async(Thread& thread, Frame& frame, const Instruction& instruction) {
    const auto operands = module_.operands_of(instruction);
    const unsigned bytes = static_cast<unsigned>(operands[2].value);
    const Value to = address_of(frame, operands[0]), from = address_of(frame, operands[1]);
    record(thread, frame, instruction, Space::global, from, bytes, 0);
    record(thread, frame, instruction, Space::shared, to, bytes, 1);
    if (from) reads_.emplace_back(*from, *from + bytes);
    else outcome_.unique_known = false;
    for (unsigned i = 0; to && i < bytes; i += 4) shared_.store(*to + i, std::nullopt, 4);
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

void Grid::execute(Thread& thread, Frame& frame, const Instruction& instruction) {
    const Form& form = module_.form(instruction);
    const auto operands = module_.operands_of(instruction);
    if (form.results == 0 || operands.empty()) return;
    std::vector<Value> sources;
    const std::size_t first = std::max<std::size_t>(form.results, 1) + ((operands[0].paired && form.results < 2) ? 1 : 0);
    for (std::size_t i = first; i < operands.size(); ++i) sources.push_back(read(thread, frame, operands[i]));
    if (form.opcode == Opcode::setp) {
        const bool combined = form.bool_op != flipflop::ptx::BoolOp::none;
        std::optional<bool> outcome;
        if (sources[0] && sources[1]) outcome = compare(form, form.type, *sources[0], *sources[1]);
        const auto combine = [&](bool value) -> Value {
            if (!combined) return value;
            if (!sources[2]) return std::nullopt;
            const bool other = *sources[2] != 0;
            if (form.bool_op == flipflop::ptx::BoolOp::and_op) return value && other;
            if (form.bool_op == flipflop::ptx::BoolOp::or_op) return value || other;
            return value != other;
        };
        write(frame, operands[0], outcome ? combine(*outcome) : Value{}, Type::pred);
        if (operands[0].paired) write(frame, operands[1], outcome ? combine(!*outcome) : Value{}, Type::pred);
        return;
    }
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
    executed_.insert({thread.linear / 32, key(frame)});
    // A branch is executed whichever way its guard sends the lane.
    if (active || form.opcode == Opcode::bra) outcome_.thread_ops[static_cast<std::size_t>(form.instruction_class)] += 1;
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
            outcome_.barriers += 1;
            advance(frame, frame.pc + 1);
            thread.state = Thread::State::barrier;
            return false;
        case Opcode::ld: case Opcode::ldu: case Opcode::st: case Opcode::atom: case Opcode::red: memory(thread, frame, instruction); break;
        case Opcode::cp_async:
            if (operands.size() >= 3) copy_async(thread, frame, instruction);
            break;
        default: execute(thread, frame, instruction); break;
    }
    advance(frame, frame.pc + 1);
    return true;
}

void Grid::run_block(const Dim3& block) {
    ctaid_ = block;
    shared_.cells.clear();
    requests_.clear();
    executed_.clear();
    std::vector<Thread> threads(launch_.block.count());
    for (std::uint32_t i = 0; i < threads.size(); ++i) {
        Thread& t = threads[i];
        t.linear = i;
        t.tid[0] = i % launch_.block.x;
        t.tid[1] = i / launch_.block.x % launch_.block.y;
        t.tid[2] = i / launch_.block.x / launch_.block.y;
        Frame f;
        f.function = &entry_;
        f.loops = &loops_of(entry_);
        f.registers.assign(entry_.registers.size(), std::nullopt);
        f.iteration.assign(f.loops->loops.size(), 0);
        for (std::size_t p = 0; p < entry_.parameters.size() && p < launch_.arguments.size(); ++p) {
            const auto& argument = launch_.arguments[p];
            for (std::size_t b = 0; b < argument.bytes.size(); ++b)
                if (argument.known.empty() || argument.known[b]) f.parameters[static_cast<std::uint32_t>(entry_.parameters[p])].store(b, argument.bytes[b], 1);
        }
        t.frames.push_back(std::move(f));
    }
    for (bool again = true; again;) {
        again = false;
        for (Thread& t : threads) {
            if (t.state == Thread::State::done) continue;
            t.state = Thread::State::running;
            while (step(t)) {}
            again = again || t.state == Thread::State::barrier;
        }
    }
    finish_block();
}

void Grid::finish_block() {
    outcome_.warp_instructions += static_cast<double>(executed_.size());
    for (const auto& [where, request] : requests_) {
        Access& access = outcome_.accesses[{request.line, request.space}];
        access.requests += 1;
        access.lanes += static_cast<double>(request.lanes.size());
        std::set<std::uint64_t> sectors;
        bool known = true;
        unsigned bytes = 0;
        for (const auto& [lane, at] : request.lanes) {
            known = known && at.known;
            bytes = at.bytes;
            if (request.space == Space::local) {              // word w of lane L lies at w * 128 + L * 4
                for (std::uint64_t word = at.address / 4; word <= (at.address + at.bytes - 1) / 4; ++word) sectors.insert((word * 128 + lane * 4) / 32);
            } else {
                for (std::uint64_t s = at.address / 32; s <= (at.address + at.bytes - 1) / 32; ++s) sectors.insert(s);
            }
        }
        if (!known) {
            access.unknown = true;
            continue;
        }
        access.sectors += static_cast<double>(sectors.size());
        if (request.space != Space::shared) continue;
        const unsigned group = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
        double passes = 0, phases = 0;
        for (unsigned first = 0; first < 32; first += group) {
            std::map<std::uint64_t, std::set<std::uint64_t>> banks;
            for (const auto& [lane, at] : request.lanes)
                if (lane >= first && lane < first + group)
                    for (std::uint64_t word = at.address / 4; word <= (at.address + at.bytes - 1) / 4; ++word) banks[word % 32].insert(word);
            std::size_t most = 0;
            for (const auto& [bank, words] : banks) most = std::max(most, words.size());
            passes += static_cast<double>(most);
            phases += banks.empty() ? 0 : 1;
        }
        access.wavefront_ratio += passes / phases;
    }
}

double covered(std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges) {
    std::sort(ranges.begin(), ranges.end());
    double bytes = 0;
    std::uint64_t end = 0;
    for (const auto& [from, to] : ranges) {
        const std::uint64_t begin = std::max(from, end);
        if (to > begin) bytes += static_cast<double>(to - begin);
        end = std::max(end, to);
    }
    return bytes;
}

Outcome Grid::run() {
    outcome_.threads = launch_.block.count() * launch_.grid.count();
    try {
        for (std::uint32_t z = 0; z < launch_.grid.z; ++z)
            for (std::uint32_t y = 0; y < launch_.grid.y; ++y)
                for (std::uint32_t x = 0; x < launch_.grid.x; ++x) run_block({x, y, z});
    } catch (const GiveUp& reason) {
        outcome_.followed = false;
        outcome_.why = reason.what();
    }
    outcome_.unique_read_bytes = covered(reads_);
    outcome_.unique_written_bytes = covered(writes_);
    return outcome_;
}

}  // namespace

Loops find_loops(const Module& module, const Function& function) {
    const auto n = static_cast<std::uint32_t>(function.instructions.size());
    std::vector<std::vector<std::uint32_t>> next(n), previous(n);
    for (std::uint32_t i = 0; i < n; ++i)
        for (const std::uint32_t s : successors(module, function, i))
            if (s < n) {
                next[i].push_back(s);
                previous[s].push_back(i);
            }
    std::vector<std::vector<bool>> dominated_by(n, std::vector<bool>(n, true));
    if (n) dominated_by[0].assign(n, false), dominated_by[0][0] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (std::uint32_t i = 1; i < n; ++i) {
            std::vector<bool> now(n, !previous[i].empty());
            for (const std::uint32_t p : previous[i])
                for (std::uint32_t k = 0; k < n; ++k) now[k] = now[k] && dominated_by[p][k];
            now[i] = true;
            if (now != dominated_by[i]) {
                dominated_by[i] = std::move(now);
                changed = true;
            }
        }
    }
    std::map<std::uint32_t, std::vector<bool>> by_header;
    for (std::uint32_t i = 0; i < n; ++i)
        for (const std::uint32_t s : next[i]) {
            if (!dominated_by[i][s]) continue;
            auto& holds = by_header.try_emplace(s, std::vector<bool>(n, false)).first->second;
            holds[s] = true;
            std::vector<std::uint32_t> work{i};
            while (!work.empty()) {
                const std::uint32_t at = work.back();
                work.pop_back();
                if (holds[at]) continue;
                holds[at] = true;
                for (const std::uint32_t p : previous[at]) work.push_back(p);
            }
        }
    Loops result;
    for (auto& [header, holds] : by_header) result.loops.push_back({header, holds, static_cast<std::uint32_t>(std::count(holds.begin(), holds.end(), true))});
    std::stable_sort(result.loops.begin(), result.loops.end(), [](const auto& a, const auto& b) { return a.size > b.size; });
    result.around.resize(n + 1);
    for (std::uint32_t l = 0; l < result.loops.size(); ++l)
        for (std::uint32_t i = 0; i < n; ++i)
            if (result.loops[l].holds[i]) result.around[i].push_back(l);
    return result;
}

Outcome run(const Module& module, std::uint32_t entry, const Launch& launch, std::uint64_t max_steps) {
    return Grid(module, entry, launch, max_steps).run();
}

}  // namespace naive
