/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of commands and what all of them share: finding a row, parsing an
 * address, choosing objects by the filters.
 */
#include "cli/commands.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/words.h"

const struct ri_command *const ri_commands[] = {
	&ri_command_check,   &ri_command_types,  &ri_command_inferred, &ri_command_objects,
	&ri_command_show,
	&ri_command_groups,  &ri_command_group,  &ri_command_find_words,
	&ri_command_holders, &ri_command_why,
	&ri_command_leaks,   &ri_command_cycles, &ri_command_ownership, &ri_command_coverage,
	&ri_command_profile, &ri_command_help,   &ri_command_gdb_session, NULL,
};

const struct ri_command *ri_command_find(const char *name)
{
	for (size_t i = 0; ri_commands[i]; i++)
		if (!strcmp(ri_commands[i]->name, name))
			return ri_commands[i];
	return NULL;
}

/* What a word of a command means. */
struct meant {
	uint64_t addr;       /* where to look */
	bool is_pointer;     /* the word names a pointer, which lies at `pointer_addr` */
	bool is_null;        /* it is null: `addr` is the pointer's own */
	uint64_t pointer_addr;
};

/* A name means the counted object there; a pointer to one means what it points
 * at; anything else is meant itself.  Where the type is not known (null), the
 * word there decides. */
static void resolve_name(const struct ri_analysis *analysis, const struct ri_type *type,
			 struct meant *meant)
{
	uint64_t pointee;

	if (ri_population_find(analysis->population, meant->addr) != RI_NONE)
		return;
	if (type && ri_type_strip(analysis->types, type)->kind != RI_TYPE_POINTER)
		return;
	if (!ri_image_read_u64(analysis->target->image, meant->addr, &pointee))
		return;
	meant->pointer_addr = meant->addr;
	meant->is_null = type && !pointee;
	meant->is_pointer = ri_population_find(analysis->population, pointee) != RI_NONE;
	if (meant->is_pointer)
		meant->addr = pointee;
}

static struct ri_error *resolve(const struct ri_analysis *analysis, const char *text,
				struct meant *ret)
{
	struct ri_variable variable = { 0 };
	struct meant meant = { 0 };
	char *end;

