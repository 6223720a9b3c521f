# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of many types for the test of the built-in profile `cpython`.

usage: objects.py faults|sound TRUTH

With `faults`, some are lost, counted too high or garbage in cycles.  What was planted, and
what the interpreter itself says of its objects, goes to TRUTH as JSON; then READY is
printed, and the process waits.  Needs no site-packages: run it with -I -S.
"""
import gc
import sys
import time

gc.collect()
gc.disable()            # nothing is collected behind the planted faults


class Plain:
    def __init__(self, number):
        self.number = number
        self.following = None


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


class Longer(list):     # items in a block of their own, and attributes
    pass


class Named(tuple):     # items behind the struct, and attributes
    pass


class Lost:
    def __init__(self, number):
        self.number = number


class Counted:
    pass


class Ring:
    pass


def keep_many(count):
    """What a program holds: all of this is sound."""
    kept = {
        "integers": [10**9 + i for i in range(count)],
        "reals": [i / 3 for i in range(count)],
        "texts": ["text number %d" % i for i in range(count)],
        "others": ["t\u00e9xt %d" % i for i in range(count)] + ["\u4e2d%d" % i for i in range(count)],
        "bytes": [b"%d bytes" % i for i in range(count)],
        "pairs": [(i, str(i)) for i in range(count)],
        "lists": [[i, i + 1, i + 2] for i in range(count)],
        "tables": [{"key": i, i: "value"} for i in range(count)],
        "sets": [{i, str(i)} for i in range(count)],
        "large": [set(range(i, i + 40)) for i in range(0, count, 50)],
        "frozen": [frozenset((i, -i)) for i in range(count // 10)],
        "plain": [Plain(i) for i in range(count)],
        "slotted": [Slotted(i, (i,)) for i in range(count)],
        "longer": [Longer([i, str(i)]) for i in range(count // 10)],
        "named": [Named((i, str(i))) for i in range(count // 10)],
        "functions": [(lambda extra=i: extra) for i in range(count // 4)],
        "generators": [(x for x in (i, i)) for i in range(50)],
        "counted": [Counted() for i in range(50)],
        "iterators": [iter([i]) for i in range(50)],
        "buffers": [bytearray(b"x" * i) for i in range(0, 2000, 40)],
    }
    for one, other in zip(kept["plain"], kept["plain"][1:]):
        one.following = other
    for number, one in enumerate(kept["longer"] + kept["named"]):
        one.number = number
    for popped in kept["lists"][::3]:
        popped.pop()    # its last word stays behind the end
    kept["methods"] = [one.__init__ for one in kept["plain"][:100]]
    shared = Plain(-1)
    kept["shared"] = [shared] * 777
    return kept


def take_reference(one):
    """A reference that nothing will ever release."""
    import ctypes

    increase = ctypes.pythonapi.Py_IncRef
    increase.argtypes = [ctypes.py_object]
    increase.restype = None
    increase(one)


def lose(count):
    addresses = []
    for i in range(count):
        one = Lost(i)
        take_reference(one)
        addresses.append(id(one))
    return addresses


def count_too_high(held, count, extra):
    for _ in range(count):
        one = Counted()
        for _ in range(extra):
            take_reference(one)
        held.append(one)
    return [id(one) for one in held]


def make_rings(count):
    addresses = []
    for _ in range(count):
        one, other = Ring(), Ring()
        one.other, other.other = other, one
        addresses += [id(one), id(other)]
    return addresses


def count_types():
    counts = {}
    for generation in range(3):
        for one in gc.get_objects(generation=generation):
            name = type(one).__name__
            if type(one) in (Plain, Slotted, Longer, Named, Lost, Counted, Ring):
                counts[name] = counts.get(name, 0) + 1
    return counts


def main():
    mode, path = sys.argv[1:3]
    faults = mode == "faults"
    truth = {"blocks": 0, "lost": [], "counted": [], "rings": [], "extra": 3}
    held = []
    kept = keep_many(3000 if faults else 60)
    if faults:
        truth["lost"] = lose(123)
        truth["counted"] = count_too_high(held, 17, truth["extra"])
        truth["rings"] = make_rings(40)
    truth["shared"] = id(kept["shared"][0])
    truth["shared_count"] = sys.getrefcount(kept["shared"][0]) - 1
    truth["types"] = count_types()
    truth["blocks"] = sys.getallocatedblocks()
    with open(path, "w") as out:
        out.write(repr(truth))
    print("READY", flush=True)
    while True:
        time.sleep(1000)


main()
