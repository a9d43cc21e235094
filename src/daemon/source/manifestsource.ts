/** The state of a folder of manifests. */
import { access } from 'node:fs/promises';
import type { Logger } from 'pino';
import { readFailure } from '../../inputs/folder/folder.ts';
import { type ManifestWatch, watchManifests } from '../../inputs/folder/source.ts';
import { aborted } from '../../lib/async/aborted.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { type AgentSource, reportToBoth, type SourceNeeds } from './agentsource.ts';

export async function openManifests(
  root: string,
  { onEvents, watcher, services, log }: SourceNeeds,
): Promise<AgentSource> {
  await access(root).catch(error => {
    throw new CommandError(`cannot read --manifests ${root}: it ${readFailure(error)}`);
  });
  services?.onSource({ source: 'Service', state: 'absent', reason: NO_SERVICES });
  const onProblems = reportToBoth(watcher, log);
  const watch = watchManifests(root, { onEvents, onProblems });
  return {
    wasReadWithin: () => false,
    mayStart: stop => wholeOrNothingToLose(watch, log, stop),
    synced: watch.ready.then(() => {}),
    report: () => {},
    reportNode: () => {},
    close: () => watch.close(),
  };
}

const NO_SERVICES = 'the agent reads them from an API server only, not from manifests';

/**
 * Waits until the manifests may replace the rules in force. A file that cannot be read at the start may have contained
 * a deny that the previous agent enforced: its rules stay until the file can be read. If there are no rules, the
 * readable files are used at once.
 */
async function wholeOrNothingToLose(source: ManifestWatch, log: Logger, stop: AbortSignal): Promise<void> {
  const { complete } = await source.ready;
  if (complete) return;
  const { readRulesInForce } = await import('./startcondition.ts');
  if ((await readRulesInForce()).tables.size === 0) return;
  log.error({}, 'some manifests cannot be read yet; the rules in force stay as they are until they can');
  await Promise.race([source.whole, aborted(stop)]);
}
