"""Does some overlay exist? The decision questions of podc07, with a witness or a proof."""

from meshwright.designs.existence.decisions import SECONDS, Existence, soc_exists, tco_exists

__all__ = ["SECONDS", "Existence", "soc_exists", "tco_exists"]
