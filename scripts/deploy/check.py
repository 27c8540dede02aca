"""Checks what no linter knows of deploy/: run in the root of the repository, with PyYAML.

Writes the dashboard's queries, as rules that promtool can check, to the file that is named.
"""
import json
import re
import sys
import tomllib
from pathlib import Path

import yaml

faults = []


def fault(text):
    faults.append(text)


def read(name):
    return Path("deploy", name).read_text()


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", str(text)).group(1))


# The reference: each metric with its labels and the words that it says of them.
known, histograms = {}, set()
for line in Path("docs/reference/metrics.md").read_text().splitlines():
    if line.startswith("| `hookonce_"):
        name, kind, _, labels, _ = [cell.strip() for cell in line.strip("|").split(" | ")]
        name = name.strip("` ")
        known[name] = ({label for label in re.findall(r"`(\w+)`:", labels)}, labels)
        if kind == "histogram":
            histograms.add(name)

rules = yaml.safe_load(read("prometheus/rules.yaml"))
recorded = {r["record"] for g in rules["groups"] for r in g["rules"] if "record" in r}
alerts = {r["alert"]: r for g in rules["groups"] for r in g["rules"] if "alert" in r}
dashboard = json.loads(read("grafana/dashboard.json"))


def check_metrics(where, text):
    """Each metric is documented, and so are the labels and the words that it is asked for by."""
    for name, selector in re.findall(r"(?<![:\w])(hookonce_\w+)(?:\{([^}]*)\})?", text):
        if any(name in record.split(":") for record in recorded) and name not in known:
            continue  # the middle of a recorded name
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        if base in histograms and base != name:
            name = base
        if name not in known:
            fault(f"{where}: there is no metric {name}")
            continue
        labels, said = known[name]
        for label, operator, value in re.findall(r'(\w+)(=~|!=|!~|=)"([^"]*)"', selector):
            if label in {"job", "instance"} or (label == "le" and name in histograms):
                continue
            if label not in labels:
                fault(f"{where}: {name} has no label {label}")
            elif "`:" in said and operator in {"=", "!="} and label in {"outcome", "arrival", "state"}:
                if value not in said:
                    fault(f"{where}: {name} has no {label} {value}")


for name, rule in alerts.items():
    check_metrics(name, rule["expr"])
    for key in ("summary", "description"):
        check_metrics(f"{name}.{key}", rule["annotations"][key])
for group in rules["groups"]:
    for rule in group["rules"]:
        check_metrics("rules.yaml", rule["expr"])
        for used in re.findall(r"\w+(?::\w+)+", rule["expr"]):
            if used not in recorded:
                fault(f"rules.yaml: nobody records {used}")
check_metrics("rules_test.yaml", read("prometheus/rules_test.yaml"))

# Every alert fires in a test, and doesn't in another.
fires, silent = set(), set()
for test in yaml.safe_load(read("prometheus/rules_test.yaml"))["tests"]:
    for case in test["alert_rule_test"]:
        (fires if case["exp_alerts"] else silent).add(case["alertname"])
for name in alerts:
    if name not in fires or name not in silent:
        fault(f"rules_test.yaml: {name} is not seen both to fire and not to")

# The dashboard: described, in its place, and bound to no data source of anybody's.
if dashboard["id"] is not None or "uid" in dashboard:
    fault("dashboard: it has an id of its own")
ids, cells, queries = set(), set(), []
for panel in dashboard["panels"]:
    title = panel["title"]
    if panel["id"] in ids:
        fault(f"dashboard: two panels have the id of {title}")
    ids.add(panel["id"])
    at = panel["gridPos"]
    for x in range(at["x"], at["x"] + at["w"]):
        for y in range(at["y"], at["y"] + at["h"]):
            if (x, y) in cells or x >= 24:
                fault(f"dashboard: {title} lies over another")
            cells.add((x, y))
    if panel["type"] == "row":
        continue
    if not panel.get("description"):
        fault(f"dashboard: {title} has no description")
    for target in panel["targets"]:
        for source in (panel["datasource"], target["datasource"]):
            if source["uid"] != "${datasource}":
                fault(f"dashboard: {title} has a data source of its own")
        check_metrics(f"dashboard: {title}", target["expr"])
        expr = target["expr"].replace("$__rate_interval", "5m").replace("$__range", "6h")
        queries.append({"record": f"dashboard:{len(queries)}", "expr": re.sub(r"\$\w+", ".*", expr)})
for variable in dashboard["templating"]["list"]:
    check_metrics("dashboard: variables", variable.get("definition", ""))
Path(sys.argv[1]).write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": queries}]}))

# Confined, kept to loopback, and given more time than the program takes to stop.
compose = yaml.safe_load(read("docker/compose.yaml"))
grace = seconds(tomllib.loads(read("docker/hookonce.toml"))["worker"]["grace"]) + 5
for name, service in compose["services"].items():
    if not (service["read_only"] and service["cap_drop"] == ["ALL"]
            and "no-new-privileges:true" in service["security_opt"]):
        fault(f"compose.yaml: {name} is not confined")
    for port in service.get("ports", []):
        if not port.startswith("127.0.0.1:"):
            fault(f"compose.yaml: {name} is open to the world at {port}")
if seconds(compose["services"]["hookonce"]["stop_grace_period"]) <= grace:
    fault("compose.yaml: a stop has too little time")
stop = re.search(r"^TimeoutStopSec=(\d+)$", read("systemd/hookonce.service"), re.M)
if int(stop.group(1)) <= 35:
    fault("hookonce.service: a stop has too little time")
objects = {f"{o['kind']}/{o['metadata']['name']}": o
           for o in yaml.safe_load_all(read("kubernetes/hookonce.yaml"))}
pod = objects["Deployment/hookonce"]["spec"]["template"]
container = pod["spec"]["containers"][0]
toml = objects["ConfigMap/hookonce"]["data"]["hookonce.toml"]
grace = seconds(tomllib.loads(toml)["worker"]["grace"]) + 5
if pod["spec"]["terminationGracePeriodSeconds"] <= grace + container["lifecycle"]["preStop"]["sleep"]["seconds"]:
    fault("hookonce.yaml: a stop has too little time")
ports = {port["name"] for port in container["ports"]}
for key, what in objects.items():
    namespace = what["metadata"].get("namespace", "hookonce")
    if namespace != "hookonce":
        fault(f"hookonce.yaml: {key} is in another namespace")
    if what["kind"] == "Service":
        if what["spec"]["selector"].items() - pod["metadata"]["labels"].items():
            fault(f"hookonce.yaml: {key} leads nowhere")
        for port in what["spec"]["ports"]:
            if port["targetPort"] not in ports:
                fault(f"hookonce.yaml: {key} leads to no port")

# Configurations, each beside made-up secrets, for `hookonce check`.
out = Path(sys.argv[1]).parent
for name, text in (("compose", read("docker/hookonce.toml")), ("kubernetes", toml)):
    folder = out / name
    folder.mkdir(exist_ok=True)
    for secret in re.findall(r'"file:([^"]+)"', text):
        (folder / Path(secret).name).write_text(f"made-up-{Path(secret).name}-0123456789")
    (folder / "hookonce.toml").write_text(re.sub(r'"file:[^"]*/', '"file:', text))

print("\n".join(faults) or f"{len(alerts)} alerts, {len(queries)} queries, {len(known)} metrics: fine")
sys.exit(bool(faults))
