/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variables of frames: see locals.h.
 *
 * The function around a frame's pc is looked for among those of the unit whose ranges have
 * the pc (listed once per unit), and its variables are listed once per pc, those of inlined functions and of nested
 * blocks included.  A location is understood if it is a constant distance from the
 * frame base, from the canonical frame address or from a register that the unwinding
 * knows; location lists are asked for the pc.  Everything else (registers, entry values,
 * pieces) has no place and is left out.
 *
 * A variable is live if all blocks around it have the pc.  That does not say that
 * its value is sound: it may not have been assigned yet.
 *
 * That a place is dead has to be proven, since no slot of a frame but a variable's home
 * is described at all and compilers let things share what they do not use.  Proof is:
 *
 *   the unit is C and was compiled without optimization, as the compiler's own flags in
 *   DW_AT_producer say: then each small variable has a home of its own for the whole
 *   function, which nothing else is put into;
 *   each variable of the function is at a distance from the frame base by a single
 *   expression, and there are no descriptions of call sites, which optimization makes;
 *   the variable is as large as a pointer, lies in a block that is left or not entered,
 *   and overlaps with no variable that is not dead itself;
 *   the frame is a caller's, between whose instructions control is nowhere else, and was
 *   found by call frame information, not by guess.
 *
 * Cost: the units' ranges once per module with frames, one walk over the functions of each
 * unit with frames, one over a function's insides per different pc; each bounded, and the
 * sum too: frames beyond have no variables.  Blind spots: units in .dwo files, variables in
 * registers.
 */
#include "debug/locals.h"

#include <stdlib.h>
#include <string.h>

#include "debug/loader.h"
#include "debug/modules_private.h"

#define DEPTH_MAX 32
#define DIES_MAX 200000         /* that are looked at for one pc, or in one unit */
#define ALL_DIES_MAX 20000000   /* for all of them */
#define UNIT_RANGES_MAX 1000000 /* per module */
#define FUNCTIONS_MAX 20000     /* different pcs */
#define VARIABLES_MAX 4096      /* of a function that are kept */
#define PLAIN_VARIABLES_MAX 256 /* of one whose places are compared pairwise */
#define POINTER_BYTES 8

enum base { BASE_NONE, BASE_CFA, BASE_REGISTER };

/* A place relative to something in the frame. */
struct place {
	enum base base;
	unsigned number;         /* of the register */
	int64_t offset;
};

struct variable {
	const char *name;
	struct ri_die die;
	struct place place;
	bool is_live;
};

/* What is known at one pc. */
struct function {
	uint32_t module;
	RI_VEC(struct variable) variables;
	bool is_plain;           /* dead places can be proven */
};

struct unit_range {
	uint64_t start, end;     /* as in the DWARF, without bias */
	struct ri_die unit;
};

/* The functions of one unit, by their ranges; of what overlaps the first one in the DWARF. */
struct unit_functions {
	RI_VEC(struct unit_range) ranges; /* ascending by start; `unit` is the function's DIE */
};

struct unit_ranges {
	bool is_listed;
	RI_VEC(struct unit_range) ranges; /* ascending by start */
};

struct ri_locals {
	const struct ri_unwind *unwind;
	struct unit_ranges *units;     /* per module */
	struct ri_die_map *of_pc;      /* pc -> struct function */
	RI_VEC(struct function *) functions;
	struct ri_die_map *of_unit;    /* unit's DIE -> struct unit_functions */
	RI_VEC(struct unit_functions *) listed_units;
	size_t dies;                   /* looked at so far */
};

/* The listing of one function's variables. */
struct listing {
	struct function *function;
	struct place frame_base;
	uint64_t pc;             /* as in the DWARF */
	unsigned dies;
	bool is_plain;
};

/*
 * Units
 */

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (const char *)x->unit.addr < (const char *)y->unit.addr ? -1
		: (const char *)x->unit.addr > (const char *)y->unit.addr;
}

static void list_units(const struct ri_module_state *state, struct unit_ranges *units)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	units->is_listed = true;
	while (!dwarf_get_units(state->dwarf, unit, &unit, NULL, NULL, &die, NULL)) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;

		if (!die.addr || !dwarf_haschildren(&die))
			continue;
		while (units->ranges.count < UNIT_RANGES_MAX &&
		       (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0)
			if (start < end)
				*ri_push(&units->ranges) =
					(struct unit_range){ start, end, ri_die_of(&die) };
	}
	if (units->ranges.count)
		qsort(units->ranges.items, units->ranges.count, sizeof(*units->ranges.items),
		      compare_ranges);
}

