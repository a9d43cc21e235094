import { parseJson } from './json.ts';
import { type ParsedDocument, ParseError, parseYaml } from './yaml.ts';

/** The documents of a manifest, YAML or JSON; throws ParseError where one cannot be read. */
export function parseManifest(text: string): readonly ParsedDocument[] {
  return parseDocuments(text).map(document => {
    if (document instanceof ParseError) throw document;
    return document;
  });
}

/** The same, with the error in the place of a document that cannot be read. */
export function parseDocuments(text: string): readonly (ParsedDocument | ParseError)[] {
  try {
    // Nearly all JSON is YAML too, but JSON.parse is a hundred times faster.
    const json = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
    return json === undefined ? parseYaml(text) : [{ value: json, lineOf: () => undefined }];
  } catch (error) {
    if (error instanceof ParseError) return [error];
    throw error;
  }
}
