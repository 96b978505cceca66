"""Draws docs/figures/modules.svg: the modules of the library and which of them use which, read from the sources.

    python3 benchmarks/modules.py
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "crates" / "dowise" / "src"
BOX, GAP_X, GAP_Y = (104, 30), 26, 44


def order() -> list[str]:
    """The order of modules, as the test of the architecture states it."""
    text = (ROOT / "crates" / "dowise" / "tests" / "architecture.rs").read_text()
    return re.findall(r'"(\w+)"', re.search(r"const ORDER: \[.*?\] = \[(.*?)\];", text, re.S)[1])


def uses(modules: list[str]) -> dict[str, set[str]]:
    """Modules that each module uses, comments and tests left out."""
    named = {"Space": "index", "World": "world", "linear": "learn"}
    found: dict[str, set[str]] = {module: set() for module in modules}
    for path in SRC.rglob("*.rs"):
        module = path.relative_to(SRC).parts[0].removesuffix(".rs")
        if module not in modules or "tests" in str(path.relative_to(SRC)):
            continue
        text = path.read_text().split("#[cfg(test)]\nmod ")[0]
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
        names = {named.get(name, name) for name in re.findall(r"crate::(\w+)", code)}
        found[module] |= names & set(modules) - {module}
    return found


def reduced(edges: dict[str, set[str]], modules: list[str]) -> dict[str, set[str]]:
    """Without edges that follow from others."""
    reach: dict[str, set[str]] = {}
    for module in modules:
        reach[module] = set().union(edges[module], *(reach[m] for m in edges[module]))
    return {m: {u for u in used if not any(u in reach[v] for v in used)} for m, used in edges.items()}


def main() -> None:
    modules = [m for m in order() if m != "probes"]
    edges = uses(modules)
    level: dict[str, int] = {}
    for module in modules:
        level[module] = 1 + max((level[m] for m in edges[module]), default=-1)
    rows = [[m for m in modules if level[m] == i] for i in range(max(level.values()) + 1)]
    width = max(len(row) for row in rows) * (BOX[0] + GAP_X) + GAP_X
    height = len(rows) * (BOX[1] + GAP_Y)
    at = {}
    for i, row in enumerate(rows):
        left = (width - len(row) * (BOX[0] + GAP_X) + GAP_X) / 2
        for j, module in enumerate(row):
            at[module] = (left + j * (BOX[0] + GAP_X), i * (BOX[1] + GAP_Y) + 8)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="14">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#556"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    for module, used in reduced(edges, modules).items():
        for other in sorted(used):
            (x, y), (u, v) = at[module], at[other]
            start, end = (x + BOX[0] / 2, y), (u + BOX[0] / 2, v + BOX[1] + 2)
            middle = (start[1] + end[1]) / 2
            path = f"M{start[0]:.0f},{start[1]:.0f} C{start[0]:.0f},{middle:.0f} {end[0]:.0f},{middle:.0f} {end[0]:.0f},{end[1]:.0f}"
            lines.append(f'<path d="{path}" fill="none" stroke="#889" stroke-width="1.2" marker-end="url(#head)"/>')
    for module, (x, y) in at.items():
        lines.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="6" fill="#eef3fb" stroke="#4a6fa5"/>')
        lines.append(f'<text x="{x + BOX[0] / 2:.0f}" y="{y + 20:.0f}" text-anchor="middle" fill="#223">{module}</text>')
    lines.append("</svg>")
    (ROOT / "docs" / "figures" / "modules.svg").write_text("\n".join(lines) + "\n")


main()
