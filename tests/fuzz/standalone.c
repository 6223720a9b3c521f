/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A main function for a fuzz target where there is no libFuzzer: runs the files that are
 * given as arguments, one after the other.  With libFuzzer's own main the same command line
 * does the same.
 */
#include <err.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "fuzz.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		struct stat status;
		uint8_t *bytes;

		if (fd < 0 || fstat(fd, &status))
			err(2, "%s", argv[i]);
		bytes = ri_malloc((size_t)status.st_size);
		if (read(fd, bytes, (size_t)status.st_size) != status.st_size)
			err(2, "%s", argv[i]);
		close(fd);
		LLVMFuzzerTestOneInput(bytes, (size_t)status.st_size);
		free(bytes);
	}
	printf("%d inputs\n", argc - 1);
	return 0;
}
