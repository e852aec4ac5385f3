"""The gRPC services, in the order a request meets them.

decoding          finds the handler of a call, refuses what may not come in; bytes <-> messages
context           CallContext: metadata, client, log fields and trace span of one call
call              what surrounds every call: request id, authentication, status, metrics, log line
engine_service    EngineService: Describe, Search, Analyze, Play, Evaluate
rules_service     RulesService: NewGame, Inspect, Apply
play_stream       one game on a Play stream; evaluate_stream the batches of an Evaluate stream
limits            reads and checks the limits of a request
messages          engines' values -> messages; status errors -> gRPC statuses
"""
