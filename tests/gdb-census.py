# SPDX-License-Identifier: GPL-3.0-or-later
#
# What one would write in gdb's Python to check the counts of fixtures/perf_target.c:
# walk the group lists for the objects, read all writable memory for words that are an
# object's address, compare.  The benchmark runs it beside refinspect.
#
#     gdb -q -nx -batch -x gdb-census.py PROGRAM CORE
#
# Memory is read raw, in large pieces, and no gdb.Value is made per object: as fast as
# this gets.  It is naive all the same: freed blocks are searched too, so that it tells
# of thousands of objects which are short of a reference and are not.
import re
import struct

import gdb

PIECE_BYTES = 1 << 20
MAGIC = 0x52454631
HEADER = struct.Struct("<IiQQQ")  # magic, count, type, link.next, link.prev

inferior = gdb.selected_inferior()


def offset_of(struct_name, member):
    return int(gdb.parse_and_eval("(unsigned long)&((struct %s *)0)->%s" % (struct_name, member)))


def find_objects():
    """Object address to its count, from the lists of all groups."""
    link = offset_of("ref", "group_link")
    counts = {}
    groups = gdb.parse_and_eval("groups")
    low, high = groups.type.range()
    for i in range(low, high + 1):
        group = groups[i]
        start = offset_of(group["name"].string(), "ref")
        head = int(group["head"].address)
        node = int(group["head"]["next"])
        while node != head:
            header = node - link
            magic, count, _, node, _ = HEADER.unpack(inferior.read_memory(header, HEADER.size))
            if magic == MAGIC:
                counts[header - start] = count
    return counts


def writable_memory():
    for line in gdb.execute("maint info sections", to_string=True).splitlines():
        found = re.search(r"(0x\w+)->(0x\w+) at \w+: load\w* (.*)", line)
        if found and "HAS_CONTENTS" in found[3] and "READONLY" not in found[3]:
            yield int(found[1], 16), int(found[2], 16)


def count_holders(objects):
    holders = dict.fromkeys(objects, 0)
    for start, end in writable_memory():
        for at in range(start, end, PIECE_BYTES):
            memory = inferior.read_memory(at, min(PIECE_BYTES, end - at) & ~7)
            for word in memoryview(memory).cast("B").cast("Q"):
                if word in holders:
                    holders[word] += 1
    return holders


counted = find_objects()
held = count_holders(counted)
print(
    "%d objects, %d surplus, %d deficit"
    % (
        len(counted),
        sum(1 for addr in counted if counted[addr] > held[addr]),
        sum(1 for addr in counted if counted[addr] < held[addr]),
    )
)
