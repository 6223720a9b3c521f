/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A YAML document as a small tree of our own, every node with its place in the
 * text.  Private to profile/: the one file that includes yaml.h is yaml_tree.c.
 */
#ifndef RI_PROFILE_YAML_TREE_H
#define RI_PROFILE_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum ri_yaml_kind {
	RI_YAML_SCALAR,
	RI_YAML_LIST,
	RI_YAML_MAP,
};

struct ri_yaml_node {
	enum ri_yaml_kind kind;
	bool is_plain;           /* SCALAR: written without quotes */
	char *text;              /* SCALAR: no NUL within, at most RI_YAML_TEXT_MAX bytes, UTF-8 */
	unsigned line, column;   /* from 1; columns are characters */
	/* LIST: items[0 .. count); MAP: key i is items[2 * i], its value items[2 * i + 1] */
	struct ri_yaml_node *items;
	size_t count;
};

#define RI_YAML_TEXT_MAX 4096
#define RI_YAML_BYTES_MAX (1u << 20)

/*
 * Parses the one document in `text`; `file` is used in messages.  RI_ERROR_INPUT,
 * "FILE:LINE:COLUMN: what", for what is no YAML, has tags or a second document,
 * or is beyond any sensible profile (size, nesting, nodes after aliases are
 * followed); so a hostile text costs no more than a large honest one.
 */
struct ri_error *ri_yaml_parse(const char *file, const char *text, size_t size_bytes,
			       struct ri_yaml_node **ret);
void ri_yaml_destroy(struct ri_yaml_node *root);

#endif
