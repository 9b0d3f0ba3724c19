"""What each listener asks for, and what this node shows when it calls others."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from functools import cache

from nodes.kraft.config import Config
from nodes.kraft.endpoints import WITH_SASL, WITH_TLS, Endpoint
from nodes.kraft.security.sasl import Login, SaslSettings
from nodes.kraft.security.tls import TlsSettings, client_context, server_context


@dataclass(frozen=True, slots=True)
class ChannelSecurity:
    """How a channel speaks to the other node. `tls` None: in the clear; `login` None: without
    a login."""

    tls: ssl.SSLContext | None = None
    login: Login | None = None


def listener_tls(config: Config, endpoint: Endpoint) -> ssl.SSLContext | None:
    """Clients of a listener with SASL prove who they are by that, and show no certificate."""
    if endpoint.protocol not in WITH_TLS:
        return None
    return server_context(config.tls, client_auth=endpoint.protocol not in WITH_SASL)


def listener_sasl(config: Config, endpoint: Endpoint) -> SaslSettings | None:
    return config.sasl if endpoint.protocol in WITH_SASL else None


def to_controllers(config: Config) -> ChannelSecurity:
    """For channels to controllers' listeners."""
    return _security(config.controller_protocol, config.tls, config.sasl.controller_login)


def to_brokers(config: Config) -> ChannelSecurity:
    """For channels to other brokers, on the inter-broker listener."""
    return _security(config.inter_broker_protocol, config.tls, config.sasl.broker_login)


def _security(protocol: str, tls: TlsSettings, login: Login | None) -> ChannelSecurity:
    return ChannelSecurity(
        tls=_context(tls) if protocol in WITH_TLS else None,
        login=login if protocol in WITH_SASL else None,
    )


_context = cache(client_context)
"""One for all channels: making one reads files."""
