/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * YAML text to a tree of marked nodes: see yaml_tree.h.  Knows libyaml and
 * nothing of profiles.
 *
 * Two passes.  The first reads events, keeps none and stops at the first limit
 * that is passed (nesting, nodes, anchors, length of a scalar): libyaml's loader
 * compares each new anchor with all before it and its scanner looks at every
 * open bracket for each token, so both must be small before it runs.  The
 * second loads the document and copies it; an alias stands for its anchor's
 * node in libyaml's graph, so copying is bounded by depth (an alias inside its
 * own anchor is a cycle) and by the number of copies (aliases of aliases
 * multiply).  Linear in the text and in MAX_NODES.
 */
#include "profile/yaml_tree.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/memory.h"

#define MAX_DEPTH 16
#define MAX_NODES 50000
#define MAX_ANCHORS 64

struct source {
	const char *file;
	const char *text;
	size_t size_bytes;
};

static struct ri_error *fail_at(const struct source *source, yaml_mark_t mark, const char *what)
{
	return ri_error_create(RI_ERROR_INPUT, "%s:%zu:%zu: %s", source->file, mark.line + 1,
			       mark.column + 1, what);
}

/* The mark of a byte: libyaml gives its reader's errors as an offset alone. */
static yaml_mark_t mark_of_offset(const struct source *source, size_t offset)
{
	yaml_mark_t mark = { 0 };

	for (size_t i = 0; i < offset && i < source->size_bytes; i++) {
		mark.column++;
		if (source->text[i] == '\n') {
			mark.line++;
			mark.column = 0;
		}
	}
	return mark;
}

static struct ri_error *fail_of_parser(const struct source *source, const yaml_parser_t *parser)
{
	const char *problem = parser->problem ? parser->problem : "cannot be read as YAML";
	struct ri_error *error;
	char *what;

	if (parser->error == YAML_READER_ERROR) {
		what = ri_format("this is not text: %s", problem);
		error = fail_at(source, mark_of_offset(source, parser->problem_offset), what);
	} else {
		what = ri_format("not valid YAML: %s%s%s", parser->context ? parser->context : "",
				 parser->context ? ", " : "", problem);
		error = fail_at(source, parser->problem_mark, what);
	}
	free(what);
	return error;
}

struct limits {
	size_t depth, nodes, anchors, documents;
};

static const char *check_scalar(const yaml_event_t *event)
{
	size_t length = event->data.scalar.length;

	if (length > RI_YAML_TEXT_MAX)
		return "this text is too long for a profile (limit 4096 bytes)";
	if (memchr(event->data.scalar.value, '\0', length))
		return "a text cannot contain a NUL byte";
	return NULL;
}

static bool event_has_anchor(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.anchor != NULL;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.anchor != NULL;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.anchor != NULL;
	default:
		return false;
	}
}

static bool event_has_tag(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.tag != NULL;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.tag != NULL;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.tag != NULL;
	default:
		return false;
	}
}

/* Counts one event; what is wrong with it, or null. */
static const char *check_event(const yaml_event_t *event, struct limits *seen)
{
	seen->nodes++;
	seen->anchors += event_has_anchor(event);
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (++seen->documents > 1)
			return "a profile is one YAML document; a second one begins here";
		break;
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		if (++seen->depth > MAX_DEPTH)
			return "nested too deeply for a profile (limit 16 levels)";
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		seen->depth--;
		break;
	default:
		break;
	}
	if (seen->nodes > MAX_NODES)
		return "too many entries for a profile (limit 50000)";
	if (seen->anchors > MAX_ANCHORS)
		return "too many anchors for a profile (limit 64)";
	if (event_has_tag(event))
		return "tags are not used in profiles";
	return event->type == YAML_SCALAR_EVENT ? check_scalar(event) : NULL;
}

static void parser_init(yaml_parser_t *parser, const struct source *source)
{
	if (!yaml_parser_initialize(parser))
		ri_memory_exhausted(0); /* libyaml's only reason */
	yaml_parser_set_input_string(parser, (const unsigned char *)source->text,
				     source->size_bytes);
}

static struct ri_error *check_limits(const struct source *source)
{
	struct limits seen = { 0 };
	struct ri_error *error = NULL;
	yaml_parser_t parser;
	bool is_done = false;

