import { parseJson } from './json.ts';
import { type ParsedDocument, parseYaml } from './yaml.ts';

/** The documents of a manifest, YAML or JSON; throws ParseError. */
export function parseManifest(text: string): readonly ParsedDocument[] {
  // Nearly all JSON is YAML too, but JSON.parse is a hundred times faster.
  const json = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  return json === undefined ? parseYaml(text) : [{ value: json, lineOf: () => undefined }];
}