/* The DIE of the range with the pc among ranges[0 .. count), which ascend by start. */
static bool find_range(const struct unit_range *ranges, size_t count, uint64_t pc, Dwarf_Die *ret)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || pc >= ranges[low - 1].end)
		return false;
	*ret = ri_die_open(ranges[low - 1].unit);
	return true;
}

/* C, compiled without optimization as the flags say that the compiler was given. */
static bool is_unoptimized_c(Dwarf_Die *unit)
{
	int language = dwarf_srclang(unit);
	Dwarf_Attribute attr;
	const char *producer = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &attr));
	const char *flag;

	if (!producer || strncmp(producer, "GNU C", 5) || !strstr(producer, " -m") ||
	    (language != DW_LANG_C89 && language != DW_LANG_C99 && language != DW_LANG_C11 &&
	     language != DW_LANG_C && language != 0x2c))
		return false;
	for (flag = producer; (flag = strstr(flag, " -O")); flag++)
		if (flag[3] != '0' || (flag[4] && flag[4] != ' '))
			return false;
	return true;
}

/*
 * Places
 */

/* The place that one or a few operations give; BASE_NONE: another kind. */
static struct place place_of(const Dwarf_Op *ops, size_t count, const struct place *frame_base)
{
	struct place place = { .base = BASE_NONE };
	size_t used = 1;

	if (!count)
		return place;
	if (ops[0].atom == DW_OP_fbreg && frame_base && frame_base->base != BASE_NONE) {
		place = *frame_base;
		place.offset += (int64_t)ops[0].number;
	} else if (ops[0].atom == DW_OP_call_frame_cfa) {
		place.base = BASE_CFA;
	} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg15) {
		place = (struct place){ BASE_REGISTER, ops[0].atom - DW_OP_breg0,
					(int64_t)ops[0].number };
	} else if (!frame_base && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg15) {
		/* a frame base may be said to be in a register, meaning its value */
		place = (struct place){ BASE_REGISTER, ops[0].atom - DW_OP_reg0, 0 };
	}
	if (count == 3 && ops[1].atom == DW_OP_consts && ops[2].atom == DW_OP_plus) {
		place.offset += (int64_t)ops[1].number;
		used = 3;
	} else if (count == 2 && ops[1].atom == DW_OP_plus_uconst) {
		place.offset += (int64_t)ops[1].number;
		used = 2;
	}
	if (used != count)
		place.base = BASE_NONE;
	return place;
}

static struct place read_place(Dwarf_Die *die, unsigned attribute, uint64_t pc,
			       const struct place *frame_base, bool *ret_is_single)
{
	Dwarf_Attribute attr;
	Dwarf_Block block;
	Dwarf_Op *ops;
	size_t count;

	*ret_is_single = false;
	if (!dwarf_attr(die, attribute, &attr) ||
	    dwarf_getlocation_addr(&attr, pc, &ops, &count, 1) != 1)
		return (struct place){ .base = BASE_NONE };
	*ret_is_single = count == 1 && !dwarf_formblock(&attr, &block);
	return place_of(ops, count, frame_base);
}

/*
 * Functions
 */

static void add_variable(struct listing *listing, Dwarf_Die *die, bool is_live)
{
	bool is_single, is_declaration = ri_die_flag(die, DW_AT_declaration) ||
					 ri_die_flag(die, DW_AT_external);
	struct place place = read_place(die, DW_AT_location, listing->pc, &listing->frame_base,
					&is_single);
	Dwarf_Attribute attr;
	struct variable *variable;
	const char *name;

	/* a static variable has a single address, which is no place in the frame */
	if (!is_single && !is_declaration && dwarf_hasattr(die, DW_AT_location))
		listing->is_plain = false;
	if (!dwarf_hasattr(die, DW_AT_location) && !is_declaration)
		listing->is_plain = false;
	listing->is_plain &= listing->function->variables.count < PLAIN_VARIABLES_MAX;
	if (place.base == BASE_NONE || listing->function->variables.count >= VARIABLES_MAX)
		return;
	name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
	listing->is_plain &= name != NULL;
	if (!name)
		return;
	variable = ri_push(&listing->function->variables);
	variable->name = name;
	variable->die = ri_die_of(die);
	variable->place = place;
	variable->is_live = is_live;
}

