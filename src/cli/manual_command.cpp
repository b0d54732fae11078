// `flipflop completion bash` and `flipflop manual`: both are written from the option table that parses the command line, so
// that neither can name an option that is not there.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "flipflop/gpu.hpp"

namespace flipflop::cli {
namespace {

using Options = std::vector<const CLI::Option*>;

std::vector<const CLI::App*> commands_of(const CLI::App& app) { return app.get_subcommands([](const CLI::App*) { return true; }); }

Options options_of(const CLI::App& app, bool positional) {
    Options options = app.get_options();
    std::erase_if(options, [&](const CLI::Option* option) { return option->get_positional() != positional; });
    return options;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() != 0; }

/// The words of a closed set ("TEXT:{text,json}"), or none.
std::string closed_set(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t open = type.find('{'), close = type.find('}');
    if (open == std::string::npos || close == std::string::npos || close < open) { return {}; }
    std::string words = type.substr(open + 1, close - open - 1);
    std::replace(words.begin(), words.end(), ',', ' ');
    return words;
}

std::string type_word(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::string word = type.substr(0, type.find_first_of(":{ "));
    return word.empty() ? "VALUE" : word;
}

/// "-o,--output" as the pieces a user may type.
std::vector<std::string> spellings(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames()) { names.push_back("-" + name); }
    for (const std::string& name : option.get_lnames()) { names.push_back("--" + name); }
    return names;
}

// ---- completion -----------------------------------------------------------------------------------------------------
std::string gpu_words() {
    std::set<std::string> words{"all"};
    for (const GpuName& gpu : list_gpus()) {
        words.insert(gpu.id);
        for (const std::string& alias : gpu.aliases) {
            if (alias.find(' ') == std::string::npos) { words.insert(alias); }   // a word of the shell's
        }
    }
    return fmt::format("{}", fmt::join(words, " "));
}

std::string shell_word(const std::string& text) { return "'" + text + "'"; }   // names of options, boards and words: no quote in them

/// The words that may follow an option; "FILE" where the shell's own completion of file names is right.
std::string value_case(const CLI::App& command) {
    std::string cases;
    for (const CLI::Option* option : options_of(command, false)) {
        if (!takes_value(*option)) { continue; }
        std::string words = closed_set(*option);
        if (option->check_lname("gpu")) { words = "$_flipflop_gpus"; }
        cases += fmt::format("            {})\n", fmt::join(spellings(*option), "|"));
        cases += words.empty() ? "                return ;;\n"
                               : fmt::format("                COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n", words);
    }
    return cases.empty() ? "" : "        case $previous in\n" + cases + "        esac\n";
}

std::string bash_completion(const CLI::App& app) {
    std::vector<std::string> names;
    std::string cases;
    for (const CLI::App* command : commands_of(app)) {
        names.push_back(command->get_name());
        std::vector<std::string> words;
        for (const CLI::Option* option : options_of(*command, false)) {
            for (const std::string& name : spellings(*option)) { words.push_back(name); }
        }
        std::string positional;
        for (const CLI::Option* option : options_of(*command, true)) { positional += closed_set(*option); }
        cases += fmt::format("    {})\n{}        words=\"{}\"\n", command->get_name(), value_case(*command), fmt::join(words, " "));
        if (!positional.empty()) { cases += fmt::format("        [[ $word == -* ]] || words={}\n", shell_word(positional)); }
        cases += "        ;;\n";
    }
    return fmt::format(R"(# bash completion of flipflop; written by `flipflop completion bash`.
_flipflop_gpus={0}
_flipflop() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command= words= i
    COMPREPLY=()
    if [[ $word == "=" ]]; then word=; previous=${{COMP_WORDS[COMP_CWORD-1]}}
    elif [[ $previous == "=" ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case ${{COMP_WORDS[i]}} in {1}) command=${{COMP_WORDS[i]}}; break ;; esac
    done
    case $command in
    '')
        words="{2} --help --version" ;;
{3}    esac
    # Without a match the shell goes on with file names (-o default).
    [[ $word == -* || -z $command || $words != -* ]] && COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _flipflop flipflop
)",
                       shell_word(gpu_words()), fmt::join(names, "|"), fmt::join(names, " "), cases);
}

