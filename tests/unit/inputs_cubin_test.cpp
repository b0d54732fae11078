// Machine code: what it says of its kernels, in both layouts, and what happens when it lies.
#include "advise/compile.hpp"
#include "advise/machine_code.hpp"
#include "catch.hpp"
#include "flipflop/gpu.hpp"
#include "inputs/cubin.hpp"
#include "inputs_support.hpp"

using namespace flipflop;
using namespace flipflop::testing;

namespace {

constexpr std::uint16_t kMachine = 190, kLinked = 2, kRelocatable = 1;
constexpr std::uint32_t kSymtab = 2, kNobits = 8;

/// The kernel `alpha` and the function `beta` as ptxas writes them; `abi` 7 and 8 differ in where the barriers stand.
struct Cubin {
    std::uint8_t abi{8};
    std::uint32_t flags{0x6005a04};          ///< sm_90
    std::uint16_t type{kLinked};
    std::uint32_t shared_bytes{1024 + 400};  ///< the system's part is in it
    std::string note;
    std::string own;                         ///< of .nv.info.alpha
    bool registers_in_info{true};

    static void sized(std::string& to, std::uint8_t attribute, std::initializer_list<std::uint32_t> words) {
        put<std::uint8_t>(to, 4);
        put<std::uint8_t>(to, attribute);
        put<std::uint16_t>(to, static_cast<std::uint16_t>(4 * words.size()));
        for (const std::uint32_t w : words) put<std::uint32_t>(to, w);
    }
    static void short_one(std::string& to, std::uint8_t form, std::uint8_t attribute, std::uint16_t value) {
        put<std::uint8_t>(to, form);
        put<std::uint8_t>(to, attribute);
        put<std::uint16_t>(to, value);
    }

    [[nodiscard]] std::string bytes() const {
        const std::string names = std::string("\0alpha\0beta\0", 12);
        std::string symbols(24, '\0');
        for (const auto& [name, other] : {std::pair{1, 0x10}, {7, 0}}) {
            put<std::uint32_t>(symbols, static_cast<std::uint32_t>(name));
            put<std::uint8_t>(symbols, 0x12);
            put<std::uint8_t>(symbols, static_cast<std::uint8_t>(other));
            put<std::uint16_t>(symbols, 3);
            put<std::uint64_t>(symbols, 0);
            put<std::uint64_t>(symbols, 384);
        }
        std::string info;
        if (registers_in_info) sized(info, 0x2f, {1, 40});
        sized(info, 0x11, {1, 96});
        sized(info, 0x2f, {2, 99});          // beta's
        sized(info, 0x77, {1, 2, 3});        // an attribute that is not known
        std::string alpha = own;
        if (own.empty()) {
            short_one(alpha, 3, 0x1b, 168);
            sized(alpha, 0x05, {192, 1, 1});
            sized(alpha, 0x3d, {2, 1, 1});
            short_one(alpha, 1, 0x3e, 0);
            if (abi >= 8) short_one(alpha, 2, 0x4c, 3);
        }
        const std::uint64_t barriers = abi < 8 ? std::uint64_t{3} << 20 : 0;
        return elf({{".strtab", names, 3},
                    {".symtab", symbols, kSymtab, 1},
                    {".nv.info", info},
                    {".text.alpha", std::string(384, 'x'), 1, 0, registers_in_info ? 1U : (40U << 24) + 1, 6 | barriers},
                    {".nv.info.alpha", alpha},
                    {".nv.shared.alpha", std::string(shared_bytes, '\0'), kNobits},
                    {".note.nv.tkinfo", note, 7}},
                   kMachine, abi, flags, type);
    }
};

CubinKernel only(const Cubin& cubin) {
    const auto kernels = read_cubin(cubin.bytes());
    REQUIRE(kernels);
    REQUIRE(kernels->size() == 1);           // beta is a function, not an entry
    return kernels->front();
}

GpuProfile gpu(const char* name) {
    auto found = load_gpu(name);
    REQUIRE(found);
    return std::move(*found);
}

}  // namespace

