"""Which stream of embedded images shows forgetting, and what CaSSLe makes of it: the study behind the demo.

    PYTHONPATH=. python benchmarks/streams.py run OUT --seeds 3 --jobs 14 [--only NAME,NAME] [--methods simclr,byol] [--test]
    PYTHONPATH=. python benchmarks/streams.py table OUT [OUT ...]

Choices are made on a fifth of the training images; --test judges on the test images, for what was chosen.
"""

import argparse
import json
import statistics
from pathlib import Path

from cassle.config import merge
from cassle.experiment import Experiment
from cassle.record import Record

UNLIKE = "domain_incremental"
STREAMS = {
    "quickdraw>fashion>emoji": (["quickdraw", "fashion_mnist", "emoji"], {}),
    "emoji>fashion>quickdraw": (["emoji", "fashion_mnist", "quickdraw"], {}),
    "quickdraw>fashion>emoji>scenes": (["quickdraw", "fashion_mnist", "emoji", "scenes"], {}),
    "scenes>glyphs>quickdraw>fashion": (["scenes", "glyphs", "quickdraw", "fashion_mnist"], {}),
    "quickdraw>glyphs>fashion>emoji>scenes": (["quickdraw", "glyphs", "fashion_mnist", "emoji", "scenes"], {}),
    "scenes>emoji>glyphs>quickdraw>fashion": (["scenes", "emoji", "glyphs", "quickdraw", "fashion_mnist"], {}),
    "scenes>emoji>quickdraw>fashion": (["scenes", "emoji", "quickdraw", "fashion_mnist"], {}),
    "scenes>emoji>fashion>quickdraw": (["scenes", "emoji", "fashion_mnist", "quickdraw"], {}),
    "glyphs>quickdraw>scenes>fashion": (["glyphs", "quickdraw", "scenes", "fashion_mnist"], {}),
    "quickdraw, 5 x 20 classes": (["quickdraw"], {"stream": {"name": "class_incremental", "tasks": 5}}),
}
STRATEGIES = {"finetune": "finetune", "cassle": {"name": "cassle", "hidden": 256}}


def experiments(args: argparse.Namespace) -> dict[str, Experiment]:
    found = {}
    for name, (sets, changes) in STREAMS.items():
        for method in args.methods.split(","):
            for seed in range(args.first_seed, args.first_seed + args.seeds):
                for strategy, component in STRATEGIES.items():
                    tree = {"data": {"name": "sources", "sets": sets, "validate": not args.test}, "stream": UNLIKE}
                    tree = merge(merge(tree, changes), {"method": method, "strategy": component, "seed": seed})
                    tree = merge(tree, {"steps": args.steps, "batch_size": args.batch, "optimizer": {"lr": args.lr}, "views": {"size": args.size}, "backbone": {"width": args.width}})
                    if not args.only or name in args.only.split("|"):
                        found[f"{name}|{method}|{seed}|{strategy}"] = Experiment.preset("demo", tree)
    return found


def run(args: argparse.Namespace) -> None:
    from cassle.run import Stopped
    from cassle.sweep import sweep

    def watch(name, progress):
        if progress.doing == "evaluating":
            print(f"{name}: {progress.task + 1}/{progress.tasks}", flush=True)

    todo = experiments(args)
    try:
        sweep(todo, args.out[0], jobs=args.jobs, device=args.device, save_every=1e9, watch=watch)
    except Stopped:
        print("stopped: only what is finished counts")
    results = [
        {"name": name, "steps": args.steps, "batch": args.batch, "lr": args.lr, "size": args.size, "width": args.width, "judged on": "test" if args.test else "validation"}
        | {"accuracy": Record(args.out[0] / name).accuracy(), "environment": Record(args.out[0] / name).environment()}
        for name in todo
        if whole(Record(args.out[0] / name))
    ]
    args.result.write_text("".join(json.dumps(r) + "\n" for r in results))


def whole(record: Record) -> bool:
    """Whether a run came to its end."""
    accuracy = record.path / "accuracy.json"
    return accuracy.exists() and all(len(probe["A"]) == len(probe["R"]) for probe in record.accuracy().values())


def table(args: argparse.Namespace) -> None:
    """Mean and spread over seeds: fine-tuning, and CaSSLe's lead seed by seed (paired)."""
    rows = [json.loads(line) for path in args.out for line in path.read_text().splitlines()]
    groups: dict[tuple, dict] = {}
    for row in rows:
        stream, method, seed, strategy = row["name"].split("|")
        groups.setdefault((stream, method, f"{row['steps']} x {row.get('batch', 256)} x {row.get('size', 32)} px", row.get("lr", 0.4), row["judged on"]), {}).setdefault(seed, {})[strategy] = row["accuracy"]
    print("| stream | method | steps x batch x view | lr | judged on | seeds | fine-tuning: linear A, F; k-NN A, F | CaSSLe's lead: linear A | linear F | k-NN A | k-NN F | seeds led (linear A, k-NN A) |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for (stream, method, steps, lr, judged), seeds in groups.items():
        pairs = [s for s in seeds.values() if len(s) == 2]
        value = lambda s, strategy, probe, key: s[strategy][probe][key]  # noqa: E731
        mean = lambda xs: f"{statistics.mean(xs):.1f}"  # noqa: E731
        lead = {(p, k): [value(s, "cassle", p, k) - value(s, "finetune", p, k) for s in pairs] for p in ("linear", "knn") for k in ("average", "forgetting")}
        spread = lambda xs: f"{statistics.mean(xs):+.2f} ± {statistics.stdev(xs) if len(xs) > 1 else 0:.2f}"  # noqa: E731
        base = ", ".join(mean([value(s, "finetune", p, k) for s in pairs]) for p in ("linear", "knn") for k in ("average", "forgetting"))
        wins = "/".join(str(sum(x > 0 for x in lead[p, "average"])) for p in ("linear", "knn"))
        print(f"| {stream.replace('>', ' → ')} | {method} | {steps} | {lr} | {judged} | {len(pairs)} | {base} | " + " | ".join(spread(x) for x in lead.values()) + f" | {wins} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "table"])
    parser.add_argument("out", type=Path, nargs="+")
    parser.add_argument("--result", type=Path, default=Path("streams.jsonl"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.4, help="for a batch of 256")
    parser.add_argument("--size", type=int, default=32, help="of a view, in pixels")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="names separated by |")
    parser.add_argument("--methods", default="simclr")
    parser.add_argument("--test", action="store_true")
    args = parser.parse_args()
    {"run": run, "table": table}[args.command](args)
