"""Four unlike sources, one after the other, on a small network: minutes on two CPU cores.

Photographs, emoji, drawings, clothes: after each, the encoder is asked about all of them.  The stream
and its length were chosen on a fifth of the training images; `benchmarks/streams.md` has the study, and what came out
on the test images.
"""

VIEW = {"size": 24, "scale": [0.2, 1.0], "jitter": 0.8, "brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1, "gray": 0.2}

PRESET = {
    "data": {"name": "sources", "sets": ["scenes", "emoji", "quickdraw", "fashion_mnist"]},
    "stream": "domain_incremental",
    "backbone": {"name": "resnet10", "width": 16},
    "method": {"name": "simclr", "projector": [256, 64]},
    "strategy": "finetune",
    "views": [VIEW, VIEW],
    "optimizer": {"lr": 0.4, "weight_decay": 1e-5},
    "schedule": {"warmup": 2, "by": "step"},
    "steps": 200,
    "precision": "bfloat16",
}
METHODS = {
    "barlow_twins": {"method": {"name": "barlow_twins", "projector": [256, 256, 256]}},
    "byol": {"method": {"name": "byol", "projector": [256, 64], "predictor": 256}},
}
ENTRIES = {
    "finetune": {"strategy": "finetune"},
    "cassle": {"strategy": {"name": "cassle", "hidden": 256}},
}
"""What `cassle demo` compares."""
