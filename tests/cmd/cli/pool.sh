# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # tests/cmd/cli/run has the other ends of $out, $err, $code, $load
# Resource pools over a real NATS server: published, listed, and what is wrong with the command line.

unset NATS_URL
url=nats://127.0.0.1:1

# The server and the providers of a test.
end_all() {
    # shellcheck disable=SC2046 # numbers
    kill -9 $(jobs -p)
    wait
} 2>/dev/null
# nats [OPTION...]: a server on a free port that ends with the test; its address is in $url
nats() {
    command -v nats-server >/dev/null || skip 'no nats-server'
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    setpriv --pdeathsig KILL nats-server -a 127.0.0.1 -p "$port" "$@" >nats.log 2>&1 &
    trap end_all EXIT
    url=nats://127.0.0.1:$port
    for _ in $(seq 200); do
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
        sleep 0.05
    done
    fail 'no nats-server answers'
}
# provider NAME OPTION...: publishes in the background until the test ends
provider() {
    local name=$1
    shift
    setpriv --pdeathsig KILL "$SL_PROGRAM" pool publish --connector="$url" --pool="$name" --every=200ms "$@" \
        >"$name.out" 2>"$name.err" </dev/null &
}
# raw SUBJECT DATA: any bytes, as any client may publish them; again and again, in the background
raw() {
    setpriv --pdeathsig KILL python3 -c '
import socket, sys, time
port, subject, data = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3].encode()
s = socket.create_connection(("127.0.0.1", port))
s.sendall(b"CONNECT {}\r\n")
while True:
    s.sendall(b"PUB %s %d\r\n%s\r\n" % (subject, len(data), data))
    time.sleep(0.2)' "${url##*:}" "$1" "$2" >/dev/null 2>&1 </dev/null &
}

test_pool_help() {
    sluice pool --help
    exits 0 && quiet && says 'sluice pool publish --pool=NAME' && says '-o, --output=FORMAT' && says 'NATS_URL'
    sluice completion bash
    says 'publish list'
}
test_pool_misuse() {
    # words expected, then the command line
    while read -r words line; do
        # shellcheck disable=SC2086 # words of a command line
        sluice pool $line
        exits 2 && complains "${words//_/ }" && complains "try 'sluice pool --help'"
        case $err in *SECRET*) fail 'a secret is shown' ;; esac
    done <<LINES
