"""A sample of the kernels of the CUDA libraries, each cut out of its module as a PTX text of its own.

Stratified: every library is divided by the length of its kernels into five equal parts, and each part gives the same number,
of as many kernel families as it has. A family is the demangled name without template arguments (with the first of them
where a library has few names). Which kernels are taken follows from a hash of their names: the same on every machine with
the same libraries.
"""
import hashlib
import re
import subprocess

import device_code

LONGEST = 6000     # lines of a body: beyond, ptxas alone takes minutes
FEW_NAMES = 60

FUNCTION = re.compile(rb"^(?:\.(?:visible|weak|extern)\s+)?\.(entry|func)\b[^{;]*", re.M)
NAME = re.compile(rb"\.(?:entry|func)\s*(?:\.attribute\s*\([^)]*\)+\s*)?(?:\([^)]*\)\s*)?([\w$%]+)")
WORD = re.compile(rb"[A-Za-z_$%][\w$]*")


def _hash(name):
    return hashlib.sha256(name.encode()).hexdigest()


class Module:
    """Top level of a PTX text: functions with their extent, and what stands between them."""

    def __init__(self, text):
        self.text, self.functions, at = text, {}, 0
        self.rest = []
        while True:
            head = FUNCTION.search(text, at)
            if not head:
                break
            self.rest.append(text[at:head.start()])
            begin, after = head.start(), head.end()
            name = NAME.search(text, begin, after).group(1)
            body = after < len(text) and text[after:after + 1] == b"{"
            at = self._end_of_body(after) if body else after + 1
            kind = head.group(1) == b"entry"
            if name not in self.functions or body:
                self.functions[name] = (begin, at, kind, body)
        self.rest.append(text[at:])

    def _end_of_body(self, begin):
        """Behind the brace that closes the one at `begin`: inline assembly may leave others at the start of a line."""
        end, depth, counted = begin, 0, begin
        while True:
            end = self.text.find(b"\n}", end)
            if end < 0:
                return len(self.text)
            end += 2
            depth += self.text.count(b"{", counted, end) - self.text.count(b"}", counted, end)
            counted = end
            if depth == 0:
                return end

    def entries(self):
        return [name for name, (_, _, entry, body) in self.functions.items() if entry and body]

    def lines(self, name):
        begin, end, _, _ = self.functions[name]
        return self.text.count(b"\n", begin, end)

    def cut(self, entry):
        """The entry, with the functions and variables that it names, and what these name."""
        lines = [line for part in self.rest for line in part.split(b"\n")]
        header = [line for line in lines if line.startswith((b".version", b".target", b".address_size"))]
        variables = {}
        for line in lines:
            found = re.match(rb"(?:\.(?:visible|weak|extern|common)\s+)?\.(?:global|const|shared)\b[^=\[;]*?([\w$%]+)\s*(?:\[|=|;)", line)
            if found:
                variables[found.group(1)] = line
        wanted, work = set(), [entry]
        while work:
            name = work.pop()
            if name in wanted:
                continue
            wanted.add(name)
            if name in self.functions:
                begin, end, _, _ = self.functions[name]
                text = self.text[begin:end]
            else:
                text = variables[name]
            work += [word for word in set(WORD.findall(text)) if word in variables or (word in self.functions and not self.functions[word][2])]
        parts = header + [line for name, line in variables.items() if name in wanted]
        parts += [self.text[begin:end] for name, (begin, end, _, _) in self.functions.items() if name in wanted]
        return b"\n".join(parts) + b"\n"


def families(names):
    """By mangled name: its family."""
    shown = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    plain = {}
    for name, text in zip(names, shown):
        text = text.removeprefix("void ").replace("(anonymous namespace)", "")
        bare, depth = "", 0
        for c in text:
            depth += c == "<"
            if depth == 0:
                if c == "(":
                    break
                bare += c
            depth -= c == ">"
        first = re.search(r"<([^,<>]*)", text)
        plain[name] = (bare, f"{bare}<{first.group(1)}" if first else bare)
    few = len({bare for bare, _ in plain.values()}) < FEW_NAMES
    return {name: longer if few else bare for name, (bare, longer) in plain.items()}


def sample(path, count):
    """[(family, kernel name, PTX text)] of about `count` kernels of the library."""
    known = {}     # name -> (lines, module number); the first module that has it
    for number, text in enumerate(device_code.texts(path)):
        module = Module(text)
        for name in module.entries():
            known.setdefault(name.decode(), (module.lines(name), number))
    names = sorted((name for name, (lines, _) in known.items() if 8 < lines <= LONGEST), key=lambda name: (known[name][0], name))
    if not names:
        return []
    family = families(names)
    chosen = {}
    for part in range(5):
        group = names[part * len(names) // 5:(part + 1) * len(names) // 5]
        of = {}
        for name in sorted(group, key=_hash):
            of.setdefault(family[name], []).append(name)
        ranked = [(rank, _hash(key), name) for key, members in of.items() for rank, name in enumerate(members)]
        for _, _, name in sorted(ranked)[:(count + 4) // 5]:
            chosen.setdefault(known[name][1], []).append(name)
    cut = []
    for number, text in enumerate(device_code.texts(path)):
        if number in chosen:
            module = Module(text)
            cut += [(family[name], name, module.cut(name.encode())) for name in chosen[number]]
    return sorted(cut, key=lambda item: item[1])
