// The accuracy card, compiled in.
#include "flipflop/validate.hpp"
#include "gpu/embedded_data.hpp"

namespace flipflop::validate {

std::string_view accuracy_card() {
    for (const EmbeddedFile& file : embedded_files())
        if (file.path == "docs/accuracy.json") return file.content;
    return {};
}

}  // namespace flipflop::validate
