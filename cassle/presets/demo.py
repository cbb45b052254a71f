"""Four unlike sources, one after the other, on a small network: minutes on two CPU cores.

Photographs, emoji, drawings, clothes: after each, the encoder is asked about all of them.  The stream
and its length were chosen on a fifth of the training images; `benchmarks/streams.md` has the study, and what came out
on the test images.
"""

VIEW = {"size": 20, "scale": [0.2, 1.0], "jitter": 0.8, "brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1, "gray": 0.2}

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
    "deepclusterv2": {"method": {"name": "deepclusterv2", "projector": [256, 64], "prototypes": [100, 100]}},
    "dino": {"method": {"name": "dino", "projector": [256, 256, 64], "prototypes": 256, "warmup": 5, "momentum": [0.99, 1.0]}},
    "mocov2plus": {"method": {"name": "mocov2plus", "projector": [256, 64], "queue": 4096}},
    "nnclr": {"method": {"name": "nnclr", "projector": [256, 256, 64], "predictor": 256, "queue": 4096}},
    "ressl": {"method": {"name": "ressl", "projector": [256, 64], "queue": 4096}},
    "simsiam": {"method": {"name": "simsiam", "projector": [256, 256, 256], "predictor": 64}},
    "supcon": {"method": {"name": "supcon", "projector": [256, 64]}},
    "supervised": {"method": {"name": "supervised", "classes": 300}},
    "swav": {"method": {"name": "swav", "projector": [256, 64], "prototypes": 100, "queue": 512, "queue_from": 5, "freeze": 1}},
    "vicreg": {"method": {"name": "vicreg", "projector": [256, 256, 256]}},
    "wmse": {"method": {"name": "wmse", "projector": [256, 32]}},
}
"""Every method's heads and queues, as small as the images."""
GRIDS = {
    "pod": {"strategy.weight": [0.1, 0.3, 1.0, 3.0, 10.0]},
    "less_forget": {"strategy.weight": [0.3, 1.0, 3.0, 10.0, 30.0]},
    "ewc": {"strategy.weight": [3e-4, 1e-3, 3e-3]},
    "er": {"strategy.batch": [32, 64, 128]},
    "der": {"strategy.batch": [32, 64, 128]},
    "ccssl": {"strategy.batch": [32, 64, 128]},
}
"""What `strategy.weight=grid` tries: as many values as the paper's authors tried of each (they do not say which)."""
ENTRIES = {
    "finetune": {"strategy": "finetune"},
    "cassle": {"strategy": {"name": "cassle", "hidden": 256}},
}
"""What `cassle demo` compares."""
