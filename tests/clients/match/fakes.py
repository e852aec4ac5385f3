"""An engine service that answers `go` as a test wants it to."""

from plyd.v1 import engine_pb2, engine_pb2_grpc, position_pb2, search_pb2


class Fake(engine_pb2_grpc.EngineServiceServicer):
    """Answers `go` as it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def Describe(self, request, context):  # noqa: N802
        return engine_pb2.DescribeResponse(daemon=engine_pb2.DaemonInfo(slots=2))

    def Search(self, request, context):  # noqa: N802
        return engine_pb2.SearchResponse(report=search_pb2.Report(final=True, move="1"))

    def Play(self, requests, context):  # noqa: N802
        for request in requests:
            if request.WhichOneof("command") == "go":
                yield self.answer(request.id, context)
            else:
                yield engine_pb2.PlayResponse(id=request.id, state=position_pb2.State())


def plays(move, stop_reason=search_pb2.STOP_REASON_NODES):
    """An answer with a move."""
    report = search_pb2.Report(final=True, move=move, stop_reason=stop_reason)
    return lambda number, context: engine_pb2.PlayResponse(id=number, report=report)
