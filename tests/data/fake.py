"""Decoders that note what they are asked, take their time, and misbehave at some names."""

from cassle.data import decode

FAKE = f"""
import ctypes, importlib.util, os, sys, time
spec = importlib.util.spec_from_file_location("decode", {decode.__file__!r})
decode = importlib.util.module_from_spec(spec)
spec.loader.exec_module(decode)
decode.SECONDS, decode.PATIENCE = 1, 2
true = decode.decode

def fake(path, *given):
    with open({{log!r}}, "ab") as log:
        log.write(path + b"\\n")
    name = os.path.basename(path)
    time.sleep({{slow}})
    if b"spin" in name:
        while True:
            pass
    if b"sleep" in name:
        time.sleep(1e6)
    if b"crash" in name:
        ctypes.string_at(0)
    return true(path, *given)

true_read = decode._read

def greedy(file, *given):
    if b"greedy" in file.name:
        bytearray(1 << 40)
    return true_read(file, *given)

decode._read = greedy

decode.decode = fake
decode._serve(int(sys.argv[1]), sys.argv[2] == "square")
"""
