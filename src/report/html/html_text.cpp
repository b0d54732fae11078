#include "report/html/html_text.hpp"

#include <cstdint>

#include "flipflop/inputs.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {

std::string esc(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            case '`': out += "&#96;"; break;
            default: out += c;
        }
    }
    return out;
}

std::string script_data(std::string_view json) {
    std::string out;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '<' || c == '>' || c == '&') {
            out += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
        } else if (json.substr(i, 2) == "\xe2\x80" && i + 2 < json.size() && (json[i + 2] == '\xa8' || json[i + 2] == '\xa9')) {
            out += json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
            i += 2;
        } else {
            out += c;
        }
    }
    return out;
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k) { group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U); }
        for (std::size_t k = 0; k < 4; ++k) { out += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63U]; }
    }
    return out;
}

std::string csp_hash(std::string_view content) {
    const std::string hex = sha256(content);
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) { bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)); }
    return "'sha256-" + base64(bytes) + "'";
}

}  // namespace flipflop::report
