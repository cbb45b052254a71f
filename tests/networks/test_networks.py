"""Networks: torchvision's names and sizes, views with statistics of their own, copies that keep still."""

import math
from copy import deepcopy

import pytest
import torch
from torch import nn

from cassle.networks.encoder import Encoder
from cassle.networks.heads import mlp
from cassle.networks.resnet import resnet10, resnet18, resnet50
from cassle.networks.twins import EMA, Frozen


@pytest.mark.parametrize(("network", "count", "dim"), [(resnet18, 11_176_512, 512), (resnet50, 23_508_032, 2048)])
def test_sizes_are_torchvision_s_without_the_classifier(network, count, dim):
    backbone = network(stem="imagenet")
    assert sum(p.numel() for p in backbone.parameters()) == count and backbone.dim == dim


def test_names_are_torchvision_s():
    names = set(resnet18(width=4).state_dict())
    assert {"conv1.weight", "bn1.running_var", "layer1.0.conv1.weight", "layer2.0.downsample.0.weight",
            "layer2.0.downsample.1.num_batches_tracked", "layer4.1.bn2.bias"} <= names  # fmt: skip
    assert len(names) == 120 and not any(name.startswith(("fc", "layer1.0.downsample")) for name in names)
    deep = set(resnet50(width=4).state_dict())
    assert len(deep) == 318 and {"layer1.0.downsample.0.weight", "layer3.5.conv3.weight"} <= deep


@pytest.mark.parametrize(("padding", "side"), [(2, 34), (1, 32)])
def test_the_published_cifar_stem_grows_the_map(padding, side):
    backbone, sides = resnet18(stem="cifar", padding=padding, width=4), []
    backbone.layer1.register_forward_hook(lambda module, x, y: sides.append(y.shape[-1]))
    assert backbone(torch.zeros(2, 3, 32, 32)).shape == (2, backbone.dim) and sides == [side]


def encoder(seed=0):
    torch.manual_seed(seed)
    return Encoder(resnet10(width=4), mlp(32, 16, 8))


def views(seed=1, batch=6):
    torch.manual_seed(seed)
    return tuple(torch.randn(2, batch, 3, 16, 16))


def test_each_view_has_batch_statistics_of_its_own():
    network, (a, b) = encoder(), views()
    both = network((a, 5 + 3 * b))
    alone = encoder()((a,))
    assert torch.equal(both.f[0], alone.f[0]) and torch.equal(both.z[0], alone.z[0])
    assert both.z.shape == (2, 6, 8) and network.dim == 8


def test_norm_and_activation_follow_every_layer_of_a_head_but_the_last():
    assert [type(m) for m in mlp(3, 4, 5, 6)] == [nn.Linear, nn.BatchNorm1d, nn.ReLU] * 2 + [nn.Linear]
    assert [type(m) for m in mlp(3, 4, 6, norm=False)] == [nn.Linear, nn.ReLU, nn.Linear]


@pytest.mark.parametrize("norm", ["batch", "running"])
def test_the_frozen_past_never_changes(norm):
    network = encoder()
    network.train()
    network(views())  # so that running statistics are not the fresh ones
    past = Frozen(network, norm)
    before = {name: tensor.clone() for name, tensor in past.state_dict().items()}
    past.train()
    out = past(views())
    for parameter in network.parameters():
        parameter.data += 1
    assert not out.z.requires_grad and not any(p.requires_grad for p in past.parameters())
    assert all(torch.equal(before[name], tensor) for name, tensor in past.state_dict().items())
    assert torch.equal(past(views()).z, out.z)


def test_the_past_s_norm_is_the_published_one_or_the_running_one():
    network = encoder()
    for seed in range(5):
        network.train()(views(seed))
    x, more = views(7), views(8)
    mixed = tuple(torch.cat([a, b]) for a, b in zip(x, more))
    batch, running = Frozen(network, "batch"), Frozen(network, "running")
    assert torch.equal(batch(x).z, deepcopy(network).train()(x).z)
    assert not torch.allclose(batch(mixed).z[:, :6], batch(x).z)  # an image's target hangs on its batch mates
    assert torch.equal(running(x).z, network.eval()(x).z)
    torch.testing.assert_close(running(mixed).z[:, :6], running(x).z)  # and here it does not


def test_tau_is_the_published_cosine(losses):
    taus = losses["ema.tau_0.99_1.0_over_10"]
    ema = EMA(encoder(), 0.99, 1.0)
    progress = torch.arange(11, dtype=torch.float64) / 10
    torch.testing.assert_close(torch.stack([ema.tau(p) for p in progress]), taus, rtol=1e-12, atol=0)


def test_ema_moves_parameters_a_little_and_leaves_buffers():
    network, half = encoder(), torch.tensor(0.5, dtype=torch.float64)
    ema = EMA(network, 0.9, 1.0)
    slow = [p.clone() for p in ema.copy.parameters()]
    with torch.no_grad():
        for p in network.parameters():
            p += 1
        network.backbone.bn1.running_mean += 3
    tau = 1 - 0.1 * (math.cos(math.pi / 2) + 1) / 2
    ema.update(network, half)
    for old, new, fast in zip(slow, ema.copy.parameters(), network.parameters()):
        torch.testing.assert_close(new, tau * old + (1 - tau) * fast)
        assert not new.requires_grad
    assert not ema.copy.backbone.bn1.running_mean.any()


@pytest.mark.parametrize("network", [resnet10, resnet18, resnet50])
def test_views_encoded_together_are_views_encoded_one_by_one(network):
    """Embeddings, gradients and running statistics, with small crops between large ones."""
    torch.manual_seed(0)
    apart = Encoder(network(stem="cifar", width=2), mlp(2 * 8 * (4 if network is resnet50 else 1), 16, 8)).double()
    together = deepcopy(apart)
    together.together = True
    x = [torch.randn(6, 3, side, side, dtype=torch.float64) for side in (16, 16, 8, 8, 8, 16)]
    target = torch.randn(6, 6, 8, dtype=torch.float64)
    for encoder in (apart, together):
        (encoder(x).z * target).sum().backward()
    ours, theirs = together(x, maps=True), apart(x, maps=True)
    torch.testing.assert_close(ours.z, theirs.z, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(ours.maps, theirs.maps, rtol=1e-10, atol=1e-10)
    for (name, p), q in zip(together.named_parameters(), apart.parameters()):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-9, atol=1e-9, msg=lambda text: f"{name}: {text}")
    for p, q in zip(together.buffers(), apart.buffers()):
        torch.testing.assert_close(p, q, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(together.eval()(x).z, apart.eval()(x).z, rtol=1e-10, atol=1e-10)
