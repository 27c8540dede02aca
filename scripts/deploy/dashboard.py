"""Reads the dashboard as Grafana's own types have it and writes it again: nothing may be lost but `definition`,
which is what Grafana shows of a variable."""
import json
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

plugins.register_default_plugins()
given = json.load(open("deploy/grafana/dashboard.json"))
read = json.loads(JSONEncoder().encode(Dashboard.from_json(given)))


def lost(given, read, path=""):
    if isinstance(given, dict) and isinstance(read, dict):
        for key, value in given.items():
            if key == "definition" or value in (None, [], {}, ""):
                continue
            if key in read:
                yield from lost(value, read[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for n, (one, other) in enumerate(zip(given, read)):
            yield from lost(one, other, f"{path}[{n}]")
    elif given != read:
        yield path


differences = list(lost(given, read))
assert not differences, differences
