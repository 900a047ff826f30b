"""A live page of one coordinator: plain HTML that loads itself again, without script and without other files."""

from typing import Any

from jinja2 import Environment

PERIOD_S = 2

_PAGE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="{{ period_s }}">
<title>{{ what }} {{ topology.zone }}: {{ "healthy" if health.healthy else "own server not reached" }}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin-bottom: 1.5rem; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid #8884; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.bad { color: #c0392b; font-weight: 600; }
</style>
</head>
<body>
<h1>{{ what | capitalize }} {{ topology.zone }}</h1>
<p>Port {{ topology.port }}, reads at {{ topology.read_level }}, writes at {{ topology.write_level }}.
{{ figures.port.clients }} clients, {{ "{:,}".format(figures.port.commands) }} commands,
{% if figures.port.over_memory %}
<span class="bad">{{ figures.port.over_memory }} clients closed for what was held for them</span>,
{% endif %}
<span {% if figures.divergence %}class="bad"{% endif %}>{{ figures.divergence }} votes in which zones differed</span>.
Latency in all: {% for name, value in figures.latency.quantiles_ms.items() %}{{ name }}
{{ "–" if value is none else value }} ms{{ ", " if not loop.last }}{% endfor %}.</p>
<table>
<tr><th>the last {{ figures.recent.seconds }} s</th><th>commands/s</th><th>errors/s</th><th>divergent/s</th>
<th>p50 ms</th><th>p99 ms</th></tr>
<tr><td></td>
{% for name in ("operations_per_s", "errors_per_s", "divergent_per_s") %}
<td class="n">{{ "{:,.1f}".format(figures.recent[name]) }}</td>
{% endfor %}{% for name in ("p50_ms", "p99_ms") %}
<td class="n">{{ "–" if figures.recent[name] is none else figures.recent[name] }}</td>
{% endfor %}</tr>
</table>
<table>
<tr><th>server</th><th>address</th><th>connection</th></tr>
{% for zone, address in topology.zones.items() %}
<tr><td>{{ zone }}</td><td>{{ address }}</td>
<td>{% if health.connected[zone] %}up{% else %}<span class="bad">down</span>{% endif %}
{% if zone == topology.zone and figures.server_troubles %}
<span class="bad">{{ figures.server_troubles | join(", ") }}</span>{% endif %}</td></tr>
{% endfor %}
</table>
{% for dc, zones in topology.data_centres.items() %}
<table>
<tr><th>data centre {{ dc }}</th><th>node</th><th>owns tokens up to</th></tr>
{% for zone, nodes in zones.items() %}{% for node, token in nodes.items() %}
<tr><td>{{ zone if loop.first }}</td><td>{{ node }}</td><td class="n">{{ "{:,}".format(token) }}</td></tr>
{% endfor %}{% endfor %}
</table>
{% endfor %}
{% if figures.remote %}
<p>Batches of writes for other data centres: {% for what, count in figures.remote.items() %}
{{ "{:,}".format(count) }} {{ what.replace("_", " ") }}{{ ", " if not loop.last }}{% endfor %}.
Their coordinators: {% for node, up in figures.peers.items() %}
{{ node }} {% if up %}up{% else %}<span class="bad">down</span>{% endif %}{{ ", " if not loop.last }}{% endfor %}.</p>
{% endif %}
<table>
<tr><th>link</th><th>lag</th><th>loss</th><th>cut</th><th>in flight</th></tr>
{% for link in topology.links %}
<tr><td>{{ link.link }}</td><td>{{ link.lag }}</td><td class="n">{{ link.loss }}</td>
<td>{% if link.cut %}<span class="bad">{{ link.cut }}</span>{% else %}–{% endif %}</td>
<td class="n">{{ link.in_flight }}</td></tr>
{% endfor %}
</table>
<table>
<tr><th>level</th><th>commands</th><th>errors</th><th>late disagreements</th><th>decisions</th></tr>
{% for level, counts in figures.levels.items() if counts.commands %}
<tr><td>{{ level }}</td><td class="n">{{ "{:,}".format(counts.commands) }}</td>
<td class="n">{{ "{:,}".format(counts.error_answers) }}</td>
<td class="n">{{ "{:,}".format(counts.late_disagreements) }}</td>
<td>{% for name, count in counts.decisions.items() if count %}{{ name }} {{ "{:,}".format(count) }} {% endfor %}</td>
</tr>
{% endfor %}
</table>
{% if figures.zone_failures %}
<table>
<tr><th>zone</th><th>error</th><th>batches</th></tr>
{% for zone, errors in figures.zone_failures.items() %}{% for text, count in errors.items() %}
<tr><td>{{ zone }}</td><td>{{ text }}</td><td class="n">{{ "{:,}".format(count) }}</td></tr>
{% endfor %}{% endfor %}
</table>
{% endif %}
</body>
</html>
""")


def live_page(*, health: dict[str, Any], topology: dict[str, Any], figures: dict[str, Any]) -> str:
    what = "node" if topology["data_centres"] else "zone"
    return _PAGE.render(health=health, topology=topology, figures=figures, period_s=PERIOD_S, what=what)
