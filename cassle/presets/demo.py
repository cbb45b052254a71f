"""Three unlike sources, one after the other, on a small network: minutes on two CPU cores."""

VIEW = {"scale": [0.2, 1.0], "jitter": 0.8, "brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1, "gray": 0.2}

PRESET = {
    "data": {"name": "sources", "sets": ["quickdraw", "fashion_mnist", "emoji"]},
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
METHODS = {}
ENTRIES = {
    "finetune": {"strategy": "finetune"},
    "cassle": {"strategy": {"name": "cassle", "hidden": 256}},
}
