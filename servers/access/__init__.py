"""Access: where a daemon listens, who may call, and how much each client may use.

addresses    HOST:PORT and unix:PATH, read and checked
port_holder  which process has a port
tls          certificates, read again when they change
auth         which client makes a call: by token, certificate or host
quotas       what one client may use at the same time
memory       what searchers hold, and who gives it up when others need it
"""
