"""Domain-incremental DomainNet: 200 epochs on each of six domains, from photographs to clip art.

    cassle train domainnet method=barlow_twins strategy=cassle     # Table 7: the paper has 55.5 (fine-tuning 50.3, offline 57.2)
    cassle reproduce table10                                       # every domain, with and without knowing which

Methods are as on ImageNet-100.
"""

from cassle.presets import cifar100, imagenet100


def judged_by(lr: float) -> list:
    """The published protocol at its learning rate: a classifier for each domain, and one for all."""
    return [{"name": "sgd", "lr": lr, "aware": True}, {"name": "sgd", "lr": lr}]


PRESET = imagenet100.PRESET | {"data": "domainnet", "stream": "domain_incremental", "epochs": 200, "probes": judged_by(1.0)}
RATES = {"barlow_twins": 0.1, "byol": 3.0, "mocov2plus": 3.0, "simsiam": 30.0, "swav": 0.15, "vicreg": 0.3}
"""The classifier's, where it is not 1."""
METHODS = {name: table | {"probes": judged_by(RATES.get(name, 1.0))} for name, table in imagenet100.METHODS.items()}
METHODS["supervised"] |= {"method": {"name": "supervised", "classes": 345}}
METHODS["swav"] |= {"method": {"name": "swav", "queue_from": 50, "freeze": 3}}  # as published for fine-tuning
GRIDS, PAIRS = imagenet100.GRIDS, imagenet100.PAIRS
BUDGETS = {
    50: ({"epochs": 50, "schedule": {"warmup": 3}}, imagenet100.BUDGETS[50][1]),
    100: ({"epochs": 100, "schedule": {"warmup": 5}}, imagenet100.BUDGETS[100][1] | {"swav": {"method": {"queue_from": 25, "freeze": 2}}}),
}
IMAGES = 409_832
DEVIATIONS = (
    *cifar100.DEVIATIONS,
    "SimCLR, SupCon and VICReg compare within the batch of 256, where the paper's four processes did so within 64 each",
)
