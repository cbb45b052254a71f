"""Residual networks (He et al., 2016) without their classifier, under torchvision's parameter names.

Two stems: "imagenet" (7 x 7, stride 2, max-pool) and "cifar" (3 x 3, stride 1, no pool).
# paper != code: the published CIFAR numbers come from a stem with padding 2, hence 34 x 34 maps; padding=1 is the usual one.
"""

from typing import Literal

from torch import nn

from cassle.kinds import Count
from cassle.networks.norm import Norm
from cassle.typing import Features, Maps, Pixels

Stem = Literal["cifar", "imagenet"]


def resnet18(stem: Literal["cifar", "imagenet"] = "cifar", padding: Count = 2, width: Count = 64) -> "ResNet":
    """Two basic blocks a stage; `width` channels in the first (512 features at 64)."""
    return ResNet(BasicBlock, (2, 2, 2, 2), stem, padding, width)


def resnet50(stem: Literal["cifar", "imagenet"] = "imagenet", padding: Count = 2, width: Count = 64) -> "ResNet":
    """Bottlenecks, 3-4-6-3 (2048 features at width 64)."""
    return ResNet(Bottleneck, (3, 4, 6, 3), stem, padding, width)


def resnet10(stem: Literal["cifar", "imagenet"] = "cifar", padding: Count = 1, width: Count = 16) -> "ResNet":
    """One basic block a stage, narrow: for the demo and for tests (0.3 M parameters at width 16)."""
    return ResNet(BasicBlock, (1, 1, 1, 1), stem, padding, width)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        outputs = width * self.expansion
        self.conv1, self.bn1 = _conv(inputs, width, 3, stride), Norm(width)
        self.conv2, self.bn2 = _conv(width, outputs, 3), Norm(outputs)
        self.downsample = _shortcut(inputs, outputs, stride)

    def forward(self, x: Maps) -> Maps:
        y = self.bn1(self.conv1(x))
        return self.bn2(self.conv2(y), self.downsample(x))


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 (which carries the stride, as torchvision has it), 1 x 1."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        outputs = width * self.expansion
        self.conv1, self.bn1 = _conv(inputs, width, 1), Norm(width)
        self.conv2, self.bn2 = _conv(width, width, 3, stride), Norm(width)
        self.conv3, self.bn3 = _conv(width, outputs, 1), Norm(outputs)
        self.downsample = _shortcut(inputs, outputs, stride)

    def forward(self, x: Maps) -> Maps:
        y = self.bn1(self.conv1(x))
        y = self.bn2(self.conv2(y))
        return self.bn3(self.conv3(y), self.downsample(x))


class Shortcut(nn.Sequential):
    """A 1 x 1 convolution and its BatchNorm, without ReLU."""

    def forward(self, x: Maps) -> Maps:
        conv, norm = self
        return norm(conv(x), relu=False)


class ResNet(nn.Module):
    """f_b: images to `dim` features."""

    def __init__(self, block: type[BasicBlock] | type[Bottleneck], depths: tuple[int, ...], stem: Stem, padding: int, width: int):
        super().__init__()
        if stem == "cifar":
            self.conv1, self.maxpool = nn.Conv2d(3, width, 3, 1, padding, bias=False), nn.Identity()
        else:
            self.conv1, self.maxpool = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.MaxPool2d(3, 2, 1)
        self.bn1 = Norm(width)
        inputs = width
        for stage, depth in enumerate(depths):
            blocks = []
            for i in range(depth):
                blocks.append(block(inputs, width << stage, stride=2 if stage and not i else 1))
                inputs = (width << stage) * block.expansion
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.dim = inputs
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Pixels) -> Features:
        return self.stages(x)[-1].mean((2, 3))

    def stages(self, x: Pixels) -> tuple[Maps, ...]:
        """The feature maps after each of the four stages."""
        maps = [self.maxpool(self.bn1(self.conv1(x)))]
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            maps.append(stage(maps[-1]))
        return tuple(maps[1:])


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


def _shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return Shortcut(_conv(inputs, outputs, 1, stride), Norm(outputs))
