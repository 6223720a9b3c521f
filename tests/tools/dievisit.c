/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the debug information of one file costs: a whole visit by libdw, and ours.
 *
 *	dievisit FILE           visits every DIE once, and does nothing with it
 *	dievisit --index FILE   indexes the names, as an audit does
 *	dievisit --scan FILE    the same, and looks at each struct for a reference count
 *	dievisit --type=NAME FILE   the same as --index, and loads one struct
 *
 * Prints what it counted, the processor time in seconds and the most memory in MB.  For
 * `make bench DWARF=FILE`.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "debug/modules.h"
#include "debug/types.h"
#include "profile/infer.h"
#include "target/target_private.h"

static double seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
	       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void report(const char *what, size_t count)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%s %zu seconds %.3f MB %ld\n", what, count, seconds(), usage.ru_maxrss / 1024);
}

static size_t visit(Dwarf_Die *parent)
{
	size_t count = 1;
	Dwarf_Die child;

	if (dwarf_child(parent, &child))
		return count;
	do
		count += visit(&child);
	while (!dwarf_siblingof(&child, &child));
	return count;
}

static size_t visit_all(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CU *unit = NULL;
	size_t count = 0;
	Dwarf_Die die;

	if (!dwarf)
		errx(1, "%s: no debug information", path);
	while (!dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL))
		count += visit(&die);
	dwarf_end(dwarf);
	close(fd);
	return count;
}

