"""The messages of a mosquitto log that are no subscriptions, told by how they read.

They are those of versions 1.4 to 2.0, without what only a start on the command line prints.
"""

from __future__ import annotations

import re

STAMP = re.compile(r"(\d{9,13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?): ")
CONNECTED = re.compile(
    r"New (client|bridge) connected from \S+ as (.*) \((?:p\d+, )?c([01]), k\d+(?:, u'.*')?\)\.$"
)
ENDED = re.compile(
    r"Client (.*?)(?: \[[^\]]*\])? (?:disconnected\b.*|closed its connection\."
    r"|has exceeded timeout, disconnecting\.|been disconnected by administrative action\.)$"
    r"|Socket error on client (.*), disconnecting\.$"
)
EXPIRED = re.compile(r"Expiring (?:persistent )?client (.*) due to timeout\.$")
STARTING = re.compile(r"mosquitto version \S+ starting$")
SAVING = re.compile(r"Saving in-memory database to ")
DETAIL = re.compile(r"\t|\|-| [├└]─")
"""How lines begin that go on with the message above: topics at the level debug, what a plugin is."""
BEGINNINGS = (
    "New connection from ",
    "Client connection from ",
    "Connecting bridge ",
    "Bridge ",
    "Connection Refused: ",
    "Plugin ",
    "dynsec: ",
    "mosquitto version ",
    "Config loaded ",
    "Using default config",
    "Opening ",
    "Loading ",
    "Load error: ",
    "Reloading ",
    "Starting in local only mode",
    "Create a configuration file ",
    "For more details see ",
    "If you are trying to bind ",
    "Error: ",
    "Error ",
    "Warning: ",
    "Notice: ",
    "Info: ",
    "Note: ",
    "Failed ",
    "Unable to ",
    "Could not ",
    "Unsupported ",
    "Internal log buffer ",
    "Received ",
    "Sending ",
    "Denied ",
    "Dropped too large ",
    "Dropping too large ",
    "Outgoing messages are being dropped ",
    "No will message ",
    "Will message ",
    "Reused message ID ",
    "Too high QoS in ",
    "Protocol error from ",
    "Bad socket ",
    "Bad client ",
    "Empty subscription string from ",
    "Empty unsubscription string from ",
    "ACL denying ",
    "OpenSSL ",
    "OCSP: ",
    "LWS: ",
    "http serving file ",
    "threshold too low, ",
)
"""How other messages begin."""
_OTHERS = re.compile(
    r"Client .* (?:already connected, closing old connection\.|connected with too large Will payload)$"
    r"|Invalid .* (?:from .*, disconnecting|in CONNECT from .*)\.$|The '\w+' option is now deprecated"
)


def is_message(text: str) -> bool:
    """Tell whether a line, without its time, reads as one of mosquitto's messages.

    >>> is_message("New connection from ::1:5000 on port 1883."), is_message("meter 0 volt")
    (True, False)
    """
    kinds = (_OTHERS, CONNECTED, ENDED, EXPIRED, STARTING, SAVING)
    return text.startswith(BEGINNINGS) or any(kind.match(text) is not None for kind in kinds)