static void list_variables(struct listing *listing, Dwarf_Die *parent, bool is_live, int depth)
{
	Dwarf_Die child;

	if (depth >= DEPTH_MAX) {
		listing->is_plain = false;
		return;
	}
	for (bool ok = ri_die_next_child(parent, true, &child); ok;
	     ok = ri_die_next_child(parent, false, &child)) {
		if (++listing->dies > DIES_MAX) {
			listing->is_plain = false;
			return;
		}
		switch (dwarf_tag(&child)) {
		case DW_TAG_variable:
		case DW_TAG_formal_parameter:
			add_variable(listing, &child, is_live);
			break;
		case DW_TAG_inlined_subroutine:
			listing->is_plain = false;
			/* fall through */
		case DW_TAG_lexical_block:
			list_variables(listing, &child,
				       is_live && dwarf_haspc(&child, listing->pc) == 1,
				       depth + 1);
			break;
		case DW_TAG_subprogram: /* a nested function has frames of its own */
			listing->is_plain = false;
			break;
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
			listing->is_plain = false;
			break;
		default:
			break;
		}
	}
}

static void add_function_ranges(struct unit_functions *functions, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (functions->ranges.count < DIES_MAX &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start < end)
			*ri_push(&functions->ranges) =
				(struct unit_range){ start, end, ri_die_of(die) };
}

/* The functions below `parent`, outside of one another. */
static void list_functions(struct unit_functions *functions, Dwarf_Die *parent, int depth,
			   size_t *dies)
{
	Dwarf_Die child;

	for (bool ok = ri_die_next_child(parent, true, &child); ok && *dies < DIES_MAX;
	     ok = ri_die_next_child(parent, false, &child)) {
		++*dies;
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			add_function_ranges(functions, &child);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			if (depth < DEPTH_MAX)
				list_functions(functions, &child, depth + 1, dies);
			break;
		default:
			break;
		}
	}
}

static const struct unit_functions *functions_of(struct ri_locals *locals, Dwarf_Die *unit)
{
	struct unit_functions *functions = ri_die_map_find(locals->of_unit, unit->addr);
	size_t dies = 0;

	if (functions)
		return functions;
	functions = ri_calloc(1, sizeof(*functions));
	*ri_push(&locals->listed_units) = functions;
	ri_die_map_put(locals->of_unit, unit->addr, functions);
	list_functions(functions, unit, 0, &dies);
	locals->dies += dies;
	if (functions->ranges.count)
		qsort(functions->ranges.items, functions->ranges.count,
		      sizeof(*functions->ranges.items), compare_ranges);
	return functions;
}

static void list_function(struct ri_types *types, struct function *function, uint64_t pc)
{
	const struct ri_modules *modules = types->names.modules;
	struct ri_module_state *state = &modules->states[function->module];
	struct unit_ranges *units = &types->locals->units[function->module];
	struct listing listing = { .function = function, .pc = pc - state->dwarf_bias };
	const struct unit_functions *functions;
	Dwarf_Die unit, subprogram;
	bool is_single;

	if (!units->is_listed)
		list_units(state, units);
	if (!find_range(units->ranges.items, units->ranges.count, listing.pc, &unit))
		return;
	listing.is_plain = is_unoptimized_c(&unit);
	functions = functions_of(types->locals, &unit);
	if (!find_range(functions->ranges.items, functions->ranges.count, listing.pc, &subprogram))
		return;
	listing.frame_base = read_place(&subprogram, DW_AT_frame_base, listing.pc, NULL, &is_single);
	listing.is_plain = listing.is_plain && is_single && listing.frame_base.base == BASE_CFA;
	list_variables(&listing, &subprogram, true, 0);
	types->locals->dies += listing.dies;
	function->is_plain = listing.is_plain;
}

/* What is known at the frame's pc; null: nothing. */
static const struct function *function_of(struct ri_types *types, const struct ri_frame *frame)
{
	const struct ri_modules *modules = types->names.modules;
	/* a call may be the last instruction of a block */
	uint64_t pc = frame->pc - !frame->is_activation;
	struct ri_locals *locals = types->locals;
	struct function *function;
	const struct ri_module *module;

	if (!pc) /* no key of the map */
		return NULL;
	function = ri_die_map_find(locals->of_pc, (void *)(uintptr_t)pc);
	if (function)
		return function;
	module = ri_modules_find(modules, pc);
	if (!module || !module->has_dwarf || locals->functions.count >= FUNCTIONS_MAX ||
	    locals->dies >= ALL_DIES_MAX)
		return NULL;
	function = ri_calloc(1, sizeof(*function));
	function->module = (uint32_t)ri_modules_index(modules, module);
	*ri_push(&locals->functions) = function;
	ri_die_map_put(locals->of_pc, (void *)(uintptr_t)pc, function);
	list_function(types, function, pc);
	return function;
}

/*
 * Frames
 */

