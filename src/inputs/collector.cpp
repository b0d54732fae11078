#include "inputs/collector.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "inputs/cubin.hpp"

namespace flipflop {
namespace {

constexpr std::uint64_t kAlwaysAllowed = 64ULL << 20;
constexpr std::uint64_t kMostMachineCode = 256ULL << 20;   // a quarter of a second
constexpr std::uint64_t kMostComplaints = 100;   // a damaged container can hold a million broken entries

}  // namespace

Collector::Collector(Input& input, const ReadOptions& options, std::string_view file, std::function<void(std::size_t)> forget_before)
    : input_(input), options_(options), file_(file), forget_before_(std::move(forget_before)) {
    const std::uint64_t file_bytes = file.size();
    const std::uint64_t expansion = options.limits.max_expansion;
    const bool overflow = expansion != 0 && file_bytes > ~std::uint64_t{0} / expansion;
    total_limit_ = overflow ? ~std::uint64_t{0} : std::max(kAlwaysAllowed, file_bytes * expansion);
}

void Collector::passed(const char* at) {
    constexpr std::size_t kStep = 16ULL << 20;
    // std::less is defined for pointers into different objects, too: what is unpacked lies elsewhere.
    const std::less<const char*> before;
    if (!forget_before_ || before(at, file_.data()) || before(file_.data() + file_.size(), at)) return;
    const auto offset = static_cast<std::size_t>(at - file_.data());
    if (offset < forgotten_ + kStep) return;
    forgotten_ = offset;
    forget_before_(offset);
}

std::uint64_t Collector::text_budget() const {
    return std::min(options_.limits.max_text_bytes, total_limit_ - std::min(total_limit_, input_.text_bytes));
}

void Collector::add_text(std::string name, std::string text) {
    if (text.size() > text_budget())
        return limit(name, fmt::format("{} bytes of PTX are more than is read of one input", text.size()));
    input_.text_bytes += text.size();
    ++texts_;
    PtxText entry{std::move(name), std::make_shared<const std::string>(std::move(text))};
    if (options_.on_text)
        options_.on_text(input_, std::move(entry));
    else
        input_.texts.push_back(std::move(entry));
}

void Collector::add_cubin(std::string name, std::string architecture, std::optional<std::uint64_t> bytes, std::string_view code) {
    CubinEntry entry{std::move(name), std::move(architecture), bytes, std::nullopt};
    if (code.starts_with("\x7f""ELF")) {
        auto kernels = read_cubin(code);
        if (kernels) entry.kernels = std::move(*kernels);
        else note(Severity::warning, "FF0819", entry.name, kernels.error() + "; what its kernels need is not known");
    }
    input_.cubins.push_back(std::move(entry));
}

bool Collector::spend_on_machine_code(std::uint64_t bytes) {
    if (bytes > kMostMachineCode - machine_code_bytes_) return ++unread_cubins_, false;
    machine_code_bytes_ += bytes;
    return true;
}

bool Collector::count_entry() {
    if (entries_ < options_.limits.max_entries) return ++entries_, true;
    if (!std::exchange(entries_said_, true))
        limit(input_.path, fmt::format("holds more than {} entries; the rest is not read", options_.limits.max_entries));
    return false;
}

void Collector::pass_over(std::string kind) { ++passed_over_[std::move(kind)]; }

void Collector::finish() {
    for (const auto& [kind, count] : passed_over_)
        note(Severity::note, "FF0815", input_.path, fmt::format("{} fatbin entr{} of {} not read", count, count == 1 ? "y" : "ies", kind));
    if (unread_cubins_ != 0)
        note(Severity::note, "FF0820", input_.path, fmt::format("{} cubins are listed without their kernels: more than {} MiB of machine code are not unpacked for that", unread_cubins_, kMostMachineCode >> 20));
}

void Collector::damaged(const std::string& where, std::string message) { note(Severity::error, "FF0807", where, std::move(message)); }
void Collector::limit(const std::string& where, std::string message) { note(Severity::error, "FF0808", where, std::move(message)); }

void Collector::note(Severity severity, std::string id, const std::string& where, std::string message) {
    if (severity == Severity::error) ++errors_;
    if (++notes_ > kMostComplaints) return;
    Diagnostic diagnostic;
    diagnostic.id = std::move(id);
    diagnostic.severity = severity;
    diagnostic.file = where == "-" ? "<stdin>" : where;
    diagnostic.message = std::move(message);
    input_.diagnostics.push_back(std::move(diagnostic));
}

}  // namespace flipflop
