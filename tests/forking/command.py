"""Stands where the installed command would: has a fork server run it, on this process's streams, and ends as it does.

Called with the server's address and the command's arguments. It must start fast, so it imports nothing but what the
interpreter has built in.
"""

import _signal
import _socket
import marshal
import os
import sys

PASSED_ON = (_signal.SIGINT, _signal.SIGTERM)
STREAMS = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))

server = _socket.socket(_socket.AF_UNIX)
server.connect(sys.argv[1])
call = marshal.dumps((sys.argv[2:], dict(os.environ), os.getcwd()))
_signal.pthread_sigmask(_signal.SIG_BLOCK, PASSED_ON)  # whoever sees the command at work may send one already
server.sendmsg([len(call).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, STREAMS)])
server.sendall(call)
for number in PASSED_ON:
    _signal.signal(number, lambda number, _: server.sendall(bytes([number])))
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, PASSED_ON)
code = int.from_bytes(server.recv(4), "big", signed=True)
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
