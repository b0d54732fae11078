#!/usr/bin/env python3
"""The gate in CI, end to end: the example repository's four pull requests, with the test as the runner. test_action.py [CLASS...]."""
import http.server
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_cli import CLEAN, FLIPFLOP, SOURCE, Case, main  # noqa: E402

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

MAKE = os.path.join(SOURCE, "examples", "ci", "make_repository.sh")


class Api(http.server.BaseHTTPRequestHandler):
    """As much of the forge as comment.py uses: the comments of one pull request."""
    comments, allowed = [], True

    def answer(self, code, value):
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def do_GET(self):
        page = int(self.path.rsplit("page=", 1)[1])
        self.answer(200, self.comments[(page - 1) * 100:page * 100])

    def do_POST(self):
        body = self.body()
        if not self.allowed or self.headers["Authorization"] != "Bearer secret":
            return self.answer(403, {})
        self.comments.append({"id": 1000 + len(self.comments), "body": body["body"]})
        return self.answer(201, {})

    def do_PATCH(self):
        body, wanted = self.body(), int(self.path.rsplit("/", 1)[1])
        for comment in self.comments:
            if comment["id"] == wanted:
                comment["body"] = body["body"]
        self.answer(200, {})

    def log_message(self, *_):
        pass


class Runner(Case):
    """What GitHub's runner does with a composite action: inputs to environment, GITHUB_* files, outputs back."""
    def setUp(self):
        super().setUp()
        self.repository = self.path("repository")
        done = subprocess.run([MAKE, self.repository, FLIPFLOP], capture_output=True, text=True, env=CLEAN, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(SOURCE, "action.yml")) as file:
            self.action = yaml.safe_load(file)
        Api.comments, Api.allowed = [], True
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def switch(self, branch):
        subprocess.run(["git", "-C", self.repository, "switch", "-q", branch], check=True, env=CLEAN, timeout=60)

    def play(self, event=None, **given):
        inputs = {name: str(value.get("default", "")) for name, value in self.action["inputs"].items()}
        inputs.update({"flipflop": FLIPFLOP, "files": "kernels/particles.ptx", "baseline": "flipflop.baseline.json", "options": "--ptxas off"})
        inputs.update(given)
        for name in ("output", "summary", "event"):
            self.file(name, json.dumps(event or {}) if name == "event" else "")
        (step,) = self.action["runs"]["steps"]
        self.assertNotIn("${{", step["run"], "an expression inside a script is an injection")
        environment = dict(CLEAN, GITHUB_ACTION_PATH=SOURCE, GITHUB_OUTPUT=self.path("output"), GITHUB_STEP_SUMMARY=self.path("summary"),
                           GITHUB_EVENT_PATH=self.path("event"), GITHUB_REPOSITORY="team/particles", RUNNER_TEMP=self.folder.name,
                           GITHUB_API_URL=f"http://127.0.0.1:{self.server.server_port}")
        for name, value in step["env"].items():
            source = value.removeprefix("${{").removesuffix("}}").strip()
            self.assertTrue(source.startswith("inputs."), value)
            environment[name] = inputs[source.removeprefix("inputs.")]
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=self.repository,
                              capture_output=True, text=True, env=environment, timeout=120)
        with open(self.path("output")) as file:
            outputs = dict(line.split("=", 1) for line in file.read().splitlines())
        with open(self.path("summary")) as file:
            done.summary = file.read()
        done.outputs = outputs
        return done

    def report(self, done):
        with open(done.outputs["report"]) as file:
            return json.load(file)


class PullRequests(Runner):
    def test_a_harmless_edit_passes_and_says_nothing(self):
        self.switch("pr/1-pass")
        done = self.play({"pull_request": {"number": 1}}, comment="true", token="secret")
        self.assertEqual((done.returncode, done.outputs["verdict"]), (0, "pass"), done.stderr)
        self.assertEqual(done.stdout.strip(), "", "no annotation where nothing changed")
        self.assertIn("Nothing changed.", done.summary)
        self.assertEqual(Api.comments, [], "no comment where nothing changed")

    def test_a_regression_fails_with_annotation_summary_and_one_comment(self):
        self.switch("pr/2-regression")
        for _ in range(2):   # the second run brings the comment up to date
            done = self.play({"pull_request": {"number": 2}}, comment="true", token="secret", sarif="out.sarif")
            self.assertEqual((done.returncode, done.outputs["verdict"]), (1, "fail"), done.stderr)
        self.assertRegex(done.stdout, r"(?m)^::error .*file=kernels/particles\.cu,")
        self.assertIn("regressed", done.summary)
        self.assertEqual(len(Api.comments), 1)
        self.assertEqual(Api.comments[0]["body"], done.summary)
        changes = {c["metric"]: c for k in self.report(done)["kernels"] if k["name"] == "advance" for c in k["changes"]}
        self.assertEqual(changes["time_us"]["verdict"], "regressed")
        self.assertEqual((changes["sectors_per_request"]["base"], changes["sectors_per_request"]["head"]), (4, 32))
        with open(os.path.join(self.repository, done.outputs["sarif"])) as file:
            sarif = json.load(file)
        places = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in sarif["runs"][0]["results"] if r["level"] == "error"}
        self.assertEqual(places, {"kernels/particles.cu"})

    def test_a_waiver_with_reason_owner_and_end_lets_it_pass(self):
        self.switch("pr/3-waiver")
        done = self.play()
        self.assertEqual((done.returncode, done.outputs["verdict"]), (0, "pass"), done.stdout + done.stderr)
        self.assertIn("the solver moves to structures", done.summary)
        waived = {c["metric"] for k in self.report(done)["kernels"] for c in k["changes"] if c["verdict"] == "waived"}
        self.assertEqual(waived, {"time_us", "energy_mj"})

    def test_a_renamed_kernel_is_found_again(self):
        self.switch("pr/4-rename")
        done = self.play()
        self.assertEqual((done.returncode, done.outputs["verdict"]), (0, "pass"), done.stdout + done.stderr)
        self.assertEqual({k["name"]: k["status"] for k in self.report(done)["kernels"]}, {"move_particles": "renamed", "kinetic_energy": "same"})

    def test_the_base_branch_as_an_input(self):
        self.switch("pr/2-regression")
        with open(self.path("base.ptx"), "wb") as file:
            file.write(subprocess.run(["git", "-C", self.repository, "show", "main:kernels/particles.ptx"], check=True, capture_output=True, timeout=60).stdout)
        done = self.play(baseline="", base=self.path("base.ptx"), gpu="a100 h100")
        self.assertEqual((done.returncode, done.outputs["verdict"]), (1, "fail"), done.stderr)


