import { JsonError, JsonFloat, canonicalJson, isJsonObject, readJson } from '@chancery/protocol'
import type { BoundaryPolicy, JsonObject, JsonValue } from '@chancery/protocol'

const ASSIGNED: ReadonlySet<string> = new Set(['version', 'issued_at', 'issued_by', 'issuer_sovereign_id', 'signature'])

/** The members that the author sets. The authority adds the others. */
export function intentOf(policy: BoundaryPolicy): JsonObject {
  return Object.fromEntries(Object.entries<JsonValue>(policy as JsonObject).filter(([name]) => !ASSIGNED.has(name)))
}

/** Members in the order in which people read them. Others follow by name. */
const ORDER = [
  'policy_id',
  'description',
  'valid_from',
  'valid_until',
  'selector',
  'gates',
  'gate_id',
  'gate_type',
  'order',
  'mode',
  'config',
  'disclose_input',
]
const SELECTOR_LISTS = [
  'capabilities',
  'requester_sovereign_ids',
  'provider_sovereign_ids',
  'agreement_ids',
  'parent_kinds',
]

/** Writes an intent with its defaults and in one order of names, so that only real differences remain. */
export function policyText(intent: JsonObject): string {
  return spell(ordered(intent))
}

/** Returns an intent with its defaults and its names in the order of {@link policyText}. */
export function ordered(intent: JsonObject): JsonValue {
  return sorted(withDefaults(intent))
}

/** Writes a value on several lines. `90` and `90.0` are different in the signed bytes, so each is written as it is. */
export function spell(value: JsonValue, indent = ''): string {
  if (value instanceof JsonFloat || typeof value === 'bigint') return canonicalJson(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? (value as readonly JsonValue[]).map((each) => inner + spell(each, inner))
    : Object.entries(value).map(([name, each]) => `${inner}${JSON.stringify(name)}: ${spell(each, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return parts.length === 0 ? `${open}${close}` : `${open}\n${parts.join(',\n')}\n${indent}${close}`
}

function withDefaults(intent: JsonObject): JsonObject {
  const { selector = {}, gates = [] } = intent
  return {
    description: '',
    ...intent,
    selector: isObject(selector)
      ? { ...Object.fromEntries(SELECTOR_LISTS.map((name) => [name, []])), parameter_equals: {}, ...selector }
      : selector,
    gates: Array.isArray(gates)
      ? (gates as readonly JsonValue[]).map((gate) =>
          isObject(gate) ? { mode: 'enforce', disclose_input: false, ...gate } : gate,
        )
      : gates,
  }
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(sorted)
  if (!isObject(value)) return value
  const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length)
  const names = Object.keys(value).toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
  return Object.fromEntries(names.map((name) => [name, sorted(value[name] ?? null)]))
}

export const isObject = isJsonObject

/** A problem of a draft and the line it is at; without a line it is about the whole text. */
export interface TextProblem {
  readonly line: number | undefined
  readonly text: string
  /** The member that it is about, for example gates[2].config.max. */
  readonly field?: string
}

export type ReadDraft =
  | { readonly intent: JsonObject; readonly problem?: undefined }
  | { readonly intent?: undefined; readonly problem: TextProblem }

/** Reads a text as strictly as the authority: two parsers could use different values of a repeated name. */
export function readDraft(text: string): ReadDraft {
  try {
    JSON.parse(text)
  } catch (error) {
    return { problem: { line: lineOfError(text, error), text: 'This is not JSON. Check quotes, commas and brackets.' } }
  }
  let value: JsonValue
  try {
    // Keeps 90.0 apart from 90, as the signature does.
    value = readJson(text)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    const line = text.slice(0, error.position).split('\n').length
    return { problem: { line, text: 'A name is repeated, a number is too large, or a character is not valid.' } }
  }
  if (!isObject(value)) return { problem: { line: 1, text: 'The text is not a JSON object. Begin with {.' } }
  return { intent: value }
}

/** Browsers name the place of an error in two forms. */
function lineOfError(text: string, error: unknown): number | undefined {
  const message = error instanceof Error ? error.message : ''
  const line = /line ([0-9]+)/.exec(message)?.[1]
  if (line !== undefined) return Number(line)
  const position = /position ([0-9]+)/.exec(message)?.[1]
  return text.slice(0, position === undefined ? text.length : Number(position)).split('\n').length
}

/** Finds a member in JSON or YAML: its name, with or without quotes, and a colon. */
const isMember = (line: string, name: string): boolean =>
  new RegExp(String.raw`(?:^|[\s{,\[-])(["']?)${name.replaceAll(/[^\w]/g, String.raw`\$&`)}\1\s*:(?:\s|["'{[]|$)`).test(
    line,
  )

const hasGateId = (line: string, id: string): boolean =>
  isMember(line, 'gate_id') &&
  (/gate_id["']?\s*:\s*(?:"([^"]*)"|'([^']*)'|([^\s,}#]+))/.exec(line)?.slice(1).includes(id) ?? false)

/** Finds the line of a problem: of its gate when it names one, else of the member that the message begins with. */
export function lineOfIssue(
  text: string,
  issue: { readonly message: string; readonly gate_id: string | null },
): number {
  const lines = text.split('\n')
  const { gate_id } = issue
  const gate = gate_id === null ? 0 : lines.findIndex((line) => hasGateId(line, gate_id)) + 1
  if (gate > 0) return gate
  for (const word of issue.message.match(/[a-z_]{4,}/g) ?? []) {
    const line = lineOfMember(lines, word)
    if (line > 0) return line
  }
  return lineOfMember(lines, 'gates') || 1
}

/** Returns the first line with a member of this name, from 1, or 0. */
const lineOfMember = (lines: readonly string[], name: string): number =>
  lines.findIndex((line) => isMember(line, name)) + 1

/** Finds gates[2].config by its last name, in the third gate. */
export function lineOfField(text: string, field: string): number {
  const lines = text.split('\n')
  const gate = /gates\[([0-9]+)\]/.exec(field)?.[1]
  const starts = lines.flatMap((line, index) => (isMember(line, 'gate_id') ? [index] : []))
  const from = gate === undefined ? 0 : Math.max(0, starts[Number(gate)] ?? 0)
  const name = field
    .replaceAll(/\[[0-9]+\]/g, '')
    .split('.')
    .at(-1)
  const found = lineOfMember(lines.slice(from), name ?? '')
  return from + Math.max(1, found)
}
