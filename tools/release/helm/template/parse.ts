import { type Piece, type Word, splitTemplate } from './tokens.ts'

export type Expression =
  | { readonly kind: 'value'; readonly value: string | number | boolean | null }
  | { readonly kind: 'path'; readonly variable: string | undefined; readonly path: readonly string[] }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  /** The result of each command is the last argument of the next one. */
  | { readonly kind: 'pipe'; readonly commands: readonly Expression[] }

export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly value: Expression }
  | { readonly kind: 'assign'; readonly name: string; readonly value: Expression }
  | {
      readonly kind: 'if' | 'with' | 'range'
      /** `range $key, $value := …` */
      readonly names: readonly string[]
      readonly value: Expression
      readonly body: readonly Node[]
      readonly otherwise: readonly Node[]
    }

/** What a file is, and the templates that it defines. */
export interface Parsed {
  readonly body: readonly Node[]
  readonly defined: ReadonlyMap<string, readonly Node[]>
}

const CONSTANTS: Readonly<Record<string, boolean | null>> = { true: true, false: false, nil: null }

export function parseTemplate(text: string): Parsed {
  return new Parser(splitTemplate(text)).parse()
}

class Parser {
  readonly #pieces: readonly Piece[]
  readonly #defined = new Map<string, readonly Node[]>()
  #at = 0

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces
  }

  parse(): Parsed {
    const { nodes, end } = this.#list()
    if (end !== undefined) throw new Error(`{{ ${end} }} without a beginning`)
    return { body: nodes, defined: this.#defined }
  }

  /** Up to the `end` or `else` that closes it, or to the end of the text. */
  #list(): { readonly nodes: readonly Node[]; readonly end: 'end' | 'else' | undefined } {
    const nodes: Node[] = []
    for (let piece = this.#pieces[this.#at]; piece !== undefined; piece = this.#pieces[this.#at]) {
      this.#at += 1
      if (piece.kind === 'text') {
        nodes.push(piece)
        continue
      }
      const [first] = piece.words
      const word = first?.kind === 'name' ? first.name : ''
      if (word === 'end' || word === 'else') {
        if (piece.words.length > 1) throw new Error('else if is not supported')
        return { nodes, end: word }
      }
      if (word === 'define') this.#define(piece.words)
      else if (word === 'if' || word === 'with' || word === 'range') nodes.push(this.#block(word, piece.words.slice(1)))
      else nodes.push(toNode(piece.words))
    }
    return { nodes, end: undefined }
  }

  #define(words: readonly Word[]): void {
    const name = words[1]
    if (name?.kind !== 'literal') throw new Error('define needs a name')
    const { nodes, end } = this.#list()
    if (end !== 'end') throw new Error(`define ${name.value} has no end`)
    this.#defined.set(String(name.value), nodes)
  }

  #block(kind: 'if' | 'with' | 'range', words: readonly Word[]): Node {
    const { names, value } = readAssignment(words)
    const { nodes: body, end } = this.#list()
    const rest = end === 'else' ? this.#list() : { nodes: [], end }
    if (rest.end !== 'end') throw new Error(`${kind} has no end`)
    return { kind, names, value, body, otherwise: rest.nodes }
  }
}

function toNode(words: readonly Word[]): Node {
  const { names, value } = readAssignment(words)
  const [name] = names
  return name === undefined ? { kind: 'output', value } : { kind: 'assign', name, value }
}

/** `$a, $b := pipe`, or a pipe alone. */
function readAssignment(words: readonly Word[]): { readonly names: readonly string[]; readonly value: Expression } {
  const at = words.findIndex((word) => word.kind === 'sign' && word.sign === ':=')
  const names = words.slice(0, Math.max(at, 0)).flatMap((word) => (word.kind === 'path' ? [word.variable ?? ''] : []))
  return { names, value: readPipe(words.slice(at + 1)) }
}

function readPipe(words: readonly Word[]): Expression {
  const commands = splitAtTop(words, '|').map(readCommand)
  const [only] = commands
  if (only === undefined) throw new Error('an empty action')
  return commands.length === 1 ? only : { kind: 'pipe', commands }
}

function readCommand(words: readonly Word[]): Expression {
  const [first, ...rest] = words
  if (first?.kind === 'name' && !(first.name in CONSTANTS))
    return { kind: 'call', name: first.name, args: readArguments(rest) }
  // The only method of an object that the chart calls.
  if (first?.kind === 'path' && first.path.join('.') === 'Files.Get')
    return { kind: 'call', name: '.Files.Get', args: [{ ...first, path: ['Files'] }, ...readArguments(rest)] }
  const [value, ...more] = readArguments(words)
  if (value === undefined || more.length > 0) throw new Error('a value takes no arguments')
  return value
}

function readArguments(words: readonly Word[]): readonly Expression[] {
  const args: Expression[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]
    if (word?.kind === 'sign' && word.sign === '(') {
      const end = closing(words, at)
      args.push(readPipe(words.slice(at + 1, end)))
      at = end
    } else args.push(readOperand(word))
  }
  return args
}

function readOperand(word: Word | undefined): Expression {
  if (word?.kind === 'literal') return { kind: 'value', value: word.value }
  if (word?.kind === 'path') return word
  const constant = word?.kind === 'name' ? CONSTANTS[word.name] : undefined
  if (constant !== undefined) return { kind: 'value', value: constant }
  if (word?.kind === 'name') return { kind: 'call', name: word.name, args: [] }
  throw new Error(`unexpected ${word?.kind === 'sign' ? word.sign : 'end'}`)
}

function closing(words: readonly Word[], from: number): number {
  let depth = 0
  for (let at = from; at < words.length; at += 1) {
    const word = words[at]
    if (word?.kind === 'sign' && word.sign === '(') depth += 1
    if (word?.kind === 'sign' && word.sign === ')') depth -= 1
    if (depth === 0) return at
  }
  throw new Error('a parenthesis has no end')
}

function splitAtTop(words: readonly Word[], sign: string): readonly (readonly Word[])[] {
  const parts: Word[][] = [[]]
  let depth = 0
  for (const word of words) {
    if (word.kind === 'sign' && word.sign === '(') depth += 1
    if (word.kind === 'sign' && word.sign === ')') depth -= 1
    if (depth === 0 && word.kind === 'sign' && word.sign === sign) parts.push([])
    else parts.at(-1)?.push(word)
  }
  return parts
}
