/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Talks to a program on a terminal, as a person would.
 *
 *	dialogue SCRIPT PROGRAM [ARGUMENT...]
 *
 * SCRIPT has a step per line:
 *
 *	expect TEXT    waits until TEXT appears behind what was matched before
 *	send TEXT      types it; \r is the Enter key, \t TAB, \xNN any byte
 *	# ...          a remark
 *
 * After the last step the program is waited for.  Everything that it wrote goes
 * to stdout.  Exit status 0: each text came and the program ended; 1: not, and
 * stderr says which one did not.  A step may take 30 seconds.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_MS 30000
#define ROWS 24
#define COLUMNS 200
#define OUTPUT_BYTES ((size_t)1 << 22)

struct dialogue {
	int terminal;
	pid_t pid;
	char *output;      /* OUTPUT_BYTES, terminated by a null byte */
	size_t length, matched; /* bytes of it */
	bool is_over;      /* the program closed the terminal */
};

/* Waits for more output; false: none came in time. */
static bool read_more(struct dialogue *d, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = d->terminal, .events = POLLIN };
	char *to = d->output + d->length;
	ssize_t count;

	if (d->is_over || poll(&poll_fd, 1, timeout_ms) <= 0)
		return false;
	count = read(d->terminal, to, OUTPUT_BYTES - 1 - d->length);
	if (count <= 0) {
		d->is_over = true; /* EIO when the last one has closed it */
		return false;
	}
	for (ssize_t i = 0; i < count; i++)
		if (!to[i])
			to[i] = '?';
	d->length += (size_t)count;
	d->output[d->length] = '\0';
	return true;
}

static bool expect(struct dialogue *d, const char *text)
{
	const char *found;

	while (!(found = strstr(d->output + d->matched, text)))
		if (!read_more(d, STEP_MS))
			return false;
	d->matched = (size_t)(found - d->output) + strlen(text);
	return true;
}

static bool send_text(struct dialogue *d, const char *text)
{
	char bytes[512];
	size_t count = 0;

	for (const char *p = text; *p && count < sizeof(bytes); p++) {
		if (p[0] != '\\' || !p[1]) {
			bytes[count++] = *p;
		} else if (*++p == 'x') {
			bytes[count++] = (char)strtol((char[]){ p[1], p[1] ? p[2] : 0, 0 }, NULL, 16);
			p += 2;
		} else {
			bytes[count++] = *p == 'r' ? '\r' : *p == 't' ? '\t' : *p;
		}
	}
	return write(d->terminal, bytes, count) == (ssize_t)count;
}

static bool run_step(struct dialogue *d, char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (!*line || *line == '#')
		return true;
	if (!strncmp(line, "expect ", 7) && expect(d, line + 7))
		return true;
	if (!strncmp(line, "send ", 5) && send_text(d, line + 5))
		return true;
	fprintf(stderr, "dialogue: did not work: %s\n", line);
	return false;
}

static bool run_steps(struct dialogue *d, FILE *script)
{
	char line[512];

	while (fgets(line, sizeof(line), script))
		if (!run_step(d, line))
			return false;
	while (read_more(d, STEP_MS))
		;
	if (!d->is_over)
		fprintf(stderr, "dialogue: the program does not end\n");
	return d->is_over;
}

int main(int argc, char **argv)
{
	const struct winsize size = { .ws_row = ROWS, .ws_col = COLUMNS };
	struct dialogue d = { .output = calloc(1, OUTPUT_BYTES) };
	FILE *script = argc > 2 ? fopen(argv[1], "r") : NULL;
	bool is_right;

	if (!script || !d.output) {
		fprintf(stderr, "usage: dialogue SCRIPT PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	d.pid = forkpty(&d.terminal, NULL, NULL, &size);
	if (d.pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	is_right = d.pid > 0 && run_steps(&d, script);
	fwrite(d.output, 1, d.length, stdout);
	if (!is_right && d.pid > 0)
		kill(d.pid, SIGKILL);
	if (d.pid > 0)
		waitpid(d.pid, NULL, 0);
	fclose(script);
	free(d.output);
	return !is_right;
}
