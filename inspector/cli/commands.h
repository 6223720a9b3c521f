/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For those who write a command: the rows of the table, and what commands
 * share.  To add one: a file command_NAME.c with its row, a line here and in
 * commands.c.
 */
#ifndef RI_CLI_COMMANDS_H
#define RI_CLI_COMMANDS_H

#include "check/check.h"
#include "cli/command.h"
#include "cli/options.h"

extern const struct ri_command ri_command_check, ri_command_types, ri_command_objects,
	ri_command_show, ri_command_groups, ri_command_group, ri_command_holders, ri_command_why,
	ri_command_leaks, ri_command_cycles, ri_command_ownership, ri_command_coverage,
	ri_command_profile,
	ri_command_help, ri_command_gdb_session, ri_command_inferred, ri_command_find_words;

/* Parses `text` as an address and gives the counted object there.
 * RI_ERROR_USAGE or RI_ERROR_NOT_FOUND. */
struct ri_error *ri_command_take_object(const struct ri_analysis *analysis, const char *text,
					uint32_t *ret);

/* Where `text` names a pointer to a counted object, says in a text report which
 * object that is: the one that the other two mean by it. */
void ri_command_say_meant(const struct ri_command_context *context, const char *text);

/* Index of the counted type with that display name, or RI_NONE. */
uint32_t ri_command_find_type(const struct ri_analysis *analysis, const char *name);

/* RI_ERROR_USAGE or RI_ERROR_NOT_FOUND when a filter names what does not exist. */
struct ri_error *ri_filter_check(const struct ri_analysis *analysis,
				 const struct ri_report_request *request);

/* Whether every filter of `request` lets the object through. */
bool ri_filter_has_object(const struct ri_analysis *analysis,
			  const struct ri_report_request *request, uint32_t object);

/* The object's state and group memberships in words, owned by the caller. */
char *ri_command_state_words(uint32_t state);
char *ri_command_group_words(const struct ri_population *population, uint32_t object);

/* Why a member is taken for a count, with points; owned by the caller. */
char *ri_command_reason_words(const struct ri_inferred_count *count);

#endif
