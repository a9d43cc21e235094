import { Churn } from './churn.ts';
import { seed } from './seed.ts';
import { Storm } from './storm.ts';

/** A storm whose agent has followed some changes, while real packets are sent. */
export async function beginBlown(): Promise<{ readonly storm: Storm; readonly churn: Churn }> {
  const storm = await Storm.begin();
  const churn = new Churn(storm.api, seed);
  await storm.startAgent().inForce();
  await churn.begin();
  await churn.blow(60);
  await storm.calm();
  await storm.startProbing();
  return { storm, churn };
}
