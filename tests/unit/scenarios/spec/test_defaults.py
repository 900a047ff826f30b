"""Goal: what a scenario does not say is as stated here: no default is changed without anybody noticing.

Method: the least scenario that there is, as it is written down with every run.
"""

import yaml

from zonelab.scenarios.spec.reading import dump_scenario, scenario_of

LEAST = {
    "name": "plain",
    "load": {"duration_s": 9, "rate_per_s": 1},
    "replication": {"hinted_handoff": {}, "anti_entropy": {}},
}
WHOLE = """
name: plain
about: ''
arm: real
seed: 1
level: DC_QUORUM
topology: {data_centres: {}, hash: murmur, hash_tag: null, zones: [a, b, c]}
persistence: aof-everysec
notify_keyspace_events: ''
replication: {time_factor: 0.1, read_level: null, read_repair: false, votes: value, strict: false,
  hinted_handoff: {queue: 100000, queue_bytes: 268435456, look_ms: 50, wait_ms: 5000},
  anti_entropy: {interval_ms: 1000, entries: 1000, copy_bytes: 1048576, retention_s: 864000.0}}
links: {lag: '0', overrides: {}, coherence_ms: 25.0, loss: 0.0}
queue: {engine: dyno, mode: default, unack_ms: 2000, unack_interval_ms: 500, compat: false, factory: null,
  sharding: round_robin, deliveries_max: null, v1_producers: false}
load: {duration_s: 9.0, rate_per_s: 1.0, operations: null, arrival: poisson, arrivals: null, delay: '0',
  priority: {min: 0, max: 0}, payload_bytes: 64, batch: 1, topics: null, at_most_once: 0.0, keys: null,
  retries: 0, retry_after_ms: 100.0}
consumers: {per_zone: 2, batch: 10, wait_ms: 500, processing: 'exponential:2ms', extend: 0.0, work: null}
clients: {failover: false, retries: 0, connections: 3, back_after_ms: 8000.0}
sink: null
workload: null
programs: {}
faults: []
drain: {bound_s: 15.0, quiet_s: 3.0}
checks: {forbid: [lost, stuck, abandoned, unexpected, concurrent, resurrected, early], late_ms: null, order:
  {forbid: [I1, I2, I3, I4, I6, I7, I8, I9, I10, I11, I14], wait_s: null}}
simulation: {tie_break: random, service: {server: null, coordinator: null, program: null}}
found: null
evaluate: null
"""


def test_what_a_scenario_does_not_say_is_as_stated() -> None:
    assert yaml.safe_load(dump_scenario(scenario_of(LEAST, source="least.yaml"))) == yaml.safe_load(WHOLE)
