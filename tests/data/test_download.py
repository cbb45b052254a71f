"""What is fetched is checked, unpacked where it belongs, and there at once; without a network, one line says what to do."""

import http.server
import io
import tarfile
import threading
import urllib.request
import zipfile
from hashlib import md5

import pytest

from cassle import registry
from cassle.config import component
from cassle.data import cifar10, cifar100, download, tiny_imagenet
from cassle.errors import UserError
from tests.data.layouts import LAYOUTS


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CASSLE_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def built(tree):
    return component("data", tree, "data").build()


def packed(files, kind):
    """An archive of some files, in memory."""
    buffer = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for name, content in files.items():
                about = tarfile.TarInfo(name)
                about.size = len(content)
                archive.addfile(about, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def publisher(tmp_path):
    """A server of this machine: what it gives away, by name."""
    place = tmp_path / "publisher"
    place.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given):
            super().__init__(*given, directory=str(place))

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield place, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("module, layout, kind", [(cifar100, "cifar100", "tgz"), (tiny_imagenet, "tiny_imagenet", "zip"), (cifar10, "cifar10", "tgz")])
def test_what_is_fetched_is_checked_unpacked_and_there_at_once(tmp_path, home, publisher, monkeypatch, module, layout, kind):
    place, url = publisher
    LAYOUTS[layout](tmp_path / "set")
    files = {str(path.relative_to(tmp_path / "set")): path.read_bytes() for path in (tmp_path / "set").rglob("*") if path.is_file()}
    content = packed(files, kind)
    (place / "archive").write_bytes(content)
    monkeypatch.setattr(module, "URL", f"{url}/archive")
    with pytest.raises(UserError, match="not the known checksum; nothing was unpacked"):
        module.fetch(None)
    assert list(home.iterdir()) == []
    monkeypatch.setattr(module, "MD5", md5(content).hexdigest())
    name = module.__name__.rpartition(".")[2]
    assert module.fetch(None) == module.fetch(None) == f"{name} is in {home / name}"
    assert f"use data={name} data.root={tmp_path / 'own' / name}" in module.fetch(tmp_path / "own")
    assert [path.name for path in home.iterdir()] == [name]
    assert len(built(name).test) == len(built(LAYOUTS[layout](tmp_path / "again")).test)


@pytest.mark.parametrize("kind", ["tgz", "zip"])
def test_an_archive_lands_nowhere_else(tmp_path, kind):
    (tmp_path / "a").write_bytes(packed({"../outside": b"x", "/tmp/outside-of-cassle": b"x", "in/side": b"x"}, kind))
    try:
        download._unpack(tmp_path / "a", tmp_path / "deep" / "er")
    except UserError as error:
        assert "cannot be unpacked" in str(error)
    assert not [path for path in tmp_path.rglob("outside") if "er" not in path.parts] and not (tmp_path.parent / "outside").exists()


@pytest.mark.parametrize("name", ["cifar100", "cifar10", "stl10", "tiny_imagenet"])
def test_without_a_network_it_says_what_to_put_where(name, home, monkeypatch):
    def nobody(*words, **more):
        raise urllib.request.URLError("no route")

    monkeypatch.setattr(download, "urlopen", nobody)
    monkeypatch.setattr("shutil.which", lambda name: None)
    module = registry.companion(registry.find("data", name, ""), "fetch")
    with pytest.raises(UserError, match=f"{name}: http.* cannot be fetched from here .*no route.*; fetch it elsewhere and unpack it, so that {home}"):
        module(None)
    assert not list(home.iterdir())
