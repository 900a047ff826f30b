"""Commands that publish, and those that ask who listens; subscribing is a matter of a client's own connection."""

from zonelab.cluster.glob import matches
from zonelab.cluster.sim.redis.channels import ChannelKind
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply


@command("publish", 3)
def publish(store: Database, args: Args) -> Reply:
    return store.channels.publish(args[0], args[1])


@command("spublish", 3)
def spublish(store: Database, args: Args) -> Reply:
    return store.channels.publish_to_shard(args[0], args[1])


def _listed(name: str, kind: ChannelKind) -> None:
    def handler(store: Database, args: Args) -> Reply:
        return [channel for channel in store.channels.names(kind) if not args or matches(args[0], channel)]

    command(name, -2)(handler)


def _counted(name: str, kind: ChannelKind) -> None:
    def handler(store: Database, args: Args) -> Reply:
        return [word for channel in args for word in (channel, store.channels.count(kind, channel))]

    command(name, -2)(handler)


_listed("pubsub|channels", ChannelKind.CHANNEL)
_listed("pubsub|shardchannels", ChannelKind.SHARD)
_counted("pubsub|numsub", ChannelKind.CHANNEL)
_counted("pubsub|shardnumsub", ChannelKind.SHARD)


@command("pubsub|numpat", 2)
def numpat(store: Database, args: Args) -> Reply:
    return len(store.channels.names(ChannelKind.PATTERN))
