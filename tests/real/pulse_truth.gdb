# SPDX-License-Identifier: GPL-3.0-or-later
# What is true of a PulseAudio daemon at work (tests/real/pulse_load.c), by its own tables, and
# the faults that are planted in it. Says COUNT TYPE NUMBER for each type whose objects its
# tables list, OVER, UNDER or LOST TYPE ADDRESS for each planted fault.
#
# $light is set before for faults that the daemon survives to its end: those alone are planted
# that leave every table as it is.

set pagination off
set confirm off
thread 1
frame function main
set $core = c

# nth SET NUMBER: the datum of that entry of an idxset, in $datum
define nth
	set $entry = ((struct pa_idxset *)$arg0)->iterate_list_head
	set $left = $arg1
	while $left > 0 && $entry
		set $entry = $entry->iterate_next
		set $left = $left - 1
	end
	set $datum = $entry->data
end

define over_object
	nth $core->sink_inputs $arg0
	set $object = (struct pa_sink_input *)$datum
	printf "OVER pa_sink_input %#lx\n", $object
	call (void)pa_object_ref((struct pa_object *)$object)
end

define over_block
	nth $core->scache $arg0
	set $block = ((struct pa_scache_entry *)$datum)->memchunk.memblock
	printf "OVER pa_memblock %#lx\n", $block
	call (void)pa_memblock_ref($block)
end

define lost_block
	nth $core->scache $arg0
	printf "LOST pa_memblock %#lx\n", ((struct pa_scache_entry *)$datum)->memchunk.memblock
	set var ((struct pa_scache_entry *)$datum)->memchunk.memblock = 0
end

define lost_packet
	set $packet = (struct pa_packet *)pa_packet_new(40)
	printf "LOST pa_packet %#lx\n", $packet
end

# the tables
set $inputs = ((struct pa_idxset *)$core->sink_inputs)->n_entries
set $samples = ((struct pa_idxset *)$core->scache)->n_entries
nth $core->sink_inputs 0
set $player = (struct playback_stream *)((struct pa_sink_input *)$datum)->userdata
set $connections = ((struct pa_native_connection *)$player->connection)->protocol->connections
set $links = ((struct pa_idxset *)$connections)->n_entries
printf "COUNT pa_sink_input %d\n", $inputs
printf "COUNT pa_source_output %d\n", ((struct pa_idxset *)$core->source_outputs)->n_entries
printf "COUNT pa_native_connection %d\n", $links
printf "COUNT pa_pstream %d\n", $links
printf "COUNT pa_memblock %d\n", $core->mempool->stat.n_allocated.value

over_object 10
over_object 50
over_object 90
over_block 3
over_block 33
lost_packet
lost_packet
lost_packet
lost_packet
if !$light
	nth $connections 5
	set $stream = ((struct pa_native_connection *)$datum)->pstream
	printf "OVER pa_pstream %#lx\n", $stream
	call (void)pa_pstream_ref($stream)
	nth $core->sink_inputs 120
	printf "UNDER pa_sink_input %#lx\n", $datum
	set var ((struct pa_object *)$datum)->_ref.value -= 1
	lost_block 7
	lost_block 17
	lost_block 27
end
