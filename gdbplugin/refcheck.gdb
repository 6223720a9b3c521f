# SPDX-License-Identifier: GPL-3.0-or-later
# refcheck: refinspect as a gdb command, without Python.  Needs gdb 9 or newer
# (an older one stops at the first command: Undefined command "define-prefix").
#
#   source DATADIR/refinspect/refcheck.gdb
#   refcheck [COMMAND] [ARGUMENTS]     the commands of refinspect
#   refcheck why EXPR                  EXPR is any expression of the program's language
#
# What refinspect must know (arguments, target stack, inferiors, files, registers)
# is piped to `refinspect gdb-session`, which answers with a gdb script in a
# private directory, sourced below.  $REFINSPECT names the program where it is not
# on PATH.  Afterwards $refcheck_status is the exit status and $ref1, $ref2, ...
# are pointers to the objects that were shown.
#
# Why it is written as it is: refcheck, refcheck run and refcheck why are parsed in
# the user's language, so they may hold only `pipe`, `with`, `eval` and `if $argc`;
# they begin with changes of language whose output is thrown away, because gdb
# warns of the first one in a frame of another language; every shell part ends in
# `cat >/dev/null`, because a gdb without Python dies of SIGPIPE when a reader leaves
# early; arguments travel as lines, because the shell must not see them; numbers above
# 9 are hexadecimal, because `set input-radix` changes what others mean.

define-prefix refcheck
set $refcheck_confirm = $_gdb_setting ("confirm")
set confirm off

set $refcheck_sh = "\"${REFINSPECT:-refinspect}\" gdb-session $PPID /tmp; r=$?; cat >/dev/null; exit $r"
set $refcheck_sh_again = "\"${REFINSPECT:-refinspect}\" gdb-session $PPID /tmp again; r=$?; cat >/dev/null; exit $r"
set $refcheck_sh_clean = "\"${REFINSPECT:-refinspect}\" gdb-session $PPID /tmp clean; cat >/dev/null"
# "%.<7n>s" of this names exactly the first n arguments: naming one that was not
# given would be an error.
set $refcheck_argv = "$arg0  $arg1  $arg2  $arg3  $arg4  $arg5  $arg6  $arg7  $arg8  $arg9  $arg10 $arg11 $arg12 $arg13 $arg14 $arg15 $arg16 $arg17 $arg18 $arg19 "
init-if-undefined $refcheck_count = 0

# Everything that refinspect must know, as text; nothing in here can fail.
define _refcheck_ctx
  set $refcheck_i = 0
  while $refcheck_i < $argc
    eval "echo %%arg $arg%d\\n", $refcheck_i
    set $refcheck_i = $refcheck_i + 1
  end
  printf "%%gdb %d.%d\n%%argc %d\n%%thread %d\n%%refs %d\n", $_gdb_major, $_gdb_minor, $refcheck_argc, $_thread, $refcheck_count
  set $refcheck_i = 1
  while $refcheck_i <= $refcheck_count
    printf "%%ref %d ", $refcheck_i
    eval "output/x $ref%d", $refcheck_i
    echo \n
    set $refcheck_i = $refcheck_i + 1
  end
  echo %target\n
  maint print target-stack
  info inferiors
  info files
  show sysroot
  show solib-search-path
  show debug-file-directory
  if $refcheck_is_native
    echo %registers\n
    thread apply all -s -- maint print raw-registers
  end
  echo %end\n
end

# gdb's own pid names the answer's directory; there is no variable for it, so it
# is learned a byte at a time through exit statuses.  Whether the program runs under
# this gdb is learned in the same way.
define _refcheck_begin
  set $refcheck_status = 3
  set $refcheck_why = -1
  set $refcheck_argc = $arg0
  if $_isvoid ($refcheck_pid)
    pipe echo | cat >/dev/null; exit $(( $PPID & 255 ))
    set $refcheck_i = $_shell_exitcode
    pipe echo | cat >/dev/null; exit $(( $PPID >> 8 & 255 ))
    set $refcheck_i = $refcheck_i + $_shell_exitcode * 0x100
    pipe echo | cat >/dev/null; exit $(( $PPID >> 16 & 255 ))
    set $refcheck_pid = $refcheck_i + $_shell_exitcode * 0x10000
  end
  pipe maint print target-stack | grep -c " - native " >/dev/null
  set $refcheck_is_native = $_shell_exitcode == 0
  set $_shell_exitcode = 0xff
