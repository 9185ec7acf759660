#!/bin/sh
# Install what some tests need besides Python, where that is possible without asking anybody: a Secret Service and D-Bus
# for the keyring, strace for the crash schedules, zsh as a reader of .env, zsh and fish as shells that complete, groff and
# mandoc as readers of the manual, curl for the commands that the sandbox prints.
set -eu
missing=""
for pair in gnome-keyring-daemon:gnome-keyring dbus-run-session:dbus strace:strace zsh:zsh fish:fish groff:groff-base mandoc:mandoc curl:curl; do
	command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair#*:}"
done
[ -n "$missing" ] || exit 0
root=""
[ "$(id -u)" = 0 ] || root="sudo -n"
# shellcheck disable=SC2086  # the list is meant to be split
if command -v apt-get >/dev/null; then
	{ $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >/dev/null && exit 0
elif command -v dnf >/dev/null; then
	$root dnf install -y -q $(echo "$missing" | sed 's/dbus$/dbus-daemon/; s/dbus /dbus-daemon /') >/dev/null && exit 0
fi
echo "Could not be installed here:$missing. The tests that need them are skipped, or fail where CI is set." >&2
