"""The resilient design: overlays in which no single broker failure splits a topic."""