// ---- the manual page ------------------------------------------------------------------------------------------------
/// Text as troff takes it: no escapes, no request at the beginning of a line, hyphens as they are typed.
std::string troff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') { out += "\\e"; }
        else if (c == '-') { out += "\\-"; }
        else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) { (out += "\\&") += c; }
        else { out += c; }
    }
    return out;
}

std::string option_entry(const CLI::Option& option) {
    std::string head;
    if (option.get_positional()) {
        head = "\\fI" + troff(option.get_name(true)) + "\\fR";
    } else {
        for (const std::string& name : spellings(option)) { head += (head.empty() ? "\\fB" : ", \\fB") + troff(name) + "\\fR"; }
        const std::string words = closed_set(option);
        if (takes_value(option)) { head += " \\fI" + troff(type_word(option)) + "\\fR"; }
        if (!words.empty()) { head += " (" + troff(words) + ")"; }
    }
    return ".TP\n" + head + "\n" + troff(option.get_description()) + "\n";
}

std::string command_section(const CLI::App& command) {
    std::string text = fmt::format(".SS flipflop {}\n{}.\n", troff(command.get_name()), troff(command.get_description()));
    for (const bool positional : {true, false}) {
        for (const CLI::Option* option : options_of(command, positional)) {
            if (!option->check_lname("help")) { text += option_entry(*option); }
        }
    }
    return text;
}

std::string manual_page(const CLI::App& app) {
    std::string text = fmt::format(".TH FLIPFLOP 1 \"\" \"flipflop {}\" \"User commands\"\n", FLIPFLOP_VERSION);
    text += ".SH NAME\nflipflop \\- " + troff(app.get_description()) + "\n.SH SYNOPSIS\n";
    for (const CLI::App* command : commands_of(app)) {
        std::string words;
        for (const CLI::Option* option : options_of(*command, true)) { words += " \\fI" + troff(option->get_name(true)) + "\\fR"; }
        text += ".B flipflop " + troff(command->get_name()) + "\n" + (words.empty() ? "" : words.substr(1) + "\n") + "[\\fIoptions\\fR]\n.br\n";
    }
    text += ".SH DESCRIPTION\nReads PTX and says, without a GPU and without running anything, which thread\\-block configurations of a kernel are fast, "
            "which are frugal, what each costs in time, power and energy, and why.\n.SH COMMANDS\n";
    for (const CLI::App* command : commands_of(app)) { text += command_section(*command); }
    text += R"(.SH EXIT STATUS
.TP
.B 0
done; the gate passed
.TP
.B 1
the gate failed: a regression, a budget, or a finding of \-\-fail\-on
.TP
.B 2
a mistake in options, policy or baseline
.TP
.B 3
a mistake in an input, or no kernel in it
.TP
.B 4
a tool that was required is missing or failed
.TP
.B 70
an internal error: please report it
.SH ENVIRONMENT
.TP
.BR PATH ", " CUDA_HOME
where ptxas, nvcc and llc are looked for
.TP
.BR NO_COLOR ", " CLICOLOR ", " CLICOLOR_FORCE ", " FORCE_COLOR
colour of text on a terminal, unless \-\-color says otherwise
.TP
.B SOURCE_DATE_EPOCH
the day by which waivers expire, instead of today
.SH FILES
.TP
.B flipflop.toml
the policy of the gate, from the input up to the root of its repository, then in XDG_CONFIG_HOME/flipflop
)";
    return text;
}

}  // namespace

void add_manual_commands(CLI::App& app, CommandResult& result) {
    CLI::App* const completion = app.add_subcommand("completion", "the completion of a shell: eval \"$(flipflop completion bash)\"");
    const auto shell = std::make_shared<std::string>();
    completion->add_option("SHELL", *shell, "bash")->required()->check(CLI::IsMember({"bash"}));
    completion->callback([&app, &result, shell] {
        std::fputs(bash_completion(app).c_str(), stdout);
        result.exit_code = kDone;
    });
    CLI::App* const manual = app.add_subcommand("manual", "the manual page, as troff: flipflop manual | man -l -");
    manual->callback([&app, &result] {
        std::fputs(manual_page(app).c_str(), stdout);
        result.exit_code = kDone;
    });
}

}  // namespace flipflop::cli
