# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# The container that runs Flux, as in 2023: its image has Flux, and the command is an argument.
mc_command=${1:-}
piece mc_init
if [ -n "$mc_strict" ]; then set -eEu -o pipefail; fi
export fluxroot=$mc_install_root
PYTHONPATH=${PYTHONPATH:-}
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
piece mc_pre_command
piece mc_pre
say "Hello, I am $(hostname), the lead broker is on $mc_main_host"

add_users() {
    local entry name
    for entry in "${mc_users[@]}"; do
        name=${entry%%:*}
        say "Adding user $name"
        sudo useradd -m -p "$(openssl passwd "${entry#*:}")" "$name"
    done
}

# Flux runs as its user, unless root is asked for because storage requires it.
prepare_user() {
    as_flux=(sudo -E "PYTHONPATH=$PYTHONPATH" "PATH=$PATH" "LD_LIBRARY_PATH=$LD_LIBRARY_PATH"
        "HOME=/home/$mc_flux_user")
    if [ -n "$mc_as_root" ]; then return; fi
    as_flux=(sudo -u "$mc_flux_user" "${as_flux[@]:1}")
    printf '%s ALL=(ALL) NOPASSWD: ALL\n' "$mc_flux_user" >>/etc/sudoers
    if ! id "$mc_flux_user" >/dev/null 2>&1; then
        sudo adduser --disabled-password --uid "$mc_flux_uid" --gecos "" "$mc_flux_user" >/dev/null 2>&1
    fi
}

# Folders, resources, the helper that starts jobs of other users, and the certificate.
prepare_flux() {
    local cores=(--local) allowed='"root"'
    mkdir -p /etc/flux/system/cron.d /etc/flux/imp/conf.d /run/flux /etc/curve "$STATE_DIR" "$FLUX_OUTPUT_DIR"
    if [ "$mc_cores" -gt 1 ]; then cores=("--cores=0-$((mc_cores - 1))"); fi
    flux R encode --hosts="$mc_hosts" "${cores[@]}" >/etc/flux/system/R
    say "Resources: $(cat /etc/flux/system/R)"
    if [ -z "$mc_as_root" ]; then allowed="\"$mc_flux_user\", $allowed"; fi
    printf '[exec]\nallowed-users = [ %s ]\nallowed-shells = [ "%s/libexec/flux/flux-shell" ]\n' \
        "$allowed" "$fluxroot" >/etc/flux/imp/conf.d/imp.toml
    chmod 0644 /etc/flux/imp/conf.d/imp.toml
    if [ -e "$fluxroot/libexec/flux/flux-imp" ]; then chmod 4755 "$fluxroot/libexec/flux/flux-imp"; fi
    sudo service munge start >/dev/null 2>&1 || true
    (umask 077 && cat /mnt/curve/curve.cert >/etc/curve/curve.cert)
    if [ -z "$mc_as_root" ]; then
        chown -R "$(id -u "$mc_flux_user")" /run/flux /etc/curve/curve.cert "$STATE_DIR" "$FLUX_OUTPUT_DIR" "$PWD"
    fi
    if [ -n "$mc_option_flags" ]; then
        export FLUX_OPTION_FLAGS="${FLUX_OPTION_FLAGS:+$FLUX_OPTION_FLAGS }$mc_option_flags"
    fi
}

run_diagnostics() {
    start_flux /etc/flux/config flux overlay status
    start_flux /etc/flux/config flux lsattr -v
    start_flux /etc/flux/config flux dmesg
    sleep infinity
}

# The REST API, for a cluster without a command.
run_restful() {
    local entry
    git clone -b "$mc_restful_branch" --depth 1 https://github.com/flux-framework/flux-restful-api /flux-restful-api
    cd /flux-restful-api
    export FLUX_USER=$mc_restful_user FLUX_TOKEN=$mc_restful_token FLUX_SECRET_KEY=$mc_restful_key
    export FLUX_REQUIRE_AUTH=true FLUX_NUMBER_NODES=$mc_size
    python3 -m pip install -r requirements.txt >/dev/null 2>&1
    alembic revision --autogenerate -m "tables"
    alembic upgrade head
    python3 app/db/init_db.py init
    for entry in "${mc_users[@]}"; do
        python3 app/db/init_db.py add-user "${entry%%:*}" "${entry#*:}"
    done
    say "The REST API listens on port $mc_restful_port; user $FLUX_USER, token $FLUX_TOKEN"
    "${as_flux[@]}" flux broker --config-path /etc/flux/config "${broker_options[@]}" \
        uvicorn app.main:app --host=0.0.0.0 "--port=$mc_restful_port"
}

export STATE_DIR=/var/lib/flux
export FLUX_OUTPUT_DIR=${mc_logs:-/tmp/fluxout}
if ! has_flux; then
    if is_lead; then piece mc_broker_pre; else piece mc_worker_pre; fi
    run_alone
    mc_post
    exit
fi
if [ -n "$mc_timed" ] && [ ! -x /usr/bin/time ]; then
    echo "logging.timed needs /usr/bin/time" >&2
    exit 1
fi
prepare_user
add_users
prepare_flux
set_broker_options /run/flux "$STATE_DIR"
if [ -n "$mc_diagnostics" ]; then
    run_diagnostics
elif is_lead; then
    if [ -n "$mc_batch" ]; then write_batch; fi
    piece mc_broker_pre
    if [ -z "$mc_command" ] && [ -z "$mc_interactive" ]; then
        run_restful
    else
        run_lead /etc/flux/config
    fi
else
    piece mc_worker_pre
    run_worker /etc/flux/config
fi
mc_post
