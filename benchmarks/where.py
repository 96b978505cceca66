"""Where the time goes: samples of a running program, by the file of the library that they fall into.

    python3 benchmarks/where.py

Needs `perf` and `addr2line`; `benchmarks/performance.py` puts the result into docs/performance.md.
"""

import collections
import os
import re
import shutil
import subprocess
import tempfile

import peers

SOURCES = "crates/dowise/src/"
PROGRAMS = {
    "`ucbvi:width=rlberry`, S 8, A 64": ("episode_times", "8", "ucbvi:width=rlberry", "unjudged"),
    "`c-ucbvi:width=rlberry`, S 8, A 64": ("episode_times", "8", "c-ucbvi:width=rlberry", "unjudged"),
    "`psrl`, S 8, A 64": ("episode_times", "8", "psrl", "unjudged"),
    "exact plans, S 16 to 65,536": ("plan_growth", "16"),
}


def output(*command):
    one_core = dict(os.environ, RAYON_NUM_THREADS="1")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.run(command, check=True, text=True, env=one_core, **pipes).stdout


def code_offset(binary):
    """What addresses in the file are ahead of its bytes, in the part that is code."""
    for line in output("readelf", "-lW", binary).splitlines():
        if line.split()[:1] == ["LOAD"] and " R E " in line:
            at, address = (int(number, 16) for number in line.split()[1:3])
            return address - at
    raise SystemExit(f"{binary} has no code")


def sample(binary, *arguments):
    """Shares of the samples: {file of the library, or another library: share}."""
    with tempfile.TemporaryDirectory() as directory:
        data = directory + "/perf.data"
        output("perf", "record", "-F", "2000", "-o", data, binary, *arguments)
        script = output("perf", "script", "-i", data, "--show-mmap-events", "-F", "ip,dso")
    offset, base, addresses, shares = code_offset(binary), None, [], collections.Counter()
    for line in script.splitlines():
        if "PERF_RECORD_MMAP" in line:
            mapped = re.search(r"\[0x(\w+)\(0x\w+\) @ (?:0x)?(\w+) .*: r-xp (.*)$", line)
            if mapped and mapped[3] == binary:
                base = int(mapped[2], 16) - int(mapped[1], 16) + offset
            continue
        ip, dso = line.strip().split(" ", 1)
        if base is not None and binary in dso:
            addresses.append(f"{int(ip, 16) + base:x}")
        else:
            shares["memory and the system"] += 1
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("\n".join(addresses))
        listed.flush()
        frames = output("addr2line", "-a", "-i", "-e", binary, "@" + listed.name)
    for block in re.split(r"^0x\w+\n", frames, flags=re.MULTILINE)[1:]:
        own = [line for line in block.splitlines() if SOURCES in line]
        shares[own[0].split(SOURCES)[1].split(":")[0] if own else "other libraries"] += 1
    total = sum(shares.values())
    return {file: n / total for file, n in shares.most_common()}


def purpose(file):
    """The first line of a file says what it is for."""
    path = peers.ROOT / SOURCES / file
    return path.read_text().splitlines()[0].removeprefix("//!").strip() if path.is_file() else ""


def tables(programs, least=0.03):
    """One table for each program of that directory, of the files with at least this share; `None` without the tools."""
    if not all(shutil.which(tool) for tool in ("perf", "addr2line", "readelf")):
        return None
    out = []
    for name, (program, *arguments) in PROGRAMS.items():
        peers.say(f"profile of {name}")
        shares = sample(str(programs / program), *arguments)
        rows = [(f"`{file}`" if purpose(file) else file, f"{100 * share:.0f} %", purpose(file)) for file, share in shares.items() if share >= least]
        rows.append(("all else", f"{100 * sum(share for share in shares.values() if share < least):.0f} %", ""))
        out.append("\n".join([f"| {name} | share | |", "| --- | --: | --- |", *("| " + " | ".join(row) + " |" for row in rows)]))
    return "\n\n".join(out)


if __name__ == "__main__":
    print(tables(peers.build("episode_times", "plan_growth")) or "perf, addr2line and readelf are needed")
