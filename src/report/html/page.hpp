// Owns: the page around a report: head, policy, style, scripts. Content is HTML that is safe already.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flipflop::report {

/// Collects a page's content and the data of its charts.
class Page {
public:
    void add(std::string_view html) { body_ += html; }
    void add(const Page& more) {
        body_ += more.body_;
        data_ += more.data_;
    }
    /// A data block for the script, as JSON; its id is unique on the page.
    void add_data(std::string_view id, std::string_view json);
    [[nodiscard]] std::size_t size() const { return body_.size() + data_.size(); }
    /// `title` is plain text.
    [[nodiscard]] std::string finish(std::string_view title) const;

private:
    std::string body_, data_;
};

/// One of the files compiled in, or empty.
[[nodiscard]] std::string_view asset(std::string_view path);
[[nodiscard]] bool has_chart_library();

}  // namespace flipflop::report