end

define _refcheck_take
  if $_isvoid ($_shell_exitcode)
    echo refcheck: interrupted\n
    eval "pipe echo | %s", $refcheck_sh_clean
  else
    if $_shell_exitcode == 0
      eval "source /tmp/refcheck-%d/$arg0.gdb", $refcheck_pid
    else
      if $_shell_exitcode == 0x7f || $_shell_exitcode == 0x7e
        echo refcheck: cannot run refinspect; put it on PATH, or start gdb with REFINSPECT=/path/to/refinspect\n
      else
        printf "refcheck: refinspect failed (status %d)\n", $_shell_exitcode
        eval "pipe echo | %s", $refcheck_sh_clean
      end
    end
  end
end

# After the answer was a request for a core file that gdb itself writes.
define _refcheck_again
  set $_shell_exitcode = 0xff
  eval "pipe _refcheck_ctx | %s", $refcheck_sh_again
  _refcheck_take again
end

define _refcheck_why
  if $refcheck_why == -1
    echo Usage: refcheck why EXPR\n
    set $refcheck_status = 2
  else
    eval "pipe _refcheck_ctx why 0x%lx | %s", $refcheck_why, $refcheck_sh
    _refcheck_take run
  end
end

define refcheck
  pipe with language c++ -- with language c -- echo | cat >/dev/null
  with language c -- _refcheck_begin $argc
  eval "eval \"pipe -d @refcheck@ -- with language c -- _refcheck_ctx %%.%ds@refcheck@ %%s\", $refcheck_argv, $refcheck_sh", 7 * $argc
  with language c -- _refcheck_take run
end
document refcheck
Audit reference counts and intrusive lists in the current core or process.
Usage: refcheck [COMMAND] [ARGUMENT...]
COMMAND is one of refinspect's: check (the default), types, inferred, objects, show,
groups, group, find, holders, why, leaks, cycles, ownership, coverage, profile, help.
Sets $refcheck_status (0 clean, 1 findings, 2 unusable, 3 could not check) and
$ref1, $ref2, ...: pointers to the objects that were shown.
`refcheck help COMMAND' explains one.
end

define refcheck run
  pipe with language c++ -- with language c -- echo | cat >/dev/null
  with language c -- _refcheck_begin $argc
  eval "eval \"pipe -d @refcheck@ -- with language c -- _refcheck_ctx %%.%ds@refcheck@ %%s\", $refcheck_argv, $refcheck_sh", 7 * $argc
  with language c -- _refcheck_take run
end
document refcheck run
Run a command of refinspect on the current core or process.
Usage: refcheck [run] COMMAND [ARGUMENT...]
`refcheck help' lists the commands, `refcheck help COMMAND' explains one.
end

define refcheck why
  pipe with language c++ -- with language c -- echo | cat >/dev/null
  with language c -- _refcheck_begin 2
  if $argc
    eval "eval \"eval \\\"with language c -- set $refcheck_why = 0x%%%%lx\\\", (%%.%ds)\", $refcheck_argv", 7 * $argc
  end
  with language c -- _refcheck_why
end
document refcheck why
Show what keeps the object at an address alive.
Usage: refcheck why EXPR
EXPR is any expression whose value is an address: a pointer, &object, 0x5581.
end

# The commands by name, for TAB alone: an alias with arguments needs gdb 10, and
# one that is there already is an error when this file is loaded again.
if $_gdb_major >= 0xa && $_isvoid ($refcheck_is_loaded)
  alias refcheck check = refcheck run check
  alias refcheck types = refcheck run types
  alias refcheck inferred = refcheck run inferred
  alias refcheck objects = refcheck run objects
  alias refcheck show = refcheck run show
  alias refcheck groups = refcheck run groups
  alias refcheck group = refcheck run group
  alias refcheck find = refcheck run find
  alias refcheck holders = refcheck run holders
  alias refcheck leaks = refcheck run leaks
  alias refcheck cycles = refcheck run cycles
  alias refcheck ownership = refcheck run ownership
  alias refcheck coverage = refcheck run coverage
  alias refcheck profile = refcheck run profile
  alias refcheck help = refcheck run help
  set $refcheck_is_loaded = 1
end

if $refcheck_confirm
  set confirm on
end
