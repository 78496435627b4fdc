import type { JsonObject, JsonValue } from '@chancery/protocol'
import { LineCounter, isAlias, isScalar, parseDocument, stringify, visit } from 'yaml'
import type { Node } from 'yaml'
import { isObject, policyText } from '../policies/policy-text.ts'
import type { ReadDraft, TextProblem } from '../policies/policy-text.ts'

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
  visit(document, {
    Node(_, node) {
      const reason = refusal(node)
      if (reason === undefined) return undefined
      problems.push({ line: lines.linePos(node.range?.[0] ?? 0).line, text: reason })
      return visit.BREAK
    },
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
  if (typeof value === 'bigint' && !Number.isSafeInteger(Number(value))) return 'This number is not exact. Shorten it.'
  if (typeof value === 'number' && !Number.isFinite(value)) return 'JSON has no such number.'
  return undefined
}

function toJson(value: unknown): JsonValue {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value !== 'object' || value === null) return value as JsonValue
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toJson(each)]))
}

const write = (intent: JsonObject): string =>
  stringify(JSON.parse(policyText(intent)), { lineWidth: 0, flowCollectionPadding: false }).trimEnd()

export const YAML_FORMAT = { name: 'YAML', read, write } as const
