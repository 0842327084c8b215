# SPDX-License-Identifier: Apache-2.0
"""fleet_cluster - ClickHouse servers of two shards with two replicas each, and their ZooKeeper.

All of them run on loopback, in a folder.  ZooKeeper comes from Debian's jars: installed, or below
the folder that ZOOKEEPER_JARS names (script/zookeeper).
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

SHARDS, REPLICAS = 2, 2
JARS = ("zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-nop", "snappy-java", "metrics-core")
WAIT = 120


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def find_jars():
    """The class path, or None."""
    for folder in (os.environ.get("ZOOKEEPER_JARS", ""), "/usr/share/java"):
        paths = [os.path.join(folder, name + ".jar") for name in JARS]
        if folder and all(map(os.path.exists, paths)):
            return ":".join(paths)
    return None


def lacks():
    """Names a program that is missing, or None."""
    if shutil.which("clickhouse-server") is None:
        return "no clickhouse-server here"
    if shutil.which("java") is None or find_jars() is None:
        return "no ZooKeeper here: script/zookeeper fetches it"
    return None


class Server:
    """One replica of one shard."""

    def __init__(self, folder, shard, replica):
        self.folder, self.shard, self.replica = folder, shard, replica
        self.http, self.tcp, self.interserver = free_port(), free_port(), free_port()
        self.process = None

    def url(self):
        return f"http://127.0.0.1:{self.http}"

    def write_config(self, servers, keeper):
        os.makedirs(os.path.join(self.folder, "data"))
        shards = ""
        for shard in range(1, SHARDS + 1):
            shards += "<shard><internal_replication>true</internal_replication>" + "".join(
                f"<replica><host>127.0.0.1</host><port>{one.tcp}</port></replica>"
                for one in servers if one.shard == shard) + "</shard>"
        with open(os.path.join(self.folder, "config.xml"), "w", encoding="utf-8") as file:
            file.write(f"""<yandex><logger><level>warning</level><log>{self.folder}/log</log>
<errorlog>{self.folder}/errors</errorlog><size>10M</size><count>1</count></logger>
<path>{self.folder}/data/</path><tmp_path>{self.folder}/data/tmp/</tmp_path>
<users_config>{self.folder}/users.xml</users_config><listen_host>127.0.0.1</listen_host>
<http_port>{self.http}</http_port><tcp_port>{self.tcp}</tcp_port>
<interserver_http_port>{self.interserver}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host><default_profile>default</default_profile>
<default_database>default</default_database><timezone>UTC</timezone><mark_cache_size>5242880</mark_cache_size>
<mlock_executable>false</mlock_executable><max_concurrent_queries>32</max_concurrent_queries>
<zookeeper><node><host>127.0.0.1</host><port>{keeper}</port></node>
<session_timeout_ms>3000</session_timeout_ms></zookeeper>
<macros><shard>{self.shard}</shard><replica>{self.replica}</replica></macros>
<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
<remote_servers><main>{shards}</main></remote_servers></yandex>""")
        with open(os.path.join(self.folder, "users.xml"), "w", encoding="utf-8") as file:
            file.write("""<yandex><profiles><default><log_queries>0</log_queries></default></profiles><users><default>
<password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
</default></users><quotas><default></default></quotas></yandex>""")

    def start(self):
        if self.process is not None:
            return
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen(["clickhouse-server", f"--config-file={self.folder}/config.xml"],
                                            stdout=output, stderr=output)

    def kill(self, number=signal.SIGKILL):
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(60)
            self.process = None

    def ask(self, statement):
        request = urllib.request.Request(self.url(), data=statement.encode())
        with urllib.request.urlopen(request, timeout=60) as reply:
            return [line.split("\t") for line in reply.read().decode().splitlines()]

    def is_up(self):
        with contextlib.suppress(OSError, urllib.error.URLError):
            return bool(self.ask("SELECT 1"))
        return False


class Cluster:
    """All servers; start() returns whether all came up."""

    def __init__(self, folder):
        self.folder = folder
        self.keeper_port = free_port()
        self.keeper = None
        self.servers = [Server(os.path.join(folder, f"s{shard}r{replica}"), shard, replica)
                        for shard in range(1, SHARDS + 1) for replica in range(1, REPLICAS + 1)]
        os.makedirs(os.path.join(folder, "keeper"))
        with open(os.path.join(folder, "zoo.cfg"), "w", encoding="utf-8") as file:
            file.write(f"tickTime=500\ndataDir={folder}/keeper\nclientPort={self.keeper_port}\n"
                       "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n")
        for server in self.servers:
            server.write_config(self.servers, self.keeper_port)

    def start(self):
        with open(os.path.join(self.folder, "keeper.log"), "ab") as log:
            self.keeper = subprocess.Popen(
                ["java", "-Xmx128m", "-Dzookeeper.admin.enableServer=false", "-cp", find_jars(),
                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", os.path.join(self.folder, "zoo.cfg")],
                stdout=log, stderr=log)
        for _ in range(WAIT * 10):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.keeper_port)) as one:
                one.sendall(b"srvr")
                if b"Mode" in one.recv(65536):
                    break
            time.sleep(0.1)
        for server in self.servers:
            server.start()
        return self.is_up()

    def is_up(self):
        for _ in range(WAIT * 10):
            if all(server.is_up() for server in self.servers):
                return True
            time.sleep(0.1)
        return False

    def of(self, shard):
        return [server for server in self.servers if server.shard == shard]

    def stop(self):
        for server in self.servers:
            server.kill()
        if self.keeper is not None:
            self.keeper.kill()
            self.keeper.wait()
