// Plays a game of 2584 on 2x3 to its end with a plyd daemon, then follows one analysis:   ./play [ADDRESS]
#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include <grpcpp/grpcpp.h>

#include "plyd/v1/engine.grpc.pb.h"
#include "plyd/v1/rules.grpc.pb.h"

namespace {

const std::string kGame = "2584-2x3";

// One call's context: it ends after some seconds, whatever happens.
struct Within : grpc::ClientContext {
  explicit Within(int seconds) { set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds)); }
};

// Throws what a call that failed has to say.
void check(const grpc::Status& status) {
  if (!status.ok())
    throw std::runtime_error("status " + std::to_string(status.error_code()) + ": " + status.error_message());
}

// NewGame, then Search and Apply until no move is left. The rules are the daemon's; none are here.
void play(plyd::v1::RulesService::Stub& rules, plyd::v1::EngineService::Stub& engine) {
  plyd::v1::NewGameRequest start;
  start.set_game(kGame);
  start.set_seed(1);
  start.set_without_history(true);  // states hold the board instead of all moves: each call costs the same
  plyd::v1::NewGameResponse begun;
  Within newGame(60);  // a daemon that has just started may still compile
  check(rules.NewGame(&newGame, start, &begun));

  plyd::v1::State state = begun.state();
  while (state.legal_moves_size() > 0) {
    plyd::v1::SearchRequest question;
    *question.mutable_position() = state.position();
    question.mutable_limits()->set_move_time_ms(100);
    plyd::v1::SearchResponse answer;
    Within search(60);
    check(engine.Search(&search, question, &answer));

    plyd::v1::ApplyRequest move;
    *move.mutable_position() = state.position();
    move.add_moves(answer.report().move());
    move.set_with_chance(true);  // a tile drops after the move
    move.set_seed(1);
    move.set_without_history(true);
    plyd::v1::ApplyResponse after;
    Within apply(60);
    check(rules.Apply(&apply, move, &after));
    state = after.state();
  }
  std::cout << state.picture() << '\n' << state.points() << " points in " << state.plies() << " moves\n";
}

// Analyze: reports as the search deepens; the last one, and only the last, is final.
void analyze(plyd::v1::EngineService::Stub& engine) {
  plyd::v1::AnalyzeRequest question;
  question.mutable_position()->set_game(kGame);
  question.mutable_position()->set_start("b 2 2 0 0 0 0");
  question.mutable_limits()->set_depth(4);
  (*question.mutable_options())["method"] = "expectimax";
  Within analysis(60);
  const auto reports = engine.Analyze(&analysis, question);
  for (plyd::v1::AnalyzeResponse answer; reports->Read(&answer);) {
    const auto& report = answer.report();
    std::cout << "depth " << report.depth() << ": " << report.move() << ", " << report.score().expected_points()
              << (report.final() ? ", final\n" : "\n");
  }
  check(reports->Finish());
}

}  // namespace

int main(int count, char** arguments) {
  const std::string address = count > 1 ? arguments[1] : "127.0.0.1:25840";
  try {
    const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    const auto rules = plyd::v1::RulesService::NewStub(channel);
    const auto engine = plyd::v1::EngineService::NewStub(channel);
    play(*rules, *engine);
    analyze(*engine);
  } catch (const std::exception& error) {
    std::cerr << address << ": " << error.what() << '\n';
    return 1;
  }
}
