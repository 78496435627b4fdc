import { JsonFloat, type JsonObject, type JsonValue, MAX_INTEGER, MIN_INTEGER, canonicalJson } from '@chancery/protocol'
import { LineCounter, isAlias, isNode, isScalar, parseDocument, stringify, visit } from 'yaml'
import type { Node, Pair, Scalar, ScalarTag } from 'yaml'
import { type ReadDraft, type TextProblem, isObject, ordered } from '../policies/policy-text.ts'

/** As `chancery boundary-policy` reads it, so that one file gives the same policy in both. */
const OPTIONS = { version: '1.2', schema: 'core', uniqueKeys: true, intAsBigInt: true } as const

/** Reads the plain part of YAML: one document without anchors, aliases and tags. */
function read(text: string): ReadDraft {
  const lines = new LineCounter()
  const document = parseDocument(text, { ...OPTIONS, lineCounter: lines, prettyErrors: false })
  const [error] = document.errors
  if (error !== undefined) {
    const reason =
      error.code === 'MULTIPLE_DOCS' ? 'A draft is one document. Remove the rest.' : sentence(error.message)
    return { problem: { line: lines.linePos(error.pos[0]).line, text: reason } }
  }
  const problems: TextProblem[] = []
  const note = (reason: string | undefined, node: unknown): symbol | undefined => {
    if (reason === undefined) return undefined
    const at = isNode(node) ? (node.range?.[0] ?? 0) : 0
    problems.push({ line: lines.linePos(at).line, text: reason })
    return visit.BREAK
  }
  visit(document, {
    Pair: (_, pair) => note(nameRefusal(pair), pair.key),
    Node: (_, node) => note(refusal(node), node),
  })
  const [problem] = problems
  if (problem !== undefined) return { problem }
  const value = toJson(document.toJS())
  if (isObject(value)) return { intent: value }
  return { problem: { line: 1, text: 'The text has no names and values. Begin with policy_id:.' } }
}

const sentence = (message: string): string => (message.endsWith('.') ? message : `${message}.`)

/** Returns why a part is not read, or undefined. */
function refusal(node: Node): string | undefined {
  if (isAlias(node) || node.anchor !== undefined) return 'Anchors and aliases are not read. Write the value again.'
  if (node.tag !== undefined) return `The tag ${node.tag} is not read. Remove it.`
  if (!isScalar(node)) return undefined
  const { value } = node
  if (typeof value === 'bigint' && (value < MIN_INTEGER || value > MAX_INTEGER))
    return 'This number is too large. Shorten it.'
  if (typeof value === 'number' && !Number.isFinite(value)) return 'JSON has no such number.'
  return undefined
}

/** JSON has texts as names only. Another name would get a spelling that the person did not write. */
function nameRefusal({ key }: Pair): string | undefined {
  return isScalar(key) && typeof key.value === 'string' ? undefined : 'A name is a text here. Write it in quotes.'
}

/** Whole numbers are bigint, so that `1` and `1.0` stay different, as in the signed bytes. */
function toJson(value: unknown): JsonValue {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (typeof value === 'number') return new JsonFloat(value)
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value !== 'object' || value === null) return value as JsonValue
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toJson(each)]))
}

/** Writes `1.0` for a number that was written with a point. */
const FLOAT: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => value instanceof JsonFloat,
  resolve: (text) => text,
  stringify: ({ value }: Scalar) => canonicalJson(value as JsonFloat),
}

const write = (intent: JsonObject): string =>
  stringify(ordered(intent), {
    lineWidth: 0,
    flowCollectionPadding: false,
    aliasDuplicateObjects: false,
    customTags: (tags) => [FLOAT, ...tags],
  }).trimEnd()

export const YAML_FORMAT = { name: 'YAML', read, write } as const
