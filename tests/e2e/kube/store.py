# SPDX-License-Identifier: Apache-2.0
"""Objects straight into etcd, as the API server stores them: a hundred thousand in a minute instead of half an hour.

A template is made through the API, so that it is defaulted, validated and has managed fields like any other; its
bytes are then read from etcd and put again under other names. Whatever the encoding: marks are replaced by text of
the same length, so the lengths that protobuf writes down stay true.

    template = store.template("/registry/pods/team-0ns/pod-0number", uid)
    store.fill(lambda n: template.copy({"0number": f"{n:07}"}), count)
"""

import base64
import concurrent.futures
import http.client
import json
import uuid

BATCH = 100  # puts of one transaction; etcd takes 128, and 1.5 MiB


def b64(data):
    return base64.b64encode(data).decode()


class Template:
    """The stored bytes of one object, by key."""

    def __init__(self, key, value, uid):
        self.key, self.value, self.uid = key.encode(), value, uid.encode()

    def copy(self, marks):
        """Key and value of another object: every mark replaced, and an identity of its own."""
        key, value = self.key, self.value.replace(self.uid, str(uuid.uuid4()).encode())
        for mark, text in marks.items():
            if len(mark) != len(text):
                raise ValueError(f"{text} is not as long as {mark}")
            key, value = (x.replace(mark.encode(), text.encode()) for x in (key, value))
        return key, value


class Entry:
    """What is stored at a key."""

    def __init__(self, version, value):
        self.version, self.value = version, value


class Store:
    """The etcd of a cluster, through its JSON gateway."""

    def __init__(self, cluster):
        self.port = cluster.ports["etcd"]

    def _ask(self, connection, what, body):
        connection.request("POST", f"/v3/kv/{what}", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"etcd: {what}: {answer.status} {text[:300]}")
        return json.loads(text)

    def _connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def template(self, key, uid):
        """Takes an object out of the store."""
        connection = self._connect()
        where = json.dumps({"key": b64(key.encode())})
        found = self._ask(connection, "range", where).get("kvs")
        if not found:
            raise RuntimeError(f"{key} is not in etcd")
        self._ask(connection, "deleterange", where)
        connection.close()
        return Template(key, base64.b64decode(found[0]["value"]), uid)

    def all(self, values=False):
        """Everything, by key; without values only the versions."""
        connection, all_keys = self._connect(), b64(b"\0")
        found = self._ask(
            connection, "range", json.dumps({"key": all_keys, "range_end": all_keys, "keys_only": not values})
        )
        connection.close()
        return {
            base64.b64decode(kv["key"]).decode(): Entry(kv["mod_revision"], base64.b64decode(kv.get("value", "")))
            for kv in found.get("kvs", [])
        }

    def put(self, key, value):
        """Returns its version."""
        connection = self._connect()
        done = self._ask(connection, "put", json.dumps({"key": b64(key.encode()), "value": b64(value)}))
        connection.close()
        return done["header"]["revision"]

    def delete_all(self, keys):
        connection = self._connect()
        for at in range(0, len(keys), BATCH):
            deletes = [{"requestDeleteRange": {"key": b64(key.encode())}} for key in keys[at : at + BATCH]]
            self._ask(connection, "txn", json.dumps({"success": deletes}))
        connection.close()

    def delete(self, prefix):
        """Removes everything whose key begins so."""
        first = prefix.encode()
        connection = self._connect()
        self._ask(
            connection,
            "deleterange",
            json.dumps({"key": b64(first), "range_end": b64(first[:-1] + bytes([first[-1] + 1]))}),
        )
        connection.close()

    def fill(self, make, count, connections=4):
        """Puts make(n), a key and a value, for all n below count. Returns how many bytes that were."""

        def some(first):
            connection, size = self._connect(), 0
            for at in range(first * BATCH, count, connections * BATCH):
                pairs = [make(n) for n in range(at, min(at + BATCH, count))]
                size += sum(len(value) for _, value in pairs)
                self._ask(
                    connection,
                    "txn",
                    '{"success":['
                    + ",".join(
                        f'{{"requestPut":{{"key":"{b64(key)}","value":"{b64(value)}"}}}}' for key, value in pairs
                    )
                    + "]}",
                )
            connection.close()
            return size

        with concurrent.futures.ThreadPoolExecutor(connections) as pool:
            return sum(pool.map(some, range(connections)))
