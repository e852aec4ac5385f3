"""Bridges to hosts that run players:

arena2584   `plyd arena`, for a referee of 2584 on stdin and stdout
referee_cli `plyd arena --referee`: other programs play for us; referee2584 has its rules, program its processes
kaggle/     an agent for Kaggle's ConnectX
course/     a C library for the course's Connect Four judge (`make course`)
node/       a client in JavaScript, with the stock gRPC packages
"""
