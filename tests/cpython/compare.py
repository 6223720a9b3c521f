# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares a report with what objects.py planted and what gdb counted.

usage: compare.py TRUTH REPORT LISTS EXIT-STATUS OTHERS-MAX

Prints a line per difference; the last line is `N passed, N failed, 0 skipped`.
"""
import ast
import json
import sys

passed = failed = 0


def check(what, is_right):
    global passed, failed
    if is_right:
        passed += 1
    else:
        failed += 1
        print("differs:", what)


def compare_faults(truth, report):
    by_code = {}
    others = []
    ring = set()
    for finding in report["findings"]:
        if finding["severity"] == "note":
            continue
        address = int(finding["address"] or "0", 16)
        codes = {finding["code"]} | set(finding["also"])
        if finding["type"] == "Lost" and "unreachable" in codes:
            by_code.setdefault("lost", []).append(address)
        elif finding["type"] == "Counted" and finding["code"] == "surplus":
            by_code.setdefault("counted", []).append(address)
            check("a count that is %d too high" % truth["extra"],
                  finding["stored"] == 1 + truth["extra"] and
                  finding["certain"] + finding["possible"] == 1)
        elif finding["type"] == "Ring" and finding["code"] == "cycle":
            by_code.setdefault("rings", []).append(address)
            ring.update(int(one, 16) for one in finding["addresses"])
        else:
            others.append(finding)
    for kind in ("lost", "counted"):
        check("the %s objects" % kind, sorted(by_code.get(kind, [])) == sorted(truth[kind]))
    check("the objects in rings", sorted(ring) == sorted(truth["rings"]))
    check("the number of rings", len(by_code.get("rings", [])) == len(truth["rings"]) // 2)
    return others


def compare_groups(report, lists):
    groups = {int(group["address"], 16): group for group in report["groups"]}
    total = 0
    for head, length, wrong in lists:
        group = groups.get(head)
        check("gdb's list at 0x%x" % head, wrong == 0)
        check("the length of the list at 0x%x" % head,
              group is not None and group["members"] == length and group["state"] == "sound" and
              group["membership"] == "borrows")
        total += length
    print("objects on the collector's lists:", total)
    check("lists with members", total > 1000)


def compare_types(truth, report):
    types = {one["type"]: one for one in report["types"]}
    for name, count in truth["types"].items():
        check("the number of %s" % name,
              name in types and types[name]["objects"] == count and types[name]["live"] == count)
    for name in ("int", "str", "float", "bytes", "dict", "list", "tuple", "set", "function"):
        check("objects of type %s" % name, types.get(name, {"live": 0})["live"] > 50)


def main():
    truth_path, report_path, lists_path, status, others_max = sys.argv[1:6]
    with open(truth_path) as text:
        truth = ast.literal_eval(text.read())
    with open(report_path) as text:
        report = json.load(text)
    lists = []
    with open(lists_path) as text:
        for line in text:
            if line.startswith("list "):
                head, length, wrong = line.split()[1:]
                lists.append((int(head, 16), int(length), int(wrong)))
    others = compare_faults(truth, report)
    for finding in others:
        print("other:", finding["code"], finding["summary"])
    check("others reported: %d" % len(others), len(others) <= int(others_max))
    check("gdb's three lists", len(lists) == 3)
    compare_groups(report, lists)
    compare_types(truth, report)
    coverage = report["coverage"]
    # the count is taken a little before the end, and other blocks come from malloc
    check("blocks in use: %d, not %d" % (coverage["blocks_used"], truth["blocks"]),
          0 <= coverage["blocks_used"] - truth["blocks"] < 5000)
    check("sound allocator records", coverage["heap_damages"] == 0)
    check("the exit status", int(status) == (1 if truth["lost"] or others else 3))
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