TEST_CASE("A cubin says what its kernels need", "[inputs][cubin]") {
    for (const std::uint8_t abi : {std::uint8_t{7}, std::uint8_t{8}}) {
        INFO(int{abi});
        Cubin cubin;
        cubin.abi = abi;
        if (abi == 7) cubin.flags = 0x5a055a;
        const CubinKernel k = only(cubin);
        CHECK(k.name == "alpha");
        CHECK(k.registers == 40U);
        CHECK(k.barriers == 3U);
        CHECK(k.stack_frame_bytes == 96U);
        CHECK(k.shared_bytes == 400U);
        CHECK(k.max_registers == 168U);
        CHECK(k.max_block == std::array<std::uint32_t, 3>{192, 1, 1});
        CHECK(k.cluster == std::array<std::uint32_t, 3>{2, 1, 1});
        CHECK_FALSE(k.required_block);
        CHECK(k.code_bytes == 384);
        CHECK(k.linked);
    }
}

TEST_CASE("Before 9.0 the system has no shared memory; before CUDA 11 the section's header has the registers", "[inputs][cubin]") {
    Cubin cubin;
    cubin.abi = 7;
    cubin.flags = 0x500550;
    cubin.shared_bytes = 400;
    cubin.registers_in_info = false;
    const CubinKernel k = only(cubin);
    CHECK(k.shared_bytes == 400U);
    CHECK(k.registers == 40U);
}

TEST_CASE("What is still to be linked is marked, and its shared memory is not known", "[inputs][cubin]") {
    Cubin cubin;
    cubin.type = kRelocatable;
    const CubinKernel k = only(cubin);
    CHECK_FALSE(k.linked);
    CHECK_FALSE(k.shared_bytes);
}

TEST_CASE("Architectures: old and new layout, and the suffix", "[inputs][cubin]") {
    struct Row { std::uint8_t abi; std::uint32_t flags; const char* note; const char* architecture; };
    const Row rows[]{
        {7, 0x4b054b, "", "sm_75"},  {7, 0x5a055a, "", "sm_90"},      {7, 0x5a0d5a, "", "sm_90a"},         {8, 0x6005004, "", "sm_80"},
        {8, 0x6006402, "", "sm_100"}, {8, 0x6007802, "", "sm_120"},   {8, 0x6006402, "-v -arch sm_100f ", "sm_100f"}, {8, 0x9007902, "-arch=sm_121a", "sm_121a"},
        {8, 0x6005a04, "-arch sm_90 -m 64", "sm_90"}, {8, 0x6005a04, "-arch sm_100a", "sm_90"},   // of another architecture
    };
    for (const Row& row : rows) {
        Cubin cubin;
        cubin.abi = row.abi;
        cubin.flags = row.flags;
        cubin.note = row.note;
        INFO(row.architecture);
        CHECK(cubin_architecture(cubin.bytes()) == row.architecture);
    }
    CHECK(cubin_architecture("\x7f" "ELF") == "unknown");
}

TEST_CASE("Machine code that is cut or lies is a warning, and no crash", "[inputs][cubin][hostile]") {
    const std::string sound = Cubin{}.bytes();
    for (std::size_t size = 0; size < sound.size(); size += 7) (void)read_cubin(std::string_view(sound).substr(0, size));
    std::string flipped = sound;
    for (std::size_t i = 0; i < sound.size(); ++i) {
        flipped[i] = static_cast<char>(flipped[i] ^ 0xff);
        (void)read_cubin(flipped);
        (void)cubin_architecture(flipped);
        flipped[i] = sound[i];
    }
    Cubin lies;
    lies.own = std::string("\x04\x05\xff\xff", 4);   // 65535 bytes follow, it says
    CHECK_FALSE(read_cubin(lies.bytes()));
    const auto input = read_input_bytes(fatbin({FatbinEntry{}, {2, lies.bytes(), 90}}), "k.fatbin");
    REQUIRE(input);
    REQUIRE(input->diagnostics.size() == 1);
    CHECK(input->diagnostics[0].id == "FF0819");
    CHECK(input->diagnostics[0].severity == Severity::warning);
}

TEST_CASE("Machine code alone is an input that says which flag would add PTX", "[inputs][cubin]") {
    Cubin cubin;
    cubin.note = "-arch sm_90a";
    const auto input = read_input_bytes(cubin.bytes(), "k.cubin");
    REQUIRE(input);
    CHECK(input->texts.empty());
    REQUIRE(input->diagnostics.size() == 1);
    CHECK(input->diagnostics[0].id == "FF0806");
    CHECK(input->diagnostics[0].help.find("-gencode arch=compute_90a,code=compute_90a") != std::string::npos);
    // The oldest of several runs on all of them.
    Cubin newer, older;
    newer.flags = 0x6006402;
    const auto several = read_input_bytes(fatbin({{2, newer.bytes(), 100}, {2, older.bytes(), 90}}), "k.fatbin");
    REQUIRE(several);
    CHECK(several->diagnostics[0].help.find("code=compute_90 ") != std::string::npos);
}

