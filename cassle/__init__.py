"""Continual self-supervised learning: an encoder that learns from a stream of unlabelled images, and keeps what it knew.

    from cassle.experiment import Experiment
    from cassle.run import run

    run(Experiment.preset("demo", {"strategy": "cassle"}), out="runs/mine")
"""

__version__ = "0.1.0"
