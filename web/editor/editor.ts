/**
 * The editor of one manifest at a time: CodeMirror in a shadow root, whose styles are constructed sheets, so that the
 * page's policy needs to allow no inline style.
 */
import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension, Text } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Problem } from '../../src/model/problem.ts';
import { printable } from '../../src/terminal/printable.ts';
import type { Vocabulary } from '../core/protocol.ts';
import { completions } from './completions.ts';
import { YAML } from './yamlcolours.ts';

interface Heard {
  /** The text, at each change that a person makes. */
  readonly typed: (name: string, text: string) => void;
  /** The line of the cursor. */
  readonly moved: (line: number) => void;
}

export class ManifestEditor {
  readonly #view: EditorView;
  readonly #heard: Heard;
  /** States by file, so that each keeps its own history and place. */
  readonly #states = new Map<string, EditorState>();
  #name = '';
  #text: { readonly doc: Text; readonly text: string } = { doc: Text.empty, text: '' };
  #vocabulary: Vocabulary | undefined;

  constructor(host: HTMLElement, heard: Heard) {
    this.#heard = heard;
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    this.#view = new EditorView({ parent: root, root, state: this.#stateOf('') });
  }

  /** Shows a file. The text counts where it is not what was typed last: it was changed elsewhere. */
  show(name: string, text: string): void {
    if (name !== this.#name) {
      if (this.#name !== '') this.#states.set(this.#name, this.#view.state);
      this.#name = name;
      this.#view.setState(this.#states.get(name) ?? this.#stateOf(text));
      this.#tellLine();
    }
    const { doc } = this.#view.state;
    if (this.#textOf(doc) === text) return;
    this.#view.dispatch({ changes: { from: 0, to: doc.length, insert: text }, userEvent: 'replaced' });
  }

  setProblems(problems: readonly Problem[]): void {
    const { doc } = this.#view.state;
    const diagnostics = problems.map(({ severity, line = 1, field, object, message, effect }): Diagnostic => {
      const { from, to, text } = doc.line(Math.min(Math.max(1, line), doc.lines));
      const start = from + (text.length - text.trimStart().length);
      return {
        from: Math.min(start, to),
        to,
        severity,
        message: `${field ?? object ?? ''} ${message}; ${effect}`.trim(),
      };
    });
    this.#view.dispatch(setDiagnostics(this.#view.state, diagnostics));
  }

  setVocabulary(vocabulary: Vocabulary | undefined): void {
    if (vocabulary !== undefined) this.#vocabulary = vocabulary;
  }

  setTheme(theme: 'light' | 'dark'): void {
    this.#view.dom.dataset.theme = theme;
  }

  goTo(line: number, isQuiet = false): void {
    const { doc } = this.#view.state;
    const { from } = doc.line(Math.min(Math.max(1, line), doc.lines));
    this.#view.dispatch({
      selection: { anchor: from },
      effects: EditorView.scrollIntoView(from, { y: 'center' }),
    });
    if (!isQuiet) this.#view.focus();
  }

  close(): void {
    this.#view.destroy();
  }

  /** The text is kept, because joining the lines of a large document takes time. */
  #textOf(doc: Text): string {
    if (this.#text.doc !== doc) this.#text = { doc, text: doc.toString() };
    return this.#text.text;
  }

  #tellLine(): void {
    const { doc, selection } = this.#view.state;
    this.#heard.moved(doc.lineAt(selection.main.head).number);
  }

  #stateOf(text: string): EditorState {
    const listener = EditorView.updateListener.of(({ docChanged, selectionSet, transactions, state }) => {
      const isTyped = docChanged && !transactions.some(each => each.isUserEvent('replaced'));
      if (isTyped) this.#heard.typed(this.#name, this.#textOf(state.doc));
      if (isTyped) this.#view.setTabFocusMode(false);
      if (docChanged || selectionSet) this.#tellLine();
    });
    const completion = autocompletion({ override: [context => completions(context, this.#vocabulary)] });
    return EditorState.create({ doc: text, extensions: [EXTENSIONS, completion, listener] });
  }
}

/** Colours are the page's own: custom properties reach into the shadow root. */
const THEME = EditorView.theme({
  '&': { height: '100%', fontSize: '12.5px', color: 'var(--text)', backgroundColor: 'var(--ground)' },
  // Above the line numbers, which would cover an outline.
  '&.cm-focused': { outline: 'none' },
  '&.cm-focused::after': {
    content: '""',
    position: 'absolute',
    inset: '0',
    zIndex: '300',
    border: '2px solid var(--accent)',
    pointerEvents: 'none',
  },
  '.cm-scroller': {
    fontFamily: 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace',
    lineHeight: '1.55',
  },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--ground)', color: 'var(--faint)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--raised)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'var(--chosen)',
  },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-specialChar': { color: 'var(--bad)', fontWeight: 'bold' },
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--code-key)' },
  { tag: [tags.string, tags.content], color: 'var(--text)' },
  { tag: tags.comment, color: 'var(--faint)', fontStyle: 'italic' },
  { tag: [tags.meta, tags.separator, tags.punctuation], color: 'var(--faint)' },
]);

/** As the terminal shows them: `\u{202e}`. */
const SPECIAL = highlightSpecialChars({
  addSpecialChars: /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u,
  render: code => {
    const shown = document.createElement('span');
    shown.className = 'cm-specialChar';
    shown.textContent = printable(String.fromCodePoint(code));
    return shown;
  },
});

let isPointed = false;

/** Tab leaves the editor after it was entered by Tab, and indents once something is typed. */
const TAB_GOES_ON = EditorView.domEventHandlers({
  pointerdown: (_, view) => {
    isPointed = true;
    view.setTabFocusMode(false);
  },
  focus: (_, view) => {
    if (!isPointed) view.setTabFocusMode(true);
    isPointed = false;
  },
});

const EXTENSIONS: Extension = [
  lineNumbers(),
  highlightActiveLineGutter(),
  SPECIAL,
  history(),
  drawSelection(),
  EditorState.tabSize.of(2),
  indentUnit.of('  '),
  YAML,
  syntaxHighlighting(COLOURS),
  closeBrackets(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  search({ top: true }),
  lintGutter(),
  EditorView.contentAttributes.of({
    'aria-label': 'Text of the manifest. Escape and then Tab leaves it',
    tabindex: '0',
  }),
  TAB_GOES_ON,
  // Where Tab indents, it leaves the editor after Escape.
  keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
  THEME,
];
