/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dievisit FILE: visits every DIE of the file's debug information once by libdw and does
 * nothing with it: what `make bench DWARF=FILE` measures an audit against.
 *
 * Prints how many there were, and the processor time in seconds.
 */
#include <elfutils/libdw.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
	       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
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

int main(int argc, char **argv)
{
	size_t count;

	if (argc != 2) {
		fputs("usage: dievisit FILE\n", stderr);
		return 2;
	}
	count = visit_all(argv[1]);
	printf("%zu DIEs, %.3f seconds\n", count, seconds());
	return 0;
}
