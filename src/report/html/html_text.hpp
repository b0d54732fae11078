// Owns: text inside HTML, data inside script elements, and the hashes of a content security policy.
#pragma once

#include <string>
#include <string_view>

namespace flipflop::report {

/// As text or as a quoted attribute: printable, and no character of it is markup.
[[nodiscard]] std::string esc(std::string_view text);
/// JSON that may stand inside <script type="application/json">: no '<', and nothing that an older parser takes for a line end.
[[nodiscard]] std::string script_data(std::string_view json);
/// RFC 4648, with padding.
[[nodiscard]] std::string base64(std::string_view bytes);
/// What a policy calls a script or style of exactly these bytes: 'sha256-...', quotes included.
[[nodiscard]] std::string csp_hash(std::string_view content);

}  // namespace flipflop::report
