# SPDX-License-Identifier: Apache-2.0
"""A page of Chromium, driven through its debugging pipe: no driver, no network.

    with Browser("/usr/bin/chromium") as browser:
        browser.open("file:///usr/libexec/valgrind/dh_view.html")
        browser.choose_file("input[type=file]", path)
        browser.wait("document.body.innerText.includes('Total')")
        text = browser.value("document.body.innerText")
"""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--allow-file-access-from-files",
    # There is no GPU; what draws by WebGL draws in software.
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    # Only this machine can be reached.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


class Browser:
    def __init__(self, program, *flags, patience_s=180):
        self.patience_s = patience_s
        self.folder = pathlib.Path(tempfile.mkdtemp())
        commands_in, self.commands = os.pipe()
        self.answers, answers_out = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands_in} 4>&{answers_out}', "browser", program,
             *FLAGS, *flags, "--remote-debugging-pipe", f"--user-data-dir={self.folder}",
             "about:blank"],
            pass_fds=(commands_in, answers_out), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(commands_in)
        os.close(answers_out)
        self.number = 0
        self.session = None
        self.rest = b""

    def __enter__(self):
        try:
            target = self.command("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.command("Target.attachToTarget", targetId=target,
                                        flatten=True)["sessionId"]
            self.command("Page.enable")
            self.command("Runtime.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise RuntimeError("the browser does not answer")
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def command(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        until = time.monotonic() + self.patience_s
        while True:
            message = self.message(until)
            if message.get("method") == "Page.javascriptDialogOpening":
                raise RuntimeError(f"the page says: {message['params']['message']}")
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]

    def open(self, url):
        self.command("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression):
        result = self.command("Runtime.evaluate", expression=expression, returnByValue=True,
                              awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description"))
        return result["result"].get("value")

    def wait(self, expression):
        until = time.monotonic() + self.patience_s
        while True:
            try:
                if self.value(expression):
                    return
            except RuntimeError as error:
                if "ended" in str(error) or "says" in str(error):
                    raise
            if time.monotonic() > until:
                raise RuntimeError(f"never: {expression}")
            time.sleep(0.1)

    def choose_file(self, selector, path):
        root = self.command("DOM.getDocument")["root"]["nodeId"]
        node = self.command("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.command("DOM.setFileInputFiles", nodeId=node, files=[str(path)])