	parser_init(&parser, source);
	while (!error && !is_done) {
		yaml_event_t event;
		const char *wrong;

		if (!yaml_parser_parse(&parser, &event)) {
			error = fail_of_parser(source, &parser);
			break;
		}
		wrong = check_event(&event, &seen);
		if (wrong)
			error = fail_at(source, event.start_mark, wrong);
		is_done = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return error;
}

struct copier {
	const struct source *source;
	yaml_document_t *document;
	size_t nodes;
};

static struct ri_error *copy_node(struct copier *copier, int id, unsigned depth,
				  struct ri_yaml_node *ret);

static struct ri_error *copy_list(struct copier *copier, const yaml_node_t *from, unsigned depth,
				  struct ri_yaml_node *to)
{
	size_t count = (size_t)(from->data.sequence.items.top - from->data.sequence.items.start);
	struct ri_error *error = NULL;

	to->kind = RI_YAML_LIST;
	to->items = ri_calloc(count, sizeof(*to->items));
	while (!error && to->count < count) {
		error = copy_node(copier, from->data.sequence.items.start[to->count], depth + 1,
				  &to->items[to->count]);
		to->count++;
	}
	return error;
}

static struct ri_error *copy_map(struct copier *copier, const yaml_node_t *from, unsigned depth,
				 struct ri_yaml_node *to)
{
	size_t count = (size_t)(from->data.mapping.pairs.top - from->data.mapping.pairs.start);
	struct ri_error *error = NULL;

	to->kind = RI_YAML_MAP;
	to->items = ri_calloc(2 * count, sizeof(*to->items));
	while (!error && to->count < count) {
		const yaml_node_pair_t *pair = &from->data.mapping.pairs.start[to->count];
		struct ri_yaml_node *items = &to->items[2 * to->count++];

		error = copy_node(copier, pair->key, depth + 1, &items[0]);
		if (!error)
			error = copy_node(copier, pair->value, depth + 1, &items[1]);
	}
	return error;
}

static struct ri_error *copy_node(struct copier *copier, int id, unsigned depth,
				  struct ri_yaml_node *ret)
{
	const yaml_node_t *from = yaml_document_get_node(copier->document, id);

	ret->line = (unsigned)from->start_mark.line + 1;
	ret->column = (unsigned)from->start_mark.column + 1;
	if (depth > MAX_DEPTH)
		return fail_at(copier->source, from->start_mark,
			       "nested too deeply for a profile once its aliases are followed");
	if (++copier->nodes > MAX_NODES)
		return fail_at(copier->source, from->start_mark,
			       "too many entries for a profile once its aliases are followed");
	switch (from->type) {
	case YAML_SEQUENCE_NODE:
		return copy_list(copier, from, depth, ret);
	case YAML_MAPPING_NODE:
		return copy_map(copier, from, depth, ret);
	default:
		ret->kind = RI_YAML_SCALAR;
		ret->is_plain = from->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
		ret->text = ri_strndup((const char *)from->data.scalar.value,
				       from->data.scalar.length);
		return NULL;
	}
}

static struct ri_error *copy_document(const struct source *source, yaml_document_t *document,
				      struct ri_yaml_node **ret)
{
	struct copier copier = { source, document, 0 };
	struct ri_yaml_node *root;
	struct ri_error *error;

	if (!yaml_document_get_root_node(document))
		return fail_at(source, document->start_mark,
			       "the profile is empty; it begins with 'version: 1'");
	root = ri_calloc(1, sizeof(*root));
	error = copy_node(&copier, 1, 1, root);
	if (error)
		ri_yaml_destroy(root);
	else
		*ret = root;
	return error;
}

struct ri_error *ri_yaml_parse(const char *file, const char *text, size_t size_bytes,
			       struct ri_yaml_node **ret)
{
	const struct source source = { file, text, size_bytes };
	struct ri_error *error;
	yaml_document_t document;
	yaml_parser_t parser;

	if (size_bytes > RI_YAML_BYTES_MAX)
		return ri_error_create(RI_ERROR_INPUT, "%s: too large for a profile (limit 1 MiB)",
				       file);
	error = check_limits(&source);
	if (error)
		return error;
	parser_init(&parser, &source);
	if (yaml_parser_load(&parser, &document)) {
		error = copy_document(&source, &document, ret);
		yaml_document_delete(&document);
	} else {
		error = fail_of_parser(&source, &parser);
	}
	yaml_parser_delete(&parser);
	return error;
}

static void deinit_node(struct ri_yaml_node *node)
{
	size_t count = node->kind == RI_YAML_MAP ? 2 * node->count : node->count;

	for (size_t i = 0; i < count; i++)
		deinit_node(&node->items[i]);
	free(node->items);
	free(node->text);
}

void ri_yaml_destroy(struct ri_yaml_node *root)
{
	if (!root)
		return;
	deinit_node(root);
	free(root);
}
