// Owns: what the unpackers of one input find, and the budget that they share. Invariant: the texts that were added never
// exceed the limits; whoever is told `false` stops.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "flipflop/inputs.hpp"

namespace flipflop {

class Collector {
public:
    /// `forget_before` is told, every few megabytes, before which byte of `file` all is done.
    Collector(Input& input, const ReadOptions& options, std::string_view file, std::function<void(std::size_t)> forget_before = {});

    /// All bytes of the file before this one have been read.
    void passed(const char* at);

    /// Bytes of text that may still be added; what a decompressor may make at most.
    [[nodiscard]] std::uint64_t text_budget() const;
    void add_text(std::string name, std::string text);
    /// Lists machine code, with its kernels where `code` is an ELF file; FF0819 when it is a damaged one.
    void add_cubin(std::string name, std::string architecture, std::optional<std::uint64_t> bytes, std::string_view code);
    /// Whether machine code of this size may still be unpacked only to see what its kernels need; finish() says when not.
    [[nodiscard]] bool spend_on_machine_code(std::uint64_t bytes);
    /// Counts one more entry, member or section; false (after one FF0808) when there are too many.
    [[nodiscard]] bool count_entry();

    /// Counts an entry whose kind is not read; finish() says how many there were of which.
    void pass_over(std::string kind);
    void finish();                                                                     ///< FF0815 and FF0820 notes

    void damaged(const std::string& where, std::string message);                       ///< FF0807
    void limit(const std::string& where, std::string message);                         ///< FF0808
    void note(Severity severity, std::string id, const std::string& where, std::string message);

    [[nodiscard]] const Input& input() const { return input_; }
    [[nodiscard]] std::uint64_t texts() const { return texts_; }
    [[nodiscard]] bool failed() const { return errors_ != 0; }

private:
    Input& input_;
    const ReadOptions& options_;
    std::string_view file_;
    std::function<void(std::size_t)> forget_before_;
    std::size_t forgotten_{};
    std::uint64_t total_limit_;
    std::uint64_t texts_{}, entries_{}, errors_{}, notes_{};
    std::uint64_t machine_code_bytes_{}, unread_cubins_{};
    bool entries_said_{};
    std::map<std::string, std::uint64_t> passed_over_;
};

/// Each reads one kind of content called `name`, adds what it finds and complains of what is damaged.
void unpack_ptx(std::string text, const std::string& name, Collector& to);
void unpack_cuobjdump(std::string_view bytes, const std::string& name, Collector& to);
void unpack_fatbins(std::string_view bytes, const std::string& name, Collector& to);  ///< one or more, with padding between
/// Exactly one fatbin, all of whose entries fit. `steps` loses one for each entry; at 0 the answer is no.
[[nodiscard]] bool is_sound_fatbin(std::string_view bytes, std::uint64_t& steps);
void unpack_elf(std::string_view bytes, const std::string& name, Collector& to);
void unpack_archive(std::string_view bytes, const std::string& name, Collector& to);

}  // namespace flipflop
