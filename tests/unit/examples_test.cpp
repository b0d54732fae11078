// What belongs to an example: source, PTX, a launch, a row in the README, a page in the gallery.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "catch.hpp"

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

TEST_CASE("Every example is whole", "[house][examples]") {
    const fs::path root{FLIPFLOP_SOURCE_DIR}, folder = root / "examples";
    const std::string launches = text_of(folder / "launches.toml"), readme = text_of(folder / "README.md"), gallery = text_of(root / "docs" / "gallery.md");
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".cu") continue;
        const std::string name = entry.path().stem().string();
        INFO(name);
        ++count;
        const std::string ptx = text_of(folder / (name + ".ptx"));
        CHECK(ptx.find(".entry") != std::string::npos);
        CHECK(ptx.find("\"" + name + ".cu\"") != std::string::npos);   // with lines
        CHECK((launches.find("match = \"=" + name + "\"") != std::string::npos || launches.find("match = \"*" + name + "<*\"") != std::string::npos));
        CHECK(readme.find("| `" + name + "` |") != std::string::npos);
        CHECK(readme.find("flipflop analyze examples/" + name + ".ptx ") != std::string::npos);
        CHECK(gallery.find("## `" + name + "`:") != std::string::npos);
    }
    CHECK(count >= 22);
}