class Manners(Runner):
    def test_a_fork_may_not_comment_and_the_gate_does_not_care(self):
        Api.allowed = False
        self.switch("pr/2-regression")
        done = self.play({"pull_request": {"number": 3}}, comment="true", token="secret")
        self.assertEqual((done.returncode, done.outputs["verdict"]), (1, "fail"))
        self.assertIn("::warning title=flipflop::the comment", done.stdout)
        self.assertIn("regressed", done.summary)
        self.switch("pr/4-rename")
        done = self.play({"pull_request": {"number": 4}}, comment="true", token="")
        self.assertEqual((done.returncode, done.outputs["verdict"]), (0, "pass"))

    def test_inputs_are_data(self):
        canary = self.path("canary")
        for inputs in ({"files": f"$(touch {canary})"}, {"gpu": f"`touch {canary}`"}, {"options": f"; touch {canary}"}, {"files": f"x;touch {canary}"}):
            done = self.play(**inputs)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.outputs["verdict"], "error")
            self.assertFalse(os.path.exists(canary), inputs)

    def test_mistakes_are_errors_and_never_a_pass(self):
        for inputs, says in (({"files": " \n"}, "'files' is empty"), ({"flipflop": "no-such-flipflop"}, "install flipflop"),
                             ({"base": "x.ptx"}, "give one"), ({"files": "--version"}, "holds an option")):
            done = self.play(**inputs)
            self.assertEqual((done.returncode, done.outputs["verdict"]), (2, "error"), done.stdout)
            self.assertRegex(done.stdout, "(?m)^::error title=flipflop::.*" + says)
        done = self.play(files="kernels/*.nothing")
        self.assertEqual((done.returncode, done.outputs["verdict"]), (3, "error"), done.stdout + done.stderr)

    def test_patterns_of_files_are_expanded(self):
        done = self.play(files="kernels/*.ptx")
        self.assertEqual((done.returncode, done.outputs["verdict"]), (0, "pass"), done.stderr)
        done = self.play(files="**/*.ptx")
        self.assertEqual((done.returncode, done.outputs["verdict"]), (0, "pass"), done.stderr)


class Shells(Case):
    def bash(self, script):
        done = subprocess.run(["bash", "--norc", "-c", f'eval "$({FLIPFLOP} completion bash)"\n{script}'], capture_output=True, text=True, env=CLEAN, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def complete(self, *words):
        line = " ".join(f"'{word}'" for word in words)
        return self.bash(f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _flipflop; printf '%s\\n' \"${{COMPREPLY[@]}}\"")

    def test_completion(self):
        self.assertEqual(self.complete("flipflop", "ana"), ["analyze"])
        self.assertIn("--objective", self.complete("flipflop", "analyze", "x.ptx", "--ob"))
        self.assertIn("a100-pcie", self.complete("flipflop", "analyze", "--gpu", "a100-"))
        self.assertIn("edp", self.complete("flipflop", "analyze", "--objective", ""))
        self.assertEqual(self.complete("flipflop", "check", "--fail-on", "reg"), ["regression"])
        self.assertEqual(self.complete("flipflop", "analyze", "kern"), [], "file names are the shell's")

    def test_the_manual_names_every_option_of_every_command(self):
        page = self.expect(0, "manual").out
        self.assertTrue(page.startswith(".TH FLIPFLOP 1"))
        for command in ("analyze", "check", "explain"):
            for word in self.expect(0, command, "--help").out.split():
                if word.startswith("--") and word.rstrip(",").replace("-", "").isalnum():
                    self.assertIn(word.rstrip(",").replace("-", "\\-"), page)
        for line in page.splitlines():
            self.assertFalse(line.startswith("'"), line)


if __name__ == "__main__":
    main(sys.modules[__name__])