	errno = 0;
	meant.addr = strtoull(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
	if (errno || !isdigit((unsigned char)text[0]) || *end) {
		if (ri_types_find_variable(analysis->types, text, &variable))
			meant.addr = variable.addr;
		else if (!ri_modules_find_symbol_addr(analysis->modules, NULL, text, &meant.addr))
			return ri_error_create(RI_ERROR_USAGE,
					       "'%s' is no address (0x... or decimal), and no "
					       "variable or symbol has that name%s", text,
					       text[0] == '$' ? "; each refcheck sets $ref1 and "
								"those after it anew" : "");
		resolve_name(analysis, variable.type, &meant);
	}
	*ret = meant;
	return NULL;
}

struct ri_error *ri_command_parse_addr(const struct ri_analysis *analysis, const char *text,
				       uint64_t *ret)
{
	struct meant meant;
	struct ri_error *error = resolve(analysis, text, &meant);

	if (!error)
		*ret = meant.addr;
	return error;
}

void ri_command_say_meant(const struct ri_command_context *context, const char *text)
{
	const struct ri_population *population = context->analysis->population;
	struct meant meant;
	struct ri_error *error = resolve(context->analysis, text, &meant);
	uint32_t object;

	if (!error && meant.is_pointer && context->request.format[0] == 't') {
		object = ri_population_find(population, meant.addr);
		fprintf(context->out, "%s at %#llx points at %s %#llx\n", text,
			(unsigned long long)meant.pointer_addr,
			population->types[population->objects[object].type].name,
			(unsigned long long)population->objects[object].addr);
	}
	ri_error_destroy(error);
}

struct ri_error *ri_command_take_object(const struct ri_analysis *analysis, const char *text,
					uint32_t *ret)
{
	struct meant meant;
	struct ri_error *error = resolve(analysis, text, &meant);
	uint32_t object, block;

	if (error)
		return error;
	object = ri_population_find(analysis->population, meant.addr);
	if (object != RI_NONE) {
		*ret = object;
		return NULL;
	}
	if (!meant.addr)
		return ri_error_create(RI_ERROR_NOT_FOUND,
				       "%s is the null pointer: no object is there", text);
	if (meant.is_null)
		return ri_error_create(RI_ERROR_NOT_FOUND,
				       "the pointer %s is null: no object is there", text);
	/* in front of the object or behind it, but in its block and alone there */
	block = ri_heap_find(analysis->heap, meant.addr);
	if (block != RI_NONE)
		object = ri_population_find(analysis->population,
					    analysis->heap->blocks[block].addr);
	if (object == RI_NONE)
		return ri_error_create(RI_ERROR_NOT_FOUND, "no counted object at %#llx",
				       (unsigned long long)meant.addr);
	*ret = object;
	return NULL;
}

uint32_t ri_command_find_type(const struct ri_analysis *analysis, const char *name)
{
	const struct ri_population *population = analysis->population;

	for (size_t i = 0; i < population->type_count; i++)
		if (!strcmp(population->types[i].name, name))
			return (uint32_t)i;
	return RI_NONE;
}

static bool has_group_called(const struct ri_analysis *analysis, const char *name)
{
	for (size_t i = 0; i < analysis->population->group_count; i++)
		if (!strcmp(analysis->population->groups[i].name, name))
			return true;
	return false;
}

struct ri_error *ri_filter_check(const struct ri_analysis *analysis,
				 const struct ri_report_request *request)
{
	if (!analysis->population && (request->type || request->group || request->has_object))
		return ri_error_create(RI_ERROR_USAGE,
				       "this command knows no objects that could be filtered");
	if (request->type && ri_command_find_type(analysis, request->type) == RI_NONE)
		return ri_error_create(RI_ERROR_USAGE,
				       "there is no counted type '%s'; 'types' lists them",
				       request->type);
	if (request->group && !has_group_called(analysis, request->group))
		return ri_error_create(RI_ERROR_USAGE, "there is no group '%s'; 'groups' lists them",
				       request->group);
	if (request->code && !ri_check_find(request->code))
		return ri_error_create(RI_ERROR_USAGE, "there is no code '%s'; 'help codes' lists them",
				       request->code);
	if (request->has_object &&
	    ri_population_find(analysis->population, request->object_addr) == RI_NONE)
		return ri_error_create(RI_ERROR_NOT_FOUND, "no counted object at %#llx",
				       (unsigned long long)request->object_addr);
	return NULL;
}

static bool is_member_of(const struct ri_population *population, uint32_t object, const char *group)
{
	for (uint32_t i = population->member_of_first[object];
	     i < population->member_of_first[object + 1]; i++) {
		const struct ri_membership *membership =
			&population->memberships[population->member_of[i]];

		if (!strcmp(population->groups[membership->group].name, group))
			return true;
	}
	return false;
}

static bool has_name(const struct ri_analysis *analysis, uint32_t object, const char *wanted)
{
	char *name = ri_object_name(analysis, object);
	bool is_same = name && !strcmp(name, wanted);

	free(name);
	return is_same;
}

static bool has_index(const struct ri_analysis *analysis, uint32_t object, int64_t wanted)
{
	int64_t value;

	return ri_object_read_index(analysis, object, &value) && value == wanted;
}

bool ri_filter_has_object(const struct ri_analysis *analysis,
			  const struct ri_report_request *request, uint32_t object)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *o = &population->objects[object];

	if (request->type && strcmp(population->types[o->type].name, request->type))
		return false;
	if (request->has_object &&
	    ri_population_find(population, request->object_addr) != object)
		return false;
	if (request->group && !is_member_of(population, object, request->group))
		return false;
	if (request->name && !has_name(analysis, object, request->name))
		return false;
	return !request->has_index || has_index(analysis, object, request->index);
}
