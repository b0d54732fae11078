// The direction of dependencies (docs/architecture.md): an include points down the pipeline, never up.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

namespace fs = std::filesystem;

enum Stage { words, inputs, parser, ir, passes, evaluator, models, advise, side, report, cli };

/// The stage of each public header. A new header needs its line here.
const std::map<std::string, Stage> kPublicHeaders{
    {"diagnostic.hpp", words}, {"source.hpp", inputs}, {"inputs.hpp", inputs}, {"ptx.hpp", parser}, {"ir.hpp", ir}, {"facts.hpp", passes}, {"passes.hpp", passes},
    {"launch.hpp", evaluator}, {"evaluator.hpp", evaluator}, {"variants.hpp", evaluator}, {"tools.hpp", advise}, {"gpu.hpp", models}, {"models.hpp", models}, {"hit_rates.hpp", models}, {"analysis.hpp", advise},
    {"advise.hpp", advise}, {"charts.hpp", advise}, {"ncu.hpp", advise}, {"explain.hpp", advise}, {"inspect.hpp", advise}, {"gate.hpp", side}, {"tune.hpp", side},
    {"validate.hpp", side}, {"calibrate.hpp", side}, {"report.hpp", report}, {"gate_report.hpp", report}, {"html_report.hpp", report}, {"tune_report.hpp", report}, {"validate_report.hpp", report},
};

/// Folders of sources, by the beginning of the path from the root; also how their private headers are included.
const std::vector<std::pair<std::string, Stage>> kFolders{
    {"ptx_parser/", parser}, {"models/", models}, {"src/inputs/", inputs}, {"src/ir/", ir}, {"src/passes/", passes}, {"src/evaluator/", evaluator},
    {"src/gpu/", models}, {"src/advise/", advise}, {"src/tuning/", side}, {"src/calibrate/", side}, {"src/validate/", side}, {"src/gate/", side}, {"src/report/", report},
    {"src/cli/", cli},
};

std::optional<Stage> stage_of(const std::string& file) {
    if (file.starts_with("include/flipflop/")) {
        const auto found = kPublicHeaders.find(file.substr(17));
        return found == kPublicHeaders.end() ? std::nullopt : std::optional{found->second};
    }
    for (const auto& [folder, stage] : kFolders)
        if (file.starts_with(folder)) return stage;
    return std::nullopt;
}

using Files = std::map<std::string, std::string>;   // path from the root -> content

/// The files of ours that `file` includes, as paths from the root; quoted names that are none of ours come back as they are.
std::vector<std::string> includes_of(const std::string& file, const Files& files) {
    std::vector<std::string> result;
    std::istringstream lines{files.at(file)};
    for (std::string line; std::getline(lines, line);) {
        const auto hash = line.find_first_not_of(" \t");
        if (hash == std::string::npos || line[hash] != '#') continue;
        const auto word = line.find_first_not_of(" \t", hash + 1);
        if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
        const auto open = line.find_first_of("\"<", word);
        const auto close = open == std::string::npos ? open : line.find_first_of("\">", open + 1);
        if (close == std::string::npos) continue;
        const std::string name = line.substr(open + 1, close - open - 1);
        const std::string beside = (fs::path(file).parent_path() / name).lexically_normal().string();
        std::string found = line[open] == '"' ? name : "";
        for (const std::string& candidate : {beside, "include/" + name, "src/" + name, name})
            if (files.contains(candidate)) {
                found = candidate;
                break;
            }
        if (!found.empty()) result.push_back(found);
    }
    return result;
}

std::set<std::string> reached_from(const std::string& file, const Files& files) {
    std::set<std::string> reached;
    std::vector<std::string> open{file};
    while (!open.empty()) {
        const std::string next = open.back();
        open.pop_back();
        if (!files.contains(next)) continue;
        for (const std::string& include : includes_of(next, files))
            if (reached.insert(include).second) open.push_back(include);
    }
    return reached;
}

std::optional<std::string> against_the_stage(const std::string& file, Stage stage, const std::string& include) {
    const auto target = stage_of(include);
    if (!target) return file + " includes " + include + ", which no stage owns";
    if (*target > stage) return file + " includes " + include + ", a later stage";
    if (file.starts_with("include/") && !include.starts_with("include/flipflop/") && include != "ptx_parser/instructions.def")
        return file + " is public and includes the private " + include;
    if (stage == cli && !include.starts_with("include/flipflop/") && !include.starts_with("src/cli/"))
        return file + " includes " + include + ": the command uses the public headers only";
    if (stage == report && (include.starts_with("models/") || include.starts_with("src/advise/") || include == "include/flipflop/evaluator.hpp"))
        return file + " includes " + include + ": reports compute nothing";
    return std::nullopt;
}

