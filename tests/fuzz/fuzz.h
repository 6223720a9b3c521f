/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the fuzz targets share.  Each is one file with LLVMFuzzerTestOneInput(): it reads
 * one input as the tool would, and must neither crash nor leak, whatever the bytes are.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The entry point of libFuzzer and of standalone.c. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

/* A file with these bytes, and its path: closed by file_close(). */
struct file {
	int fd;
	char path[32];
};

__attribute__((unused)) static void file_open(struct file *file, const uint8_t *bytes,
					      size_t size_bytes)
{
	file->fd = memfd_create("input", MFD_CLOEXEC);
	if (file->fd < 0 || write(file->fd, bytes, size_bytes) != (ssize_t)size_bytes)
		abort();
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

__attribute__((unused)) static void file_close(struct file *file)
{
	close(file->fd);
}

#endif
