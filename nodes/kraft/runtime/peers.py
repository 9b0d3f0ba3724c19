"""The other replicas, as a replica reaches them: channels, and requests over them."""

from __future__ import annotations

import logging
from typing import Final

from nodes.kraft.config import Config
from nodes.kraft.ids import ReplicaId
from nodes.kraft.net.channel import ControllerChannels, FateUnknown, NotSent
from nodes.kraft.raft import messages
from nodes.kraft.wire import quorum
from nodes.kraft.wire.codec import MalformedRequest

log: Final = logging.getLogger(__name__)

_FETCHES: Final = (messages.Fetch, messages.FetchSnapshot)


class Peers:
    """Channels to the voters. Fetches have one of their own: a parked one must not delay a
    vote."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._fetches = ControllerChannels(config)
        self._others = ControllerChannels(config)

    async def ask(self, peer: ReplicaId, request: messages.Request) -> messages.Reply | None:
        """The reply of a voter; None where its fate is unknown."""
        entity = quorum.request_to_wire(request, self._config.cluster_id, peer=peer)
        timeout_s = self._config.timing.request_timeout_ms / 1000
        if isinstance(request, messages.Fetch):
            timeout_s += self._config.timing.fetch_max_wait_ms / 1000
        channels = self._fetches if isinstance(request, _FETCHES) else self._others
        try:
            response = await channels.to(peer).call(entity, timeout_s)
            self._config.addresses.learn(getattr(response, "node_endpoints", ()))
            return quorum.reply_from_wire(request, response)
        except (NotSent, FateUnknown) as error:
            log.debug("%s to %d: %s", type(request).__name__, peer, error)
        except MalformedRequest as error:
            log.warning("%s from %d: %s", type(request).__name__, peer, error)
        return None

    def close(self) -> None:
        self._fetches.close()
        self._others.close()
