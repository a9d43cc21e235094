/** A value as YAML that a terminal may show: what does not show itself is escaped, as in our JSON. */
import { Document, Scalar, visit } from 'yaml';
import { isPrintable, printableJsonText } from './printable.ts';

/** What has no place in JSON has none here. */
export function yamlText(value: unknown): string {
  const document = new Document(JSON.parse(JSON.stringify(value)));
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string' && !isPrintable(node.value)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  const lines = document.toString({ lineWidth: 0 }).split('\n');
  return lines.map(printableJsonText).join('\n');
}
