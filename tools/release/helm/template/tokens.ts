/** Splits a template of Go (text/template) into text and actions, and an action into words. */

export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly words: readonly Word[] }

export type Word =
  | { readonly kind: 'literal'; readonly value: string | number }
  | { readonly kind: 'name'; readonly name: string }
  /** `$name.a.b`, or `.a.b` with an undefined name. */
  | { readonly kind: 'path'; readonly variable: string | undefined; readonly path: readonly string[] }
  | { readonly kind: 'sign'; readonly sign: string }

/** `{{- ` removes the white space before it, ` -}}` that after it. */
const ACTION = /\{\{(-(?=\s))?([\s\S]*?)((?<=\s)-)?\}\}/g
const WORD =
  /\s*(?:(?<text>"(?:[^"\\]|\\.)*")|(?<number>-?\d+)|(?<sign>:=|[|(),])|(?<variable>\$\w*)(?<fields>(?:\.\w+)*)|(?<path>(?:\.\w+)+|\.)|(?<name>[A-Za-z]\w*))/y

export function splitTemplate(text: string): readonly Piece[] {
  const pieces: Piece[] = []
  let [at, isTrimmed] = [0, false]
  const addText = (end: number, trimEnd: boolean): void => {
    let part = text.slice(at, end)
    if (isTrimmed) part = part.trimStart()
    if (trimEnd) part = part.trimEnd()
    if (part !== '') pieces.push({ kind: 'text', text: part })
  }
  for (const found of text.matchAll(ACTION)) {
    const [whole, trimBefore, inside = '', trimAfter] = found
    addText(found.index, trimBefore !== undefined)
    if (!inside.trimStart().startsWith('/*')) pieces.push({ kind: 'action', words: splitAction(inside) })
    at = found.index + whole.length
    isTrimmed = trimAfter !== undefined
  }
  addText(text.length, false)
  return pieces
}

function splitAction(text: string): readonly Word[] {
  const words: Word[] = []
  const end = text.trimEnd().length
  for (WORD.lastIndex = 0; WORD.lastIndex < end;) {
    const at = WORD.lastIndex
    const groups = WORD.exec(text)?.groups
    if (groups === undefined) throw new Error(`{{${text}}}: cannot read ${text.slice(at)}`)
    words.push(toWord(groups))
  }
  return words
}

function toWord(groups: Readonly<Record<string, string | undefined>>): Word {
  const { text, number, sign, variable, fields, path, name = '' } = groups
  const fieldsOf = (chain: string): readonly string[] => chain.split('.').filter((field) => field !== '')
  if (text !== undefined) return { kind: 'literal', value: JSON.parse(text) as string }
  if (number !== undefined) return { kind: 'literal', value: Number(number) }
  if (sign !== undefined) return { kind: 'sign', sign }
  if (variable !== undefined) return { kind: 'path', variable, path: fieldsOf(fields ?? '') }
  if (path !== undefined) return { kind: 'path', variable: undefined, path: fieldsOf(path) }
  return { kind: 'name', name }
}
