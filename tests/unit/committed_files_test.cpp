// What is committed: nothing of the machine it was made on, nothing large, nothing binary that is not meant to be.
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 600'000, kMostBytesTogether = 30'000'000;

/// What `git ls-files` lists, or nothing outside a git checkout.
std::vector<std::string> committed_files() {
    const std::string command = std::string{"git -C '"} + FLIPFLOP_SOURCE_DIR + "' ls-files -z 2>/dev/null";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{::popen(command.c_str(), "r"), &::pclose};
    std::vector<std::string> files{""};
    if (pipe)
        for (int c; (c = std::fgetc(pipe.get())) != EOF;) {
            if (c == '\0') files.emplace_back();
            else files.back() += static_cast<char>(c);
        }
    files.pop_back();
    return files;
}

/// A path of a machine in the text, or "". Written so that this file holds none.
std::string machine_path_in(const std::string& text) {
    static const std::array<std::string, 4> kRoots{"/wo" "rk/", "/ro" "ot/", "/ho" "me/", "/tm" "p/"};
    for (const std::string& root : kRoots)
        for (std::size_t at = text.find(root); at != std::string::npos; at = text.find(root, at + 1)) {
            const char before = at == 0 ? ' ' : text[at - 1];
            const char after = at + root.size() < text.size() ? text[at + root.size()] : ' ';
            const auto part_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-'; };
            if (!part_of_name(before) && part_of_name(after)) return text.substr(at, 60);
        }
    return "";
}

}  // namespace

TEST_CASE("Machine paths are recognised", "[house]") {
    CHECK(machine_path_in("at /wo" "rk/main/x.cpp") != "");
    CHECK(machine_path_in("\"/ho" "me/me/k.cu\"") != "");
    CHECK(machine_path_in("/tm" "p/x") != "");
    CHECK(machine_path_in("time/work/energy, frame" "/wo" "rk/x") == "");
    CHECK(machine_path_in("a/tm" "p/b ../wo" "rk/ /usr/include") == "");
}

TEST_CASE("No committed file holds a machine's path, or is large, or binary", "[house]") {
    const std::vector<std::string> files = committed_files();
    if (files.empty()) {
        WARN("skipped: no git checkout");
        return;
    }
    std::uintmax_t together = 0;
    const std::array<std::string, 3> not_to_be_named{"farm" "-studio", "farm" "-bench", "shared" "/measurements/"};
    for (const std::string& name : files) {
        const fs::path path = fs::path{FLIPFLOP_SOURCE_DIR} / name;
        if (!fs::is_regular_file(path)) continue;        // deleted, not yet committed
        INFO(name);
        const std::uintmax_t bytes = fs::file_size(path);
        together += bytes;
        CHECK(bytes <= kMostBytes);
        std::ifstream file{path, std::ios::binary};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        const std::string extension = path.extension().string();
        if (extension == ".png" || extension == ".svg") continue;
        CHECK(machine_path_in(text) == "");
        for (const std::string& word : not_to_be_named)
            if (!name.starts_with("tests/") || word[0] == 'f') CHECK(text.find(word) == std::string::npos);
        const bool test_data = name.starts_with("tests/");
        CHECK((test_data || extension == ".npy" || text.find('\0') == std::string::npos));
        CHECK((extension != ".cubin" && extension != ".o" && extension != ".so" && extension != ".a" && extension != ".fatbin"));
    }
    CHECK(together <= kMostBytesTogether);
}

TEST_CASE("Source paths in the examples' PTX are relative", "[house]") {
    std::size_t seen = 0;
    const std::regex file_line{R"(\.file\s+\d+\s+\"([^\"]*)\")"};
    for (const auto& entry : fs::directory_iterator(fs::path{FLIPFLOP_SOURCE_DIR} / "examples")) {
        if (entry.path().extension() != ".ptx") continue;
        std::ifstream file{entry.path()};
        for (std::string line; std::getline(file, line);) {
            std::smatch match;
            if (!std::regex_search(line, match, file_line)) continue;
            ++seen;
            INFO(entry.path().filename().string());
            CHECK(match[1].str().find('/') == std::string::npos);
        }
    }
    CHECK(seen >= 12);
}
