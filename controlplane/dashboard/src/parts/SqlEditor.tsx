/**
 * CodeMirror in a shadow root. There it brings its styles as sheets of the script, which the policy of
 * the page allows; in the page itself it would write a style element, which it does not.
 */
import { autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { PostgreSQL, sql, type SQLNamespace } from '@codemirror/lang-sql'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { Compartment, EditorState } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef, type RefObject } from 'react'

const look = EditorView.theme({
  '&': { fontSize: '14px', backgroundColor: 'transparent', color: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', minHeight: '9rem', maxHeight: '24rem' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--dim)', border: 'none' },
  '.cm-placeholder': { color: 'var(--dim)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 25%, transparent)',
  },
  '.cm-tooltip': { backgroundColor: 'var(--card)', color: 'var(--text)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
})

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--keyword)', fontWeight: '600' },
  { tag: tags.string, color: 'var(--string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--number)' },
  { tag: tags.comment, color: 'var(--dim)', fontStyle: 'italic' },
])

/**
 * Typing over a selection is done here. A browser that does it itself writes the style of what was there
 * into the page, which the policy blocks.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main
    const text = event.data
    if (event.inputType !== 'insertText' || event.isComposing || empty || !text) return false
    event.preventDefault()
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true })
    const isHandled = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, text, insert))
    if (!isHandled) view.dispatch(insert())
    return true
  },
})

export interface Editor {
  text: () => string
  put: (text: string) => void
  focus: () => void
}

interface Props {
  initial: string
  schema: SQLNamespace
  run: () => void
  type: (text: string) => void
  handle: RefObject<Editor | null>
}

export function SqlEditor({ initial, schema, run, type, handle }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const language = useRef(new Compartment())
  const latest = useRef({ run, type })
  latest.current = { run, type }

  useEffect(() => {
    if (!host.current) return
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' })
    const editor = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: initial,
        extensions: [
          keymap.of([{ key: 'Mod-Enter', run: (view) => (closeCompletion(view), latest.current.run(), true) }]),
          lineNumbers(),
          EditorView.lineWrapping,
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ icons: false }),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
          language.current.of(sql({ dialect: PostgreSQL })),
          syntaxHighlighting(colours),
          look,
          placeholder('select …'),
          typedOver,
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.type(update.state.doc.toString())
          }),
          EditorView.contentAttributes.of({ 'aria-label': 'SQL', spellcheck: 'false', tabindex: '0' }),
        ],
      }),
    })
    view.current = editor
    handle.current = {
      text: () => editor.state.doc.toString(),
      put: (text) => {
        editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } })
        editor.focus()
      },
      focus: () => editor.focus(),
    }
    return () => {
      editor.destroy()
      handle.current = null
    }
    // The text is the editor's own from here on.
  }, [])

  useEffect(() => {
    view.current?.dispatch({ effects: language.current.reconfigure(sql({ dialect: PostgreSQL, schema, upperCaseKeywords: false })) })
  }, [schema])

  return <div ref={host} className="editor" />
}
