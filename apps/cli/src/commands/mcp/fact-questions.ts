import { randomBytes } from 'node:crypto'
import { JsonFloat, digestOf, hasSecretMaterial, isJsonObject, member, visible, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { DeniedAnswer } from '@chancery/sdk'
import { DECISION_META } from '@chancery/sdk/internal'
import type { KnownTool } from './known-tools.ts'

/** The key of the question in `inputRequests`. */
const KEY = 'chancery-facts'
const MAX_AGE_MS = 300_000
const MOST_OPEN = 1000
const MOST_OPEN_OF_CALLER = 20
/** Of the input that an open question keeps, written as JSON. */
const MAX_INPUT_BYTES = 65_536
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

/** A call without the responses of its caller: what must be equal in both rounds. */
export interface AskedCall {
  /** Of which caller the call is: another one cannot answer. */
  readonly caller: string
  readonly tool: string
  readonly arguments: JsonObject
  /** What the caller sent besides: `inputResponses`, `requestState`, `task`. */
  readonly input: JsonObject
}

interface Question {
  readonly caller: string
  readonly digest: string
  readonly names: readonly string[]
  readonly tool: KnownTool
  /** For the server: responses to its own questions. */
  readonly input: JsonObject
  readonly until: number
}

export type Answer =
  /** The call as the caller completed it. */
  | { readonly state: 'answered'; readonly arguments: JsonObject; readonly input: JsonObject }
  | { readonly state: 'declined'; readonly names: readonly string[] }
  | { readonly state: 'unknown' }

/**
 * Questions to the person at the client about arguments that a policy needs. A request state is a random text, and
 * everything that it stands for is in memory: it is valid once, for five minutes, for one caller and one call.
 */
export class FactQuestions {
  readonly #elapsedMs: () => number
  /** The oldest come first, and end first. */
  readonly #open = new Map<string, Question>()
  /** The begin of a request state of this guard. Another guard may be in front of this one, or after it. */
  readonly #prefix = `chancery-guard.${randomBytes(12).toString('base64url')}.`

  constructor(elapsedMs: () => number = () => performance.now()) {
    this.#elapsedMs = elapsedMs
  }

  /** Returns the result that asks for what the denied call lacks; undefined when a denial is all that can be returned. */
  ask(
    { decision, missing: names }: Pick<DeniedAnswer, 'decision' | 'missing'>,
    call: AskedCall,
    about: { readonly tool: KnownTool; readonly named: readonly string[]; readonly meta: JsonValue | undefined },
  ): JsonObject | undefined {
    if (names.length === 0 || !hasForms(about.meta)) return undefined
    if (!names.every((name) => mayAsk(name, call, about))) return undefined
    const { caller, input } = call
    if (Buffer.byteLength(writeJson(input)) > MAX_INPUT_BYTES || !this.#makeRoom(caller)) return undefined
    const state = `${this.#prefix}${randomBytes(24).toString('base64url')}`
    const until = this.#elapsedMs() + MAX_AGE_MS
    this.#open.set(state, { caller, digest: digestOfCall(call), names, tool: about.tool, input, until })
    return {
      resultType: 'input_required',
      inputRequests: { [KEY]: { method: 'elicitation/create', params: formOf(names, about.tool, call.tool) } },
      requestState: state,
      _meta: { [DECISION_META]: decision as unknown as JsonObject },
    }
  }

  /** Reads the answer of a repeated call; undefined when it answers no question of the guard. */
  take(call: AskedCall): Answer | undefined {
    const state = member(call.input, 'requestState')
    if (typeof state !== 'string' || !state.startsWith(this.#prefix)) return undefined
    const question = this.#open.get(state)
    this.#open.delete(state)
    if (question === undefined || question.until < this.#elapsedMs() || question.digest !== digestOfCall(call))
      return { state: 'unknown' }
    const { names, input } = question
    const values = readValues(question, member(call.input, 'inputResponses'))
    if (values === undefined) return { state: 'declined', names }
    return { state: 'answered', arguments: { ...call.arguments, ...values }, input }
  }

  /** Deletes expired questions, and the oldest one of a caller with many. Never an open one of another caller. */
  #makeRoom(caller: string): boolean {
    const now = this.#elapsedMs()
    for (const [state, { until }] of this.#open) {
      if (until >= now) break
      this.#open.delete(state)
    }
    const own = [...this.#open].filter(([, question]) => question.caller === caller)
    const [oldest] = own
    if (own.length >= MOST_OPEN_OF_CALLER && oldest !== undefined) this.#open.delete(oldest[0])
    return this.#open.size < MOST_OPEN
  }
}

/** Caller, tool, arguments and task. The rest of the input differs between the rounds. */
function digestOfCall({ caller, tool, arguments: given, input }: AskedCall): string {
  return digestOf([caller, tool, given, member(input, 'task') ?? null])
}

/** A client of the current revision declares elicitation in every request; without members it has forms only. */
function hasForms(meta: JsonValue | undefined): boolean {
  const declared = isJsonObject(meta) ? member(meta, CAPABILITIES) : undefined
  const elicitation = isJsonObject(declared) ? member(declared, 'elicitation') : undefined
  return isJsonObject(elicitation) && (Object.keys(elicitation).length === 0 || Object.hasOwn(elicitation, 'form'))
}

/**
 * An argument of the tool that policies may read and that the call lacks. Never a secret. Not one that a header repeats:
 * the headers of the second call would differ from the body.
 */
function mayAsk(
  name: string,
  { arguments: given }: AskedCall,
  { tool, named }: { readonly tool: KnownTool; readonly named: readonly string[] },
): boolean {
  return (
    named.includes(name) &&
    !Object.hasOwn(given, name) &&
    tool.types.has(name) &&
    ![...tool.headers.values()].some(([first]) => first === name) &&
    !hasSecretMaterial({ [name]: '' }, null)
  )
}

function formOf(names: readonly string[], { types }: KnownTool, tool: string): JsonObject {
  const properties = Object.fromEntries(names.map((name) => [name, { type: types.get(name) ?? 'string' }]))
  return {
    mode: 'form',
    message: `A policy needs ${names.join(', ')} for a call of ${visible(tool)}. Do not enter secrets.`,
    requestedSchema: { type: 'object', properties, required: [...names] },
  }
}

/** Returns the given values; undefined when one is missing or of another type. Others are not read. */
function readValues({ names, tool }: Question, responses: JsonValue | undefined): JsonObject | undefined {
  const response = isJsonObject(responses) ? member(responses, KEY) : undefined
  if (!isJsonObject(response) || member(response, 'action') !== 'accept') return undefined
  const content = member(response, 'content')
  if (!isJsonObject(content)) return undefined
  const values = names.map((name) => [name, member(content, name)] as const)
  if (!values.every(([name, value]) => hasType(value, tool.types.get(name)))) return undefined
  return Object.fromEntries(values) as JsonObject
}

function hasType(value: JsonValue | undefined, type: string | undefined): boolean {
  if (type === 'integer') return typeof value === 'number' || typeof value === 'bigint'
  if (type === 'number') return typeof value === 'number' || typeof value === 'bigint' || value instanceof JsonFloat
  return typeof value === type
}
