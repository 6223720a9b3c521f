/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a group is called.  Names go into fingerprints, so none holds an
 * address: the rule's own name, else the name that the group's struct carries
 * (escaped: it comes from target memory), else the variable around the head, else the
 * symbol there, else its struct, with the member that is the head: "server.conns".
 */
#include "census/groups_private.h"

#include <stdlib.h>
#include <string.h>

#include "debug/modules.h"

#define NAME_MAX_BYTES 128

/* The string at `addr`, escaped and interned; null if there is none. */
static const char *read_name(struct ri_groups *groups, uint64_t addr, size_t max_bytes)
{
	const struct ri_finder *finder = groups->finder;
	char *text = ri_image_read_string(finder->image, addr, max_bytes), *escaped;
	const char *name = NULL;

	if (!text)
		return NULL;
	if (*text) {
		escaped = ri_string_escape(text);
		name = ri_strings_add(finder->shapes->strings, escaped);
		free(escaped);
	}
	free(text);
	return name;
}

static const char *name_of_field(struct ri_groups *groups, const struct ri_group_rule *rule,
				 uint64_t struct_addr)
{
	const struct ri_field *field = &rule->name_field;
	uint64_t pointer;

	if (!field->is_present)
		return NULL;
	if (field->text_bytes)
		return read_name(groups, struct_addr + (uint64_t)field->offset_bytes,
				 field->text_bytes);
	pointer = ri_finder_pointer(groups->finder, struct_addr, field);
	return pointer ? read_name(groups, pointer, NAME_MAX_BYTES) : NULL;
}

/* "all_conns", "groups+0x40": the data symbol that contains the head. */
static const char *name_of_symbol(struct ri_groups *groups, uint64_t addr)
{
	const struct ri_finder *finder = groups->finder;
	struct ri_strings *strings = finder->shapes->strings;
	const char *symbol;
	uint64_t offset;
	char *escaped;

	if (!finder->modules || !ri_finder_is_static(finder, addr))
		return NULL;
	symbol = ri_modules_find_symbol(finder->modules, addr, true, &offset, NULL);
	if (!symbol)
		return NULL;
	escaped = ri_string_escape(symbol);
	symbol = offset ? ri_strings_format(strings, "%s+%#llx", escaped,
					    (unsigned long long)offset)
			: ri_strings_add(strings, escaped);
	free(escaped);
	return symbol;
}

/* Whether the name has the head's member at its end already. */
static bool ends_with_member(const char *name, const char *member)
{
	size_t length = strlen(name), tail = strlen(member);

	return length > tail && name[length - tail - 1] == '.' &&
	       !strcmp(name + length - tail, member);
}

const char *ri_groups_name(struct ri_groups *groups, const struct ri_head *head)
{
	const struct ri_finder *finder = groups->finder;
	const struct ri_group_rule *rule = &finder->layout->groups.items[head->rule];
	const char *name = rule->name;

	if (!name)
		name = name_of_field(groups, rule, head->struct_addr);
	if (name)
		return name;
	name = head->name ? head->name : name_of_symbol(groups, head->struct_addr);
	if (!name)
		name = rule->head_type_name ? rule->head_type_name : "list";
	if (!rule->head_member || ends_with_member(name, rule->head_member))
		return name;
	return ri_strings_format(finder->shapes->strings, "%s.%s", name, rule->head_member);
}
