# SPDX-License-Identifier: GPL-3.0-or-later
# The lengths of the garbage collector's lists, by gdb's own walk: a line per list, `HEAD LENGTH
# WRONG`, WRONG the number of links that do not lead back.
set pagination off
python
import gdb, struct

inferior = gdb.selected_inferior()
collector = gdb.parse_and_eval("_PyRuntime.interpreters.head->gc")
for number in range(3):
    head = int(collector["generations"][number]["head"].address)
    last, length, wrong = head, 0, 0
    while True:
        at = struct.unpack("<Q", inferior.read_memory(last, 8).tobytes())[0] & ~3
        back = struct.unpack("<Q", inferior.read_memory(at + 8, 8).tobytes())[0] & ~3
        wrong += back != last
        if at == head:
            break
        length += 1
        last = at
    print("list 0x%x %d %d" % (head, length, wrong))
end
