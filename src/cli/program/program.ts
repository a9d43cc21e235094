import { Command } from 'commander';
import { boundedText } from '../../lib/text/boundedtext.ts';
import { writeHelp, writeUsageError } from '../../terminal/help.ts';
import { addAbout } from './about.ts';
import { addAgent } from './agent.ts';
import { addDrops, addFlows, addNode, addReadback } from './node.ts';
import type { NodeActions } from './nodeactions.ts';
import { addCheck, addClusterCommands, addCoverage, addExplain } from './questions.ts';
import { addRecording } from './recording.ts';
import { COMMIT, VERSION } from './version.ts';

/** All commands: first the questions, which run anywhere, then those of a node. */
export function makeProgram(actions: NodeActions): Command {
  const sluice = new Command('sluice')
    .description('Kubernetes network policy on nftables: enforced by the node, explained to people')
    .version(COMMIT === undefined ? VERSION : `${VERSION} (${COMMIT})`)
    .showHelpAfterError(helpHint('sluice'))
    .configureOutput({
      writeOut: writeHelp,
      writeErr: writeUsageError,
      outputError: (text, write) => write(`${boundedText(text).trimEnd()}\n`),
    })
    .exitOverride();
  addExplain(sluice);
  addCheck(sluice);
  addCoverage(sluice);
  addClusterCommands(sluice);
  addAgent(sluice, actions);
  addReadback(sluice, actions);
  addDrops(sluice, actions);
  addFlows(sluice, actions);
  addRecording(sluice, actions);
  addNode(sluice, actions);
  addAbout(sluice);
  for (const command of sluice.commands) command.showHelpAfterError(helpHint(`sluice ${command.name()}`));
  return sluice;
}

function helpHint(command: string): string {
  return `(run ${command} --help for more)`;
}