publish|list --connector=$url
expected_publish_or_list send --connector=$url
expected_--connector=URL publish --pool=a --cpu=1
expected_--connector=URL list
--pods_is_only_valid_with list --connector=$url --pods=1
--output_is_only_valid_with publish --connector=$url --pool=a --cpu=1 -o json
expected_--pool=NAME publish --connector=$url --cpu=1
expected_what_the_pool_has publish --connector=$url --pool=a
found_'Ab' publish --connector=$url --pool=Ab --cpu=1
found_'a.b' publish --connector=$url --pool=a.b --cpu=1
quotas.cpu:_expected_a_quantity publish --connector=$url --pool=a --cpu=many
quotas.cpu:_expected_a_quantity publish --connector=$url --pool=a --cpu=-1
quotas.memory: publish --connector=$url --pool=a --memory=1Q
quotas.pods: publish --connector=$url --pool=a --pods=x
the_key_is_there_twice publish --connector=$url --pool=a --cpu=1 --resource=cpu=2
expected_NAME=QTY publish --connector=$url --pool=a --cpu=1 --resource=disk
expected_the_name_of_a_resource publish --connector=$url --pool=a --resource=a/b/c=1
labels[0] publish --connector=$url --pool=a --cpu=1 --label=-=-
labels[1] publish --connector=$url --pool=a --cpu=1 --label=a=b,c/d/e=f
taints[0] publish --connector=$url --pool=a --cpu=1 --taint=a=b
NoSchedule publish --connector=$url --pool=a --cpu=1 --taint=a=b:Never
more_than_7 publish --connector=$url --pool=a --cpu=1 --taint=$(printf 't%s=x:NoSchedule,' 1 2 3 4 5 6 7 8)
--count=0 publish --connector=$url --pool=a --cpu=1 --count=0
--count=x publish --connector=$url --pool=a --cpu=1 --count=x
--every publish --connector=$url --pool=a --cpu=1 --every=0s
--wait list --connector=$url --wait=soon
one_of_table,_json list --connector=$url --output=yaml
--subject: list --connector=$url --subject=a.*
--subject: publish --connector=$url --pool=a --cpu=1 --subject=a..b
--connector:_server_1 list --connector=nats://user:SECRET
WebSocket list --connector=wss://user:SECRET@host/path
LINES
}
test_pool_files() {
    sluice pool list --connector=$url --ca=nowhere.crt
    exits 3 && complains nowhere.crt
    echo nonsense >ca.crt
    sluice pool list --connector=$url --ca=ca.crt
    exits 3 && complains 'the CA is no PEM certificate'
    sluice pool list --connector=$url --creds=ca.crt
    exits 3 && complains 'expected a .creds text'
}
test_pool_nobody_there() {
    sluice pool list --connector=nats://user:SECRET@127.0.0.1:1 --wait=3s
    exits 4 && complains 'not connected: 127.0.0.1:1: Connection refused'
    case $err in *SECRET*) fail 'a secret is shown' ;; esac
    NATS_URL=127.0.0.1:1 sluice pool publish --pool=a --cpu=1 --count=1 --wait=3s
    exits 4 && complains 'Connection refused'
    [ -z "$out" ] || fail 'nothing was published'
}
test_pool_publish_once() {
    nats
    NATS_URL=$url sluice pool publish --pool=podman --cpu=85 --memory=1Ti --pods=123 --gpu=28 \
        --resource=example.com/disk=5T --label=site=firenze,x=y --taint=slurm=true:NoSchedule --count=1
    exits 0 && complains 'connected to 127.0.0.1'
    quotas='"quotas":{"cpu":"85","example.com/disk":"5T","memory":"1Ti","nvidia.com/gpu":28,"pods":123}'
    lists='"labels":["site=firenze","x=y"],"taints":["slurm=true:NoSchedule"]'
    same "$out" "interlink.resources.podman {$quotas,$lists}"
}
test_pool_publish_goes_on_until_it_is_stopped() {
    nats
    provider a --cpu=1
    local pid=$!
    for _ in $(seq 100); do
        [ "$(wc -l <a.out)" -ge 3 ] && break
        sleep 0.1
    done
    kill -INT $pid
    wait $pid
    code=$? out=$(cat a.out) err=$(cat a.err)
    cp a.out out && cp a.err err
    exits 0 && says 'interlink.resources.a {"quotas":{"cpu":"1"}'
    [ "$(wc -l <a.out)" -ge 3 ] || fail 'expected three messages'
}
test_pool_publish_counts() {
    nats
    sluice pool publish --connector="$url" --subject=x.y --pool=a --cpu=1 --every=100ms --count=3
    exits 0
    same "$(grep -c '^x.y.a ' out)" 3
}
# Stopped between two messages, and when nobody reads what it prints.
test_pool_publish_ends() {
    nats
    "$SL_PROGRAM" pool publish --connector="$url" --pool=a --cpu=1 --every=60s --count=5 >a.out 2>a.err &
    local pid=$!
    for _ in $(seq 100); do
        [ -s a.out ] && break
        sleep 0.1
    done
    kill -INT $pid
    wait $pid
    same $? 0
    timeout 20 "$SL_PROGRAM" pool publish --connector="$url" --pool=b --cpu=1 --every=100ms 2>b.err | head -n 1 >b.out
    same "${PIPESTATUS[0]}" 4
    same "$(wc -l <b.out)" 1
}
test_pool_publish_refused() {
    cat >nats.conf <<'CONF'
authorization { users: [ {user: u, password: p, permissions: {publish: "other.>"} } ] }
CONF
    nats -c nats.conf
    sluice pool publish --connector="${url/\/\//\/\/u:p@}" --pool=a --cpu=1 --count=1
    exits 4 && complains 'Permissions Violation' && complains 'the server refused it'
    same "$out" ''
    sluice pool publish --connector="${url/\/\//\/\/u:SECRET@}" --pool=a --cpu=1 --count=1 --wait=3s
    exits 4 && complains 'authorization failed'
    case $err in *SECRET*) fail 'a secret is shown' ;; esac
}
test_pool_list_shows_what_is_published() {
    nats
    provider podman --cpu=85 --memory=1Ti --pods=123 --gpu=28 --label=site=firenze --taint=a=b:NoSchedule
    provider slurm --cpu=1500m
    for _ in $(seq 100); do
        [ -s podman.out ] && [ -s slurm.out ] && break
        sleep 0.1
    done
    sluice pool list --connector="$url" --wait=2s
    exits 0
    [[ $out =~ ^POOL\ +CPU\ +MEMORY\ +PODS\ +GPU\ +LABELS\ +TAINTS\ +AGE ]] || fail 'no such table'
    [[ $out =~ podman\ +85\ +1Ti\ +123\ +28\ +site=firenze\ +a=b:NoSchedule\ +[0-9]s ]] || fail 'not podman'
    [[ $out =~ slurm\ +1500m\ +-\ +-\ +-\ +-\ +-\ +[0-9]s ]] || fail 'not slurm'
    COLUMNS=40 sluice pool list --connector="$url" --wait=2s
    exits 0 && fits 40 && says podman
    sluice pool list --connector="$url" --wait=2s -o json
    exits 0
    holds 'd["subject"] == "interlink.resources" and [p["name"] for p in d["pools"]] == ["podman", "slurm"]'
    holds 'd["pools"][0]["quotas"]["nvidia.com/gpu"] == "28" and d["pools"][0]["labels"] == {"site": "firenze"}'
    holds 'd["pools"][0]["taints"] == [{"key": "a", "value": "b", "effect": "NoSchedule"}]'
    holds 'd["pools"][1]["messages"] >= 1 and d["pools"][1]["ageSeconds"] < 2 and d["ignoredMessages"] == 0'
}
test_pool_list_shows_what_is_malformed() {
    nats
    raw interlink.resources.number '{"quotas":{"cpu":-1}}'
    raw interlink.resources.text 'no JSON'
    raw interlink.resources.half '{"quotas":{"cpu":"1"},"labels":["a b"]}'
    sluice pool list --connector="$url" --wait=3s
    exits 0 && says number && says text && says half
    complains 'number: malformed: quotas.cpu: ' && complains 'text: malformed: '
    complains 'half: 1 left out: labels[0] "a b"'
    sluice pool list --connector="$url" --wait=3s --output=json
    exits 0 && holds '[p["name"] for p in d["pools"]] == ["half", "number", "text"]'
    holds '"quotas.cpu" in d["pools"][1]["error"] and "a b" in d["pools"][0]["leftOut"]'
}
# A terminal would obey what is in such a name.
test_pool_list_of_strange_names() {
    nats
    raw "interlink.resources.$(printf '\033[31mred\007')" '{"quotas":{"cpu":"1"}}'
    raw "interlink.resources.$(printf '\033[32mgreen')" 'no JSON'
    sluice pool list --connector="$url" --wait=3s
    exits 0 && says '?[31mred?' && complains '?[32mgreen: malformed'
    ! grep -q "$(printf '\033')" out err
}
test_pool_list_of_nothing() {
    nats
    sluice pool list --connector="$url" --wait=2s
    exits 0 && complains 'no pool published on interlink.resources.*'
    [ -z "$out" ] || fail 'expected no table'
    sluice pool list --connector="$url" --wait=2s -o json
    exits 0 && holds 'd["pools"] == []'
}
