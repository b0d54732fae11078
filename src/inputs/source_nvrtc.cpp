// NVRTC by dlopen, in a process of its own (this program again, as a worker), so that a compiler that crashes, hangs or
// eats all memory is a row with an error and not the end of the run. Frames are 4 bytes of length and the bytes.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "flipflop/source.hpp"
#include "inputs/source_compile.hpp"

namespace flipflop {

namespace {

using Handle = void*;

/// The functions of nvrtc.h that are used (its ABI has been the same since CUDA 7.5, the two of architectures since 11.2).
struct Nvrtc {
    int (*version)(int*, int*){};
    int (*create)(Handle*, const char*, const char*, int, const char* const*, const char* const*){};
    int (*compile)(Handle, int, const char* const*){};
    int (*ptx_size)(Handle, std::size_t*){};
    int (*ptx)(Handle, char*){};
    int (*log_size)(Handle, std::size_t*){};
    int (*log)(Handle, char*){};
    int (*destroy)(Handle*){};
    int (*architecture_count)(int*){};
    int (*architectures)(int*){};

    bool load(const char* path, std::string& why) {
        void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const char* const error = ::dlerror();
            why = error ? error : "dlopen failed";
            return false;
        }
        const auto take = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
            return function != nullptr;
        };
        take(architecture_count, "nvrtcGetNumSupportedArchs");
        take(architectures, "nvrtcGetSupportedArchs");
        const bool all = take(version, "nvrtcVersion") && take(create, "nvrtcCreateProgram") && take(compile, "nvrtcCompileProgram") && take(ptx_size, "nvrtcGetPTXSize") &&
                         take(ptx, "nvrtcGetPTX") && take(log_size, "nvrtcGetProgramLogSize") && take(log, "nvrtcGetProgramLog") && take(destroy, "nvrtcDestroyProgram");
        if (!all) why = "it lacks functions of nvrtc.h";
        return all;
    }
};

constexpr std::uint32_t kMostFrame = 1U << 30;
constexpr int kInvalidOption = 5;            // NVRTC_ERROR_INVALID_OPTION

void put(std::string& to, std::string_view bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    for (int i = 0; i < 4; ++i) to += static_cast<char>(size >> (8 * i));
    to += bytes;
}
void put_list(std::string& to, const std::vector<std::string>& all) {
    put(to, std::to_string(all.size()));
    for (const std::string& one : all) put(to, one);
}

/// Frames from the front of `from`; false at its end, or where it is none.
bool take(std::string_view& from, std::string& bytes) {
    if (from.size() < 4) return false;
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size |= std::uint32_t{static_cast<unsigned char>(from[i])} << (8 * i);
    if (size > kMostFrame || from.size() - 4 < size) return false;
    bytes.assign(from.substr(4, size));
    from.remove_prefix(4 + std::size_t{size});
    return true;
}
bool take_list(std::string_view& from, std::vector<std::string>& all) {
    std::string count, one;
    if (!take(from, count) || count.size() > 7) return false;
    for (int n = std::atoi(count.c_str()); n > 0; --n) {
        if (!take(from, one)) return false;
        all.push_back(one);
    }
    return true;
}

bool send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t wrote = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return true;
}

std::string reply_to(const Nvrtc& nvrtc, const std::string& name, const std::string& source, const std::vector<std::string>& options) {
    std::string reply;
    Handle program = nullptr;
    if (nvrtc.create(&program, source.c_str(), name.c_str(), 0, nullptr, nullptr) != 0) {
        put(reply, "0");
        put(reply, "");
        put(reply, "NVRTC cannot make a program of it");
        return reply;
    }
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    const int status = nvrtc.compile(program, static_cast<int>(words.size()), words.data());
    std::string ptx, log;
    std::size_t bytes = 0;
    if (status == 0 && nvrtc.ptx_size(program, &bytes) == 0 && bytes > 0) {
        ptx.resize(bytes);
        if (nvrtc.ptx(program, ptx.data()) != 0) ptx.clear();
        ptx.resize(std::strlen(ptx.c_str()));
    }
    bytes = 0;
    if (nvrtc.log_size(program, &bytes) == 0 && bytes > 1) {
        log.resize(bytes);
        if (nvrtc.log(program, log.data()) != 0) log.clear();
        log.resize(std::min<std::size_t>(std::strlen(log.c_str()), 256 * 1024));
    }
    nvrtc.destroy(&program);
    put(reply, status == 0 && !ptx.empty() ? "1" : status == kInvalidOption ? "2" : "0");
    put(reply, ptx);
    put(reply, log);
    return reply;
}

}  // namespace

