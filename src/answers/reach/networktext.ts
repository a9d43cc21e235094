/** Regions as the networks that they are: what is left of a family once all networks of policies are taken is the internet. */
import { cidrText, type Family } from '../../model/address.ts';
import { cidrsOf } from '../../model/ranges.ts';
import type { Ends } from './place.ts';
import type { Reach } from './reach.ts';

export const INTERNET_TEXT = 'internet';

/** `10.0.0.0/8`, `internet`; of the regions of a place, each once. */
export function networkText({ families }: Reach, regions: Ends): string[] {
  const names = (Object.entries(regions) as [Family, number][]).flatMap(([family, region]) => {
    const { all, largest } = families[family].ends.regions;
    return region === largest
      ? [INTERNET_TEXT]
      : all[region]!.addresses.flatMap(range => cidrsOf({ family, ...range }).map(cidrText));
  });
  return [...new Set(names)];
}
