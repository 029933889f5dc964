# SPDX-License-Identifier: Apache-2.0
"""What a Ray head says of its jobs, since no pod here runs Ray. KubeRay asks it as its proxy for HTTP, whatever the
address of the head is.

    with raydashboard.served() as environment:      # of the operator

A job whose entry point is `sleep N` has succeeded N seconds after it was submitted.
"""

import contextlib
import http.server
import json
import re
import threading
import time

JOB = re.compile(r"http://([^/]+)/api/jobs/([^/]*)")


class Dashboard(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.jobs = {}  # (host, id): what was submitted, and when
        self.guard = threading.Lock()


class Answer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def _say(self, thing, status=200):
        text = json.dumps(thing).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        with self.server.guard:
            job = self.server.jobs.get(JOB.match(self.path).groups())
        if not job:
            return self._say({}, 404)
        over = time.time() > job["began"] + float(job["entrypoint"].split()[-1])
        said = {"status": "SUCCEEDED" if over else "RUNNING", "start_time": int(job["began"] * 1000)}
        if over:
            said["end_time"] = int(time.time() * 1000)
        return self._say({**said, "submission_id": job["submission_id"], "entrypoint": job["entrypoint"]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        host, stopped = JOB.match(self.path).groups()
        with self.server.guard:
            if stopped:
                return self._say({"stopped": self.server.jobs.pop((host, stopped), None) is not None})
            job = json.loads(body)
            self.server.jobs[host, job["submission_id"]] = {**job, "began": time.time()}
        return self._say({"job_id": job["submission_id"], "submission_id": job["submission_id"]})


@contextlib.contextmanager
def served():
    with Dashboard() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield {"HTTP_PROXY": f"http://127.0.0.1:{server.server_address[1]}"}
        finally:
            server.shutdown()
