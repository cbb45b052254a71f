"""A hundred kinds of drawings, twenty at a time: class-incremental, on the demo's small network.

Little is forgotten at this length: see `benchmarks/streams.md`.
"""

from cassle.presets import demo

PRESET = demo.PRESET | {"data": "quickdraw", "stream": {"name": "class_incremental", "tasks": 5}}
METHODS, GRIDS = demo.METHODS, demo.GRIDS
