# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# The init container: its image has Flux in /opt/view. What the others need goes into the volume.
set -eu
view_root=$mc_view/view
printf '%s\n' "Hello, I am $(hostname) and prepare Flux in $mc_view"
mkdir -p "$view_root/bin" "$view_root/curve" "$view_root/etc/flux/config" "$view_root/etc/flux/system/cron.d" \
    "$view_root/run/flux" "$view_root/var/lib/flux" "$mc_view/software"

if [ -n "$mc_view_disabled" ]; then
    printf '%s\n' "The image of the application brings Flux: only its configuration is made here"
elif [ -d /opt/views/._view ]; then
    # /opt/view is a link into a folder here, which has a name of its own in each image.
    for view in /opt/views/._view/*; do cp -R "$view/." "$view_root/"; done
    if [ -d /opt/software ]; then cp -R /opt/software/. "$mc_view/software/"; fi
elif [ -d /opt/view ]; then
    cp -R /opt/view/. "$view_root/"
else
    printf '%s\n' "There is no Flux in /opt/view: containers use their own, if they have one"
fi

printf '%s\n' "$mc_hosts" >"$view_root/etc/flux/system/hostlist"
printf '%s' "$mc_broker_config" >"$view_root/etc/flux/config/broker.toml"
printf 'Configuration of the broker:\n%s\n' "$mc_broker_config"
PATH=/opt/view/bin:$PATH
if [ -z "$mc_view_disabled" ] && command -v flux >/dev/null 2>&1; then
    flux R encode --hosts="$mc_hosts" --local >"$view_root/etc/flux/system/R"
    printf 'Resources:\n%s\n' "$(cat "$view_root/etc/flux/system/R")"
fi
touch "$mc_view/flux-operator-done.txt"