TEST_CASE("What a GPU runs: machine code for it before PTX, the newest that it knows, of the kernel that is meant", "[advise][cubin]") {
    const auto entry = [](const char* architecture, const char* kernel, bool linked = true) {
        CubinKernel k;
        k.name = kernel;
        k.linked = linked;
        return CubinEntry{std::string("of ") + architecture, architecture, 1, std::vector{k}};
    };
    Input input;
    input.cubins = {entry("sm_80", "k"), entry("sm_86", "other"), entry("sm_90", "k"), entry("sm_90a", "k", false), entry("sm_100f", "k"), entry("sm_100", "k"), {"unread", "sm_75", 1, std::nullopt}};
    const auto runs = [&](int major, int minor) {
        ComputeCapability cc;
        cc.major = major;
        cc.minor = minor;
        const CubinEntry* const found = advise::running_cubin(input, "k", cc);
        return found ? found->architecture : std::string("ptx");
    };
    CHECK(runs(8, 0) == "sm_80");
    CHECK(runs(8, 6) == "sm_80");            // the newer one does not hold the kernel
    CHECK(runs(9, 0) == "sm_90");            // the `a` one is still to be linked
    CHECK(runs(10, 0) == "sm_100f");
    CHECK(runs(10, 3) == "sm_100f");
    CHECK(runs(7, 5) == "sm_75");            // not read: it may hold it
    CHECK(runs(7, 0) == "ptx");
    CHECK(runs(12, 0) == "ptx");
}

TEST_CASE("Resources of machine code take the place of an estimate", "[advise][cubin]") {
    Resources estimate;
    estimate.registers_per_thread = 30;
    estimate.uses_dynamic_shared = true;
    CubinKernel k;
    k.registers = 40;
    k.shared_bytes = 400;
    k.barriers = 2;
    k.stack_frame_bytes = 0;
    const Resources r = advise::refine(estimate, k);
    CHECK((r.registers_per_thread == 40 && r.registers_low == 40 && r.registers_high == 40));
    CHECK(r.registers_basis == RegistersBasis::cubin);
    CHECK((r.static_shared_bytes == 400 && r.barriers == 2U && r.uses_dynamic_shared));
    CHECK((r.spill_store_bytes == 0U && r.spill_load_bytes == 0U));   // no frame, no spills
    k.stack_frame_bytes = 64;
    CHECK_FALSE(advise::refine(estimate, k).spill_store_bytes);
    Resources by_ptxas = estimate;
    by_ptxas.registers_basis = RegistersBasis::ptxas;
    by_ptxas.registers_per_thread = 40;
    by_ptxas.local_bytes = 64;
    by_ptxas.spill_store_bytes = 12;
    CHECK(advise::refine(by_ptxas, k).spill_store_bytes == 12U);      // the same code, as far as can be seen
    by_ptxas.registers_per_thread = 41;
    CHECK_FALSE(advise::refine(by_ptxas, k).spill_store_bytes);
}

TEST_CASE("Machine code without PTX: needs and occupancy on the GPUs that run it", "[advise][cubin]") {
    auto input = read_input_bytes(Cubin{}.bytes(), "k.cubin");
    REQUIRE(input);
    const std::vector<Input> inputs{*input};
    const std::vector<GpuProfile> gpus{gpu("h100"), gpu("a100")};
    const auto all = advise::machine_kernels(inputs, {}, gpus);
    REQUIRE(all);
    REQUIRE(all->size() == 1);               // 8.0 does not run it
    const MachineKernel& k = all->front();
    CHECK(k.block_threads == 192);           // the launch bound is below what would be assumed
    OccupancyInput in;
    in.block_threads = 192;
    in.registers_per_thread = 40;
    in.static_shared_bytes = 400;
    in.barriers = 3;
    in.cluster_blocks = 2;
    CHECK(k.occupancy.active_blocks_per_sm == occupancy(gpus[0].cc, in).active_blocks_per_sm);
    CHECK(k.occupancy.active_blocks_per_sm > 0);
    CHECK(advise::machine_kernels(inputs, {"nobody"}, gpus).error().id == "FF0701");
}
