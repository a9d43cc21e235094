/** A process of an unprivileged user: makes every request to an agent's socket, and prints the answers. */
import { connectAgent } from '../../../src/api/rpc/client.ts';

const NOBODY = 65_534;
const [socket] = process.argv.slice(2) as [string];
const agent = connectAgent(socket); // its files are read here, by who may; it connects when it is asked
process.setgroups!([]);
process.setgid!(NOBODY);
process.setuid!(NOBODY);

const answers: string[] = [];
const refused: Record<string, string> = {};

async function ask(what: string, answer: AsyncIterable<unknown> | Promise<unknown>): Promise<void> {
  try {
    if (Symbol.asyncIterator in answer) for await (const each of answer) answers.push(JSON.stringify(each));
    else answers.push(JSON.stringify(await answer));
  } catch (error) {
    refused[what] = (error as Error).message;
  }
}

await ask('drops', agent.drops(false));
await ask('flows', agent.flows(AbortSignal.timeout(5_000)));
await ask('status', agent.status());
await ask('state', agent.state());
await ask('connections', agent.connections());
await ask('names', agent.names());
agent.close();
console.log(JSON.stringify({ answers, refused }));
