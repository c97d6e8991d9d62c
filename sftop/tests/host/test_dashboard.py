# SPDX-License-Identifier: GPL-2.0
"""The dashboard asks for metrics that there are, in queries that Prometheus understands.

That Grafana takes it was tried with its own types: `const d: Dashboard = ...` of the package
@grafana/schema 13.2.3 is compiled without an error, and grafana-foundation-sdk 10.1.0 reads it and
writes the same.
"""

import json
import re
import subprocess
from pathlib import Path

from sftop.tests.host.programs import FOLDER

DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
VARIABLES = [each for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]


def test_metrics() -> None:
    source = (FOLDER / "output.c").read_text()
    known = set(re.findall(r'^\t\{ "([a-z_]+)", "(?:counter|gauge)"', source, re.M))
    texts = QUERIES + [each["query"]["query"] for each in VARIABLES]
    asked = {name for text in texts for name in re.findall(r"shortfirst_(\w+)", text)}
    assert asked <= known and len(asked) > 8
    labels = {name for each in DASHBOARD["panels"] for name in re.findall(r"{{(\w+)}}", str(each))}
    assert labels <= {"device", "kind", "sort", "source", "destination"}
    for query in QUERIES:  # a counter is of use by its rate only
        assert ("rate(" in query) == ("_total" in query), query


def test_queries(promtool: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    named = ({"record": f"r:{i}", "expr": query} for i, query in enumerate(QUERIES))
    text = json.dumps({"groups": [{"name": "dashboard", "rules": list(named)}]})
    text = text.replace("$__rate_interval", "5m").replace("$instance", ".*")
    rules.write_text(text.replace("$device", ".*"))
    said = subprocess.run([promtool, "check", "rules", rules], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
    assert f"{len(QUERIES)} rules found" in said.stdout


def test_places() -> None:
    """Panels lie beside each other."""
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
