// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Work for a PulseAudio daemon: clients, each with a connection of its own, that keep streams
 * for playback (paused, sound queued), one for recording, and that store samples. Nothing
 * depends on the clock: streams are paused before they start. Says READY when the daemon has
 * answered everything, then stays until it is killed or the daemon ends.
 *
 * usage: pulse_load SERVER
 */
#include <pulse/pulseaudio.h>
#include <stdio.h>
#include <string.h>

#define CLIENTS 20
#define PLAYERS 8  /* streams of a client */
#define SAMPLES 5  /* stored by a client */
#define SOUND 9000 /* bytes of a sample, and of what waits in a stream */

static const pa_sample_spec spec = {PA_SAMPLE_S16LE, 44100, 2};
static pa_mainloop *loop;
static char sound[SOUND];

static int wait_for_stream(pa_stream *stream)
{
	while (pa_stream_get_state(stream) != PA_STREAM_READY) {
		if (!PA_STREAM_IS_GOOD(pa_stream_get_state(stream)) ||
		    pa_mainloop_iterate(loop, 1, NULL) < 0)
			return -1;
	}
	return 0;
}

static int play(pa_context *context)
{
	pa_stream *stream = pa_stream_new(context, "player", &spec, NULL);

	if (!stream || pa_stream_connect_playback(stream, NULL, NULL, PA_STREAM_START_CORKED, NULL, NULL) ||
	    wait_for_stream(stream))
		return -1;
	return pa_stream_write(stream, sound, sizeof(sound), NULL, 0, PA_SEEK_RELATIVE);
}

static int record(pa_context *context)
{
	pa_stream *stream = pa_stream_new(context, "recorder", &spec, NULL);

	if (!stream || pa_stream_connect_record(stream, NULL, NULL, PA_STREAM_START_CORKED))
		return -1;
	return wait_for_stream(stream);
}

static int store(pa_context *context, int client, int number)
{
	char name[32];
	pa_stream *stream;

	snprintf(name, sizeof(name), "sample-%d-%d", client, number);
	stream = pa_stream_new(context, name, &spec, NULL);
	if (!stream || pa_stream_connect_upload(stream, sizeof(sound)) || wait_for_stream(stream) ||
	    pa_stream_write(stream, sound, sizeof(sound), NULL, 0, PA_SEEK_RELATIVE) ||
	    pa_stream_finish_upload(stream))
		return -1;
	while (PA_STREAM_IS_GOOD(pa_stream_get_state(stream)))
		if (pa_mainloop_iterate(loop, 1, NULL) < 0)
			return -1;
	pa_stream_unref(stream);
	return 0;
}

static int work(const char *server, int client)
{
	pa_context *context = pa_context_new(pa_mainloop_get_api(loop), "load");

	if (!context || pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, NULL))
		return -1;
	while (pa_context_get_state(context) != PA_CONTEXT_READY)
		if (!PA_CONTEXT_IS_GOOD(pa_context_get_state(context)) ||
		    pa_mainloop_iterate(loop, 1, NULL) < 0)
			return -1;
	for (int i = 0; i < PLAYERS; i++)
		if (play(context))
			return -1;
	for (int i = 0; i < SAMPLES; i++)
		if (store(context, client, i))
			return -1;
	return record(context);
}

int main(int argc, char **argv)
{
	loop = pa_mainloop_new();
	for (int i = 0; i < CLIENTS; i++) {
		if (argc != 2 || work(argv[1], i)) {
			fprintf(stderr, "client %d: the daemon does not answer\n", i);
			return 1;
		}
	}
	for (int i = 0; i < 200; i++) /* what is on its way arrives */
		pa_mainloop_prepare(loop, 5000) < 0 || pa_mainloop_poll(loop) < 0 ||
			pa_mainloop_dispatch(loop);
	printf("READY\n");
	fflush(stdout);
	return pa_mainloop_run(loop, NULL);
}
