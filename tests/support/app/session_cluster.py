"""The cluster of a session with data centres, and which server owns what by its topology."""

from zonelab.cluster.topology.described import Placement

EAST, WEST = ("a1", "a2", "b1", "b2", "c1", "c2"), ("d1", "d2", "e1", "e2", "f1", "f2")
NODES = (*EAST, *WEST)


class SessionCluster:
    """The cluster, and which server owns what by the topology."""

    def __init__(self, lab, status):
        self.lab = lab
        told = {
            dc: {zone: dict(nodes) for zone, nodes in zones.items()} for dc, zones in status["data_centres"].items()
        }
        self.layout = Placement(data_centres=told, hash_tag="{}").layout

    def client(self, node, level=None, **options):
        client = self.lab.client(node, **options)
        if level is not None:
            connection = client.connection_pool.get_connection()
            connection.send_command("DYNO_CONFIG:CONN_CONSISTENCY", level.value)
            assert connection.read_response() == "OK"
            client.connection_pool.release(connection)
        return client

    def server(self, node):
        return self.lab.server(node)

    def owners(self, key, nodes=NODES):
        token = self.layout.token(key.encode())
        return [node for node in nodes if self.layout.positions[node].zone.owner(token).name == node]

    def keys_of(self, node, prefix, count=5):
        """So many names that ``node`` owns."""
        names = (f"{prefix}:{number}" for number in range(10_000))
        return [name for name, _ in zip((one for one in names if node in self.owners(one)), range(count), strict=False)]

    def held(self, key):
        return {node: value for node in NODES if (value := self.server(node).get(key)) is not None}

    def statistics(self, node):
        return self.lab.zone(node)["statistics"]

    def until_held(self, key, value, nodes=NODES):
        self.lab.until(lambda: self.held(key) == dict.fromkeys(self.owners(key, nodes), value))

    def until_whole(self):
        def reached():
            told = [zone["statistics"] for zone in self.lab.status()["zones"]]
            return all(one and all((*one["connected"].values(), *one["peers"].values())) for one in told)

        self.lab.until(reached)

    def heal(self):
        self.lab.run("heal")
        self.until_whole()