int nvrtc_worker() {
    std::string input;
    std::array<char, 65536> buffer;
    for (ssize_t got; (got = ::read(STDIN_FILENO, buffer.data(), buffer.size())) != 0;) {
        if (got < 0 && errno != EINTR) return 1;
        if (got > 0) input.append(buffer.data(), static_cast<std::size_t>(got));
    }
    std::string_view rest = input;
    std::string library, seconds, name, source, count;
    std::vector<std::string> common;
    if (!take(rest, library) || !take(rest, seconds) || !take(rest, name) || !take(rest, source) || !take_list(rest, common) || !take(rest, count)) return 1;
    Nvrtc nvrtc;
    std::string why, head;
    if (!nvrtc.load(library.c_str(), why)) {
        std::fputs(why.c_str(), stderr);
        return 1;
    }
    int major = 0, minor = 0, number = 0;
    nvrtc.version(&major, &minor);
    put(head, fmt::format("{}.{}", major, minor));
    std::vector<std::string> architectures;
    if (nvrtc.architecture_count && nvrtc.architectures && nvrtc.architecture_count(&number) == 0 && number > 0 && number < 1000) {
        std::vector<int> list(static_cast<std::size_t>(number));
        if (nvrtc.architectures(list.data()) == 0)
            for (const int a : list) architectures.push_back(std::to_string(a));
    }
    put_list(head, architectures);
    if (!send(head)) return 1;
    for (int job = 0; job < std::atoi(count.c_str()); ++job) {
        std::vector<std::string> options, own;
        if (!take_list(rest, own)) return 1;
        options = common;
        options.insert(options.end(), own.begin(), own.end());
        // A compilation that does not end is ended by the alarm; who reads us knows by the count which one it was.
        ::alarm(static_cast<unsigned>(std::max(1, std::atoi(seconds.c_str()))));
        const std::string reply = reply_to(nvrtc, name, source, options);
        ::alarm(0);
        if (!send(reply)) return 1;
    }
    return 0;
}

NvrtcAnswer ask_nvrtc(const SourceOptions& options, const std::string& library, const std::string& name, std::string_view source,
                      const std::vector<std::string>& common, const std::vector<const std::vector<std::string>*>& jobs) {
    NvrtcAnswer answer;
    const auto seconds = std::max<long long>(1, options.timeout.count() / 1000);
    ProcessOptions process;
    process.timeout = std::chrono::seconds(seconds) * static_cast<int>(jobs.size() + 1);
    process.max_output_bytes = std::size_t{1} << 30;
    std::string& in = process.standard_input;
    put(in, library);
    put(in, std::to_string(seconds));
    put(in, name);
    put(in, source);
    put_list(in, common);
    put(in, std::to_string(jobs.size()));
    for (const auto* job : jobs) put_list(in, *job);
    const auto ran = run_process({options.self, "--nvrtc-worker"}, process);
    if (!ran) {
        answer.trouble = ran.error().message;
        return answer;
    }
    std::string_view out = ran->output;
    std::string status;
    NvrtcReply reply;
    if (take(out, answer.version) && take_list(out, answer.architectures))
        while (answer.replies.size() < jobs.size() && take(out, status) && take(out, reply.ptx) && take(out, reply.log)) {
            reply.compiled = status == "1";
            reply.bad_option = status == "2";
            answer.replies.push_back(reply);
        }
    constexpr int kAlarm = 14;
    answer.timed_out = ran->timed_out || ran->signal == kAlarm;
    if (answer.timed_out) answer.trouble = fmt::format("took longer than {} s", seconds);
    else if (ran->signal != 0) answer.trouble = fmt::format("crashed (signal {})", ran->signal);
    else if (!ran->succeeded()) answer.trouble = ran->errors.empty() ? fmt::format("ended with code {}", ran->exit_code) : ran->errors.substr(0, 300);
    return answer;
}

}  // namespace flipflop