static bool find_addr(const struct ri_frame *frame, const struct place *place, uint64_t *ret)
{
	if (place->base == BASE_CFA && frame->cfa)
		*ret = frame->cfa + (uint64_t)place->offset;
	else if (place->base == BASE_REGISTER && frame->known >> place->number & 1)
		*ret = frame->registers[place->number] + (uint64_t)place->offset;
	else
		return false;
	return true;
}

static bool describe(struct ri_types *types, const struct function *function,
		     const struct ri_frame *frame, size_t index, struct ri_local *ret)
{
	const struct variable *variable = &function->variables.items[index];
	uint64_t addr;

	if (!find_addr(frame, &variable->place, &addr))
		return false;
	*ret = (struct ri_local){ .name = variable->name, .frame = frame, .addr = addr,
				  .is_live = variable->is_live };
	ret->type = &ri_loader_load_type_of(types, function->module, variable->die)->type;
	ret->size_bytes = ri_type_strip(types, ret->type)->size_bytes;
	return true;
}

/* Whether variable `index`, which is not live, overlaps with none that is. */
static bool is_alone(struct ri_types *types, const struct function *function,
		     const struct ri_frame *frame, const struct ri_local *local)
{
	for (size_t i = 0; i < function->variables.count; i++) {
		struct ri_local other;

		if (!function->variables.items[i].is_live)
			continue;
		if (!describe(types, function, frame, i, &other) || !other.size_bytes ||
		    (local->addr < other.addr + other.size_bytes &&
		     other.addr < local->addr + local->size_bytes))
			return false;
	}
	return true;
}

static bool each_of_frame(struct ri_types *types, const struct ri_frame *frame,
			  bool (*callback)(const struct ri_local *local, void *data), void *data)
{
	const struct function *function = function_of(types, frame);

	for (size_t i = 0; function && i < function->variables.count; i++) {
		struct ri_local local;

		if (!describe(types, function, frame, i, &local))
			continue;
		local.is_dead = !local.is_live && function->is_plain && frame->depth &&
				!frame->is_activation && frame->is_exact && frame->cfa &&
				local.size_bytes == POINTER_BYTES &&
				local.addr >= frame->sp && local.addr + POINTER_BYTES <= frame->cfa &&
				is_alone(types, function, frame, &local);
		if (!callback(&local, data))
			return false;
	}
	return true;
}

void ri_types_each_local(struct ri_types *types,
			 bool (*callback)(const struct ri_local *local, void *data), void *data)
{
	size_t count;
	const struct ri_frame *frames;

	if (!types->locals)
		return;
	frames = ri_unwind_all(types->locals->unwind, &count);
	for (size_t i = 0; i < count; i++)
		if (!each_of_frame(types, &frames[i], callback, data))
			return;
}

bool ri_types_find_local(struct ri_types *types, const struct ri_frame *frame, uint64_t addr,
			 struct ri_local *ret)
{
	const struct function *function = types->locals ? function_of(types, frame) : NULL;

	for (size_t i = 0; function && i < function->variables.count; i++)
		if (function->variables.items[i].is_live &&
		    describe(types, function, frame, i, ret) && addr >= ret->addr &&
		    addr - ret->addr < ret->size_bytes)
			return true;
	return false;
}

void ri_types_use_frames(struct ri_types *types, const struct ri_unwind *unwind)
{
	ri_locals_deinit(types);
	if (!unwind)
		return;
	types->locals = ri_calloc(1, sizeof(*types->locals));
	types->locals->unwind = unwind;
	types->locals->units = ri_calloc(types->names.modules->count,
					 sizeof(*types->locals->units));
	types->locals->of_pc = ri_die_map_create();
	types->locals->of_unit = ri_die_map_create();
}

void ri_locals_deinit(struct ri_types *types)
{
	struct ri_locals *locals = types->locals;

	if (!locals)
		return;
	for (size_t i = 0; i < locals->functions.count; i++) {
		ri_vec_deinit(&locals->functions.items[i]->variables);
		free(locals->functions.items[i]);
	}
	ri_vec_deinit(&locals->functions);
	for (size_t i = 0; i < types->names.modules->count; i++)
		ri_vec_deinit(&locals->units[i].ranges);
	free(locals->units);
	for (size_t i = 0; i < locals->listed_units.count; i++) {
		ri_vec_deinit(&locals->listed_units.items[i]->ranges);
		free(locals->listed_units.items[i]);
	}
	ri_vec_deinit(&locals->listed_units);
	ri_die_map_destroy(locals->of_unit);
	ri_die_map_destroy(locals->of_pc);
	free(locals);
	types->locals = NULL;
}
