// The pages of docs/rules as they were compiled in.
#include <algorithm>

#include "flipflop/advise.hpp"
#include "flipflop/gate.hpp"
#include "gpu/embedded_data.hpp"

namespace flipflop::gate {
namespace {

std::vector<RulePage> read_pages() {
    constexpr std::string_view kFolder = "docs/rules/FF";
    std::vector<RulePage> pages;
    for (const EmbeddedFile& file : embedded_files()) {
        if (!file.path.starts_with(kFolder) || !file.path.ends_with(".md")) { continue; }
        RulePage page;
        page.id = file.path.substr(kFolder.size() - 2, file.path.size() - kFolder.size() + 2 - 3);
        page.text = file.content;
        // "# FF101: Uncoalesced global access"
        const std::string first = page.text.substr(0, page.text.find('\n'));
        const std::size_t colon = first.find(": ");
        page.title = colon == std::string::npos ? page.id : first.substr(colon + 2);
        page.family = std::find(kGateRules.begin(), kGateRules.end(), page.id) != kGateRules.end() ? "gate" : "";
        for (const RuleInfo& rule : list_rules()) {
            if (rule.id == page.id) { page.family = rule.family; }
        }
        pages.push_back(std::move(page));
    }
    std::sort(pages.begin(), pages.end(), [](const RulePage& a, const RulePage& b) { return a.id < b.id; });
    return pages;
}

}  // namespace

const std::vector<RulePage>& rule_pages() {
    static const std::vector<RulePage> pages = read_pages();   // constant data, read once
    return pages;
}

}  // namespace flipflop::gate