/// Every include that goes against the design.
std::vector<std::string> violations(const Files& files) {
    std::vector<std::string> found;
    for (const auto& [file, content] : files) {
        const auto stage = stage_of(file);
        if (!stage) {
            found.push_back(file + " has no stage: add it to layering_test.cpp");
            continue;
        }
        for (const std::string& include : includes_of(file, files))
            if (auto violation = against_the_stage(file, *stage, include)) found.push_back(std::move(*violation));
        // Models see facts and profiles, through no chain of headers the parser.
        if (*stage == models)
            for (const std::string& include : reached_from(file, files))
                for (const char* forbidden : {"ptx.hpp", "ir.hpp", "passes.hpp", "evaluator.hpp"})
                    if (include == std::string{"include/flipflop/"} + forbidden) found.push_back(file + " reaches " + include);
    }
    return found;
}

Files sources_under(const fs::path& root) {
    Files files;
    for (const char* folder : {"ptx_parser", "src", "models", "include/flipflop"}) {
        if (!fs::exists(root / folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            const std::string extension = entry.path().extension().string();
            if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".hpp" && extension != ".def")) continue;
            std::ifstream file{entry.path(), std::ios::binary};
            files[entry.path().lexically_relative(root).generic_string()] = std::string{std::istreambuf_iterator<char>{file}, {}};
        }
    }
    return files;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

}  // namespace

TEST_CASE("Includes point down the pipeline", "[house][layering]") {
    const Files files = sources_under(FLIPFLOP_SOURCE_DIR);
    CHECK(files.size() > 20);
    CHECK(joined(violations(files)) == "");
}

TEST_CASE("The check of the layering sees what it should", "[house][layering]") {
    const auto with = [](Files changes) {
        Files files{{"include/flipflop/diagnostic.hpp", ""},
                    {"include/flipflop/ptx.hpp", "#include \"flipflop/diagnostic.hpp\"\n#include \"ptx_parser/instructions.def\"\n"},
                    {"include/flipflop/ir.hpp", "#include \"flipflop/ptx.hpp\"\n"},
                    {"include/flipflop/facts.hpp", "#include <vector>\n"},
                    {"include/flipflop/models.hpp", "#include \"flipflop/facts.hpp\"\n"},
                    {"include/flipflop/evaluator.hpp", "#include \"flipflop/ir.hpp\"\n"},
                    {"ptx_parser/instructions.def", ""},
                    {"models/time.hpp", "#include \"flipflop/models.hpp\"\n"},
                    {"models/time.cpp", "#include \"models/time.hpp\"\n"},
                    {"src/cli/main.cpp", "#include \"flipflop/models.hpp\"\n"}};
        for (auto& [name, content] : changes) files[name] = content;
        return violations(files).size();
    };
    CHECK(with({}) == 0);
    CHECK(with({{"src/ir/a.cpp", "#include \"flipflop/models.hpp\"\n"}}) == 1);                        // upwards
    CHECK(with({{"src/ir/a.cpp", "  #  include   <flipflop/models.hpp> // why\n"}}) == 1);
    CHECK(with({{"models/time.cpp", "#include \"flipflop/ir.hpp\"\n"}}) == 2);                         // itself, and ptx.hpp through it
    CHECK(with({{"include/flipflop/facts.hpp", "#include \"flipflop/ptx.hpp\"\n"}}) == 3);             // all of models' reach it
    CHECK(with({{"src/report/text.cpp", "#include \"models/time.hpp\"\n"}}) == 1);
    CHECK(with({{"src/report/text.cpp", "#include \"flipflop/evaluator.hpp\"\n"}}) == 1);
    CHECK(with({{"src/cli/main.cpp", "#include \"models/time.hpp\"\n"}}) == 1);
    CHECK(with({{"src/cli/main.cpp", "#include \"../../models/time.hpp\"\n"}}) == 1);
    CHECK(with({{"include/flipflop/models.hpp", "#include \"models/time.hpp\"\n"}}) == 1);
    CHECK(with({{"include/flipflop/new.hpp", ""}}) == 1);
    CHECK(with({{"src/elsewhere/a.cpp", ""}}) == 1);
}
