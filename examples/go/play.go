// Plays a game of 2584 on 2x3 to its end with a plyd daemon, then follows one analysis:   ./play [ADDRESS]
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	plyd "plyd/v1"
)

const game = "2584-2x3"

// codec writes and reads messages. Debian 12's gRPC is built with an older protobuf, which cannot read those of today;
// a gRPC that is built with google.golang.org/protobuf needs neither this nor ForceCodec.
type codec struct{}

func (codec) Marshal(message interface{}) ([]byte, error) {
	return proto.Marshal(message.(proto.Message))
}

func (codec) Unmarshal(data []byte, message interface{}) error {
	return proto.Unmarshal(data, message.(proto.Message))
}

func (codec) Name() string { return "proto" }

func main() {
	address := "127.0.0.1:25840"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if err := run(address); err != nil {
		fmt.Fprintf(os.Stderr, "%s: status %d: %s\n", address, status.Code(err), status.Convert(err).Message())
		os.Exit(1)
	}
}

func run(address string) error {
	channel, err := grpc.Dial(address, grpc.WithInsecure(), grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{})))
	if err != nil {
		return err
	}
	defer channel.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // for everything; a call may have its own
	defer cancel()
	engine := plyd.NewEngineServiceClient(channel)
	if err := play(ctx, plyd.NewRulesServiceClient(channel), engine); err != nil {
		return err
	}
	return analyze(ctx, engine)
}

// play is NewGame, then Search and Apply until no move is left. The rules are the daemon's; none are here.
func play(ctx context.Context, rules plyd.RulesServiceClient, engine plyd.EngineServiceClient) error {
	// Without history, states hold the board instead of all moves: each call costs the same.
	begun, err := rules.NewGame(ctx, &plyd.NewGameRequest{Game: game, Seed: proto.Uint64(1), WithoutHistory: true})
	if err != nil {
		return err
	}
	state := begun.State
	for len(state.LegalMoves) > 0 {
		limits := &plyd.Limits{MoveTimeMs: proto.Uint32(100)}
		answer, err := engine.Search(ctx, &plyd.SearchRequest{Position: state.Position, Limits: limits})
		if err != nil {
			return err
		}
		after, err := rules.Apply(ctx, &plyd.ApplyRequest{
			Position:       state.Position,
			Moves:          []string{answer.Report.GetMove()},
			WithChance:     true, // a tile drops after the move
			Seed:           proto.Uint64(1),
			WithoutHistory: true,
		})
		if err != nil {
			return err
		}
		state = after.State
	}
	fmt.Printf("%s\n%g points in %d moves\n", state.Picture, state.Points, state.Plies)
	return nil
}

// analyze prints reports as the search deepens; the last one, and only the last, is final.
func analyze(ctx context.Context, engine plyd.EngineServiceClient) error {
	reports, err := engine.Analyze(ctx, &plyd.AnalyzeRequest{
		Position: &plyd.Position{Game: game, Start: "b 2 2 0 0 0 0"},
		Limits:   &plyd.Limits{Depth: proto.Uint32(4)},
		Options:  map[string]string{"method": "expectimax"},
	})
	if err != nil {
		return err
	}
	for {
		answer, err := reports.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		report, end := answer.Report, ""
		if report.Final {
			end = ", final"
		}
		fmt.Printf("depth %d: %s, %.6g%s\n", report.Depth, report.GetMove(), report.Score.GetExpectedPoints(), end)
	}
}
