# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# v1alpha2: Flux and its configuration are in a volume that the init container fills.
view_root=$mc_view/view

wait_for_view() {
    while [ ! -e "$mc_view/flux-operator-done.txt" ]; do sleep 1; done
    if [ -d "$mc_view/software" ] && [ -n "$(ls -A "$mc_view/software")" ]; then
        if mkdir -p /opt/software; then cp -R "$mc_view/software/." /opt/software/ || true; fi
    fi
    if [ -z "$mc_view_disabled" ]; then use_view; fi
}

# Flux's own Python comes with it.
use_view() {
    local found
    export PATH=$PATH:$view_root/bin
    found=$(find "$view_root/lib" -maxdepth 1 -type d -name 'python3*' 2>/dev/null | head -n 1)
    if [ -n "$mc_python_path" ]; then
        export PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}$mc_python_path
    elif [ -n "$found" ]; then
        export PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}$found/site-packages
    fi
    # For whoever works in the pod by hand.
    cat >"$mc_view/flux-view.sh" <<END
#!/bin/bash
export PATH=$PATH
export PYTHONPATH=${PYTHONPATH:-}
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$view_root/lib
export fluxsocket=local://$view_root/run/flux/local
END
}

# A script of the spec takes the place of a command.
write_script() {
    if [ -z "$mc_script" ]; then return; fi
    printf '%s\n' "$mc_script" >./custom-entrypoint.sh
    chmod +x ./custom-entrypoint.sh
    mc_command="/bin/bash ./custom-entrypoint.sh"
}
