"""Goal: gateway processes are coordinators of a topology that their configuration tells.

Method: three servers as two data centres, a gateway process in each; the servers' own ``COMMAND GETKEYS`` as reference.
"""

import json
import subprocess
import sys

import httpx
import pytest
import redis
from support.cluster.zones import peers
from support.programs import until

from zonelab.cluster.resp.protocol.command_table import table_from

pytestmark = pytest.mark.real

DEADLINE_S = 60
STANDS_S = 90.0
"""Shorter than the time-out of a server that stands, 100 s at a time factor of 20."""
PLACED = {"data_centres": {"east": {"a": ["a"], "b": ["b"]}, "west": {"c": ["c"]}}}


def test_writes_cross_to_the_other_data_centre_and_back_with_a_password_and_after_a_coordinator_was_gone(cluster):
    cluster.flush()
    with peers("a", "b", "c") as at:
        options = {"topology": PLACED, "peers": at, "password": "hush"}
        with cluster.gateway("a", **options) as near, near.client(password="hush") as client:
            with cluster.gateway("c", **options) as far, far.client(password="hush") as other:
                until(lambda: client.incr("from east") and cluster.direct("c").get("from east"))
                until(lambda: other.incr("from west") and cluster.direct("a").get("from west"))
                value = other.get("from west")
                cluster.until_everywhere(value, "GET", "from west")
                stranger = redis.Redis(port=int(at["c"].rpartition(":")[2]))
                with stranger, pytest.raises(redis.AuthenticationError):
                    stranger.set("k", "v")
            assert client.set("meanwhile", "1")
            with cluster.gateway("c", **options):
                until(lambda: client.incr("again") and cluster.direct("c").get("again"))
            assert cluster.direct("c").get("meanwhile") is None


def test_coordinators_of_different_passwords_get_nothing_to_each_other_and_it_is_counted(cluster, tmp_path):
    cluster.flush()
    with peers("a", "b", "c") as at:
        zone_texts = {name: str(address) for name, address in cluster.addresses.items()}
        configuration, admin = tmp_path / "a.json", tmp_path / "admin.json"
        options = {"zone": "a", "zones": zone_texts, "topology": PLACED, "peers": at, "password": "one"}
        configuration.write_text(json.dumps(options))
        admin.write_text("{}")
        arguments = ["-m", "zonelab.cluster.admin", "--config", str(configuration), "--admin", str(admin)]
        with cluster.gateway("c", topology=PLACED, peers=at, password="another"):
            near = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
            try:
                said = json.loads(near.stdout.readline())

                def counted():
                    return httpx.get(said["admin"] + "/statistics", trust_env=False).json()["remote"]

                with redis.Redis(port=int(said["port"].rpartition(":")[2]), password="one") as client:
                    until(lambda: client.set("k", "v") and counted()["failed"])
                assert cluster.direct("c").get("k") is None
            finally:
                near.terminate()
                near.communicate(timeout=DEADLINE_S)


def test_zones_behind_a_coordinator_whose_own_server_stands_get_every_write_from_another_data_centre(cluster):
    cluster.flush()
    placed = {"data_centres": {"east": {"a": ["a"]}, "west": {"b": ["b"], "c": ["c"]}}}
    keys = [f"k{number}" for number in range(2_000)]
    with peers("a", "b", "c") as at:
        options = {"topology": placed, "peers": at, "time_factor": 20}
        with cluster.gateway("b", **options), cluster.gateway("a", **options) as near, near.client() as client:
            until(lambda: client.incr("probe") and cluster.direct("c").get("probe"))
            cluster.run(cluster.zone("b").pause())
            try:
                for key in keys:
                    client.set(key, "v" * 100)
                until(lambda: cluster.direct("c").exists(*keys) == len(keys), patience_s=STANDS_S)
            finally:
                cluster.run(cluster.zone("b").resume())
            until(lambda: cluster.direct("b").exists(*keys) == len(keys))


CALLS = """
GET k|SET k v EX 5|MGET a b c|MSET a 1 b 2|DEL a b|SMOVE s t m|RENAME a b|COPY a b|BITOP AND d a b|PFMERGE d a b
LMOVE s d LEFT RIGHT|LMPOP 2 a b LEFT|ZMPOP 1 z MIN|SINTERCARD 2 a b LIMIT 1|ZUNION 2 a b WEIGHTS 1 2|ZDIFFSTORE d 2 a b
ZUNIONSTORE d 2 a b|SORT l|EVAL x 2 a b c|EVALSHA x 1 a|FCALL f 1 a b|XADD s * f v|XREAD COUNT 1 STREAMS s t 0 0
XREADGROUP GROUP g c COUNT 1 STREAMS s t > >|XGROUP CREATE s g $|OBJECT ENCODING k|MEMORY USAGE k|LCS a b|GETEX k
GEOADD g 1 2 m|GEORADIUS g 1 2 3 m STORE d|GEOSEARCHSTORE d g FROMMEMBER m BYRADIUS 1 m|BLPOP a b 0|BLMPOP 1 2 a b LEFT
BZMPOP 1 1 z MIN|ZRANGESTORE d s 0 1|HSET h f v|SINTERSTORE d a b|EXISTS a b|TOUCH a b|UNLINK a b|SUBSTR k 0 1|WATCH a b
"""


def test_keys_are_found_where_the_server_finds_them(cluster):
    with cluster.direct("a", protocol=2) as server:
        connection = server.connection_pool.get_connection()
        connection.send_command("COMMAND")
        table = table_from(connection.read_response())
        calls = [call.split() for call in CALLS.replace("\n", "|").split("|") if call]
        assert len(calls) > 40
        for call in calls:
            words = [word.encode() for word in call]
            spec = table.find(words[0])
            spec = table.find_subcommand(spec, words) or spec
            found = [key.decode() for key in spec.keys(words)]
            assert found == server.execute_command("COMMAND GETKEYS", *call), call
