// Asks a plyd daemon about positions of 2584 on 2x3:   node solve.mjs [ADDRESS] "b 2 2 0 0 0 0" ...
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const [first = "", ...rest] = process.argv.slice(2);
const [address, positions] = first.includes(":") ? [first, rest] : ["127.0.0.1:25840", [first, ...rest]];
const game = "2584-2x3";

const protos = fileURLToPath(new URL("../../../proto", import.meta.url));
const schema = loadSync("plyd/v1/engine.proto", { includeDirs: [protos], enums: String, longs: Number, oneofs: true });
const { EngineService } = grpc.loadPackageDefinition(schema).plyd.v1;
const engine = new EngineService(address, grpc.credentials.createInsecure());

const call = (method, request) => promisify(engine[method].bind(engine))(request, within(5));
const within = (seconds) => ({ deadline: Date.now() + 1000 * seconds });
const digits = (value) => Number(value.toPrecision(10));
const valueOf = ({ value, expectedPoints }) => (value === "expectedPoints" ? digits(expectedPoints) : value);

try {
  // Describe: the daemon and its engines.
  const { engines, daemon } = await call("describe", { game });
  console.log(`${engines[0].title} by plyd ${daemon.version}: ${engines[0].summary}`);

  for (const start of positions) {
    // Search: one position, one move, within 100 ms.
    const { report } = await call("search", { position: { game, start }, limits: { moveTimeMs: 100 } });
    console.log(`search ${start}: ${report.move ?? "no move"}, ${valueOf(report.score)}`);

    // Analyze: reports as the search deepens; the last one, and only the last, is final.
    const question = { position: { game, start }, limits: { depth: 4 }, options: { method: "expectimax" } };
    for await (const { report } of engine.analyze(question, within(5))) {
      const { move = "no move", depth = 0, score, final } = report;
      console.log(`analyze ${start}: ${move}, ${valueOf(score)} at depth ${depth}${final ? ", final" : ""}`);
    }
  }

  // Evaluate: a stream of batches, one position per line; one response for each batch, in order.
  const batches = engine.evaluate(within(30));
  batches.write({ game, lines: Buffer.from(positions.join("\n")), withMoves: true });
  batches.end();
  for await (const { values, moves } of batches) {
    values.forEach((value, i) => console.log(`evaluate ${positions[i]}: ${moves[i] || "no move"}, ${digits(value)}`));
  }
} catch (error) {
  console.error(`${grpc.status[error.code] ?? error.name}: ${error.details ?? error.message}`);
  process.exitCode = 1;
} finally {
  engine.close();
}
