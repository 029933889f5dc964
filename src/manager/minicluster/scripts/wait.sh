# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# The container that runs Flux.
piece mc_init
if [ -n "$mc_strict" ]; then set -eEu -o pipefail; fi
if [ -n "$mc_timed" ] && [ ! -x /usr/bin/time ]; then
    echo "logging.timed needs /usr/bin/time" >&2
    exit 1
fi
wait_for_view
write_script
user=$(id -un)
say "Hello, I am $(hostname) and run as $user, the lead broker is on $mc_main_host"

# The certificate is mounted read-only, and Flux wants one that nobody else can read.
mkdir -p "$view_root/curve"
(umask 077 && cat /flux_operator/curve.cert >"$view_root/curve/curve.cert")

if [ -n "$mc_view_disabled" ] && has_flux; then
    hosts=$(cat "$view_root/etc/flux/system/hostlist")
    flux R encode --hosts="$hosts" --local >"$view_root/etc/flux/system/R"
    say "Resources: $(cat "$view_root/etc/flux/system/R")"
fi

export STATE_DIR=$view_root/var/lib/flux
export FLUX_OUTPUT_DIR=${mc_logs:-/tmp/fluxout}
mkdir -p "$STATE_DIR" "$FLUX_OUTPUT_DIR"
set_broker_options "$view_root/run/flux" "$STATE_DIR"
piece mc_pre

if ! has_flux; then
    touch "$mc_view/flux-operator-alone.txt"
    if is_lead; then piece mc_broker_pre; else piece mc_worker_pre; fi
    run_alone
elif is_lead; then
    if [ -n "$mc_batch" ]; then write_batch; fi
    piece mc_broker_pre
    run_lead "$view_root/etc/flux/config"
else
    piece mc_worker_pre
    run_worker "$view_root/etc/flux/config"
fi
mc_post
touch "$mc_view/flux-operator-complete.txt"
