# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# A container beside the one that runs Flux.
piece mc_init
if [ -n "$mc_strict" ]; then set -eEu -o pipefail; fi
wait_for_view
piece mc_service_pre
fluxsocket=$view_root/run/flux/local
while [ -z "$mc_no_wait_socket" ] && [ ! -e "$fluxsocket" ] && [ ! -e "$mc_view/flux-operator-alone.txt" ]; do
    sleep 1
done
fluxsocket=local://$fluxsocket
write_script
eval "$mc_command"
mc_post
