// What cmake/embed_script.cmake made of tests/build/embed is what lies there, whatever the bytes are.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "catch.hpp"
#include "gpu/embedded_data.hpp"

TEST_CASE("Embedded data are the files, byte for byte") {
    const auto files = flipflop::embedded_files();
    std::size_t on_disk = 0;
    for (const auto& entry : std::filesystem::directory_iterator(EMBED_FOLDER)) {
        ++on_disk;
        const std::string name = entry.path().filename().string();
        INFO(name);
        std::ifstream file{entry.path(), std::ios::binary};
        const std::string content{std::istreambuf_iterator<char>{file}, {}};
        const flipflop::EmbeddedFile* found = nullptr;
        for (const auto& embedded : files)
            if (embedded.path == name) found = &embedded;
        REQUIRE(found != nullptr);
        CHECK(found->content == content);
    }
    CHECK(on_disk == files.size());
    CHECK(on_disk >= 5);
}
