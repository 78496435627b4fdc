import { type JsonObject, type JsonValue, isJsonObject, member, visible } from '@chancery/protocol'
import { type DeniedAnswer, NoDecisionError } from '@chancery/sdk'
import {
  denialCode,
  deniedResult,
  outcomeOf,
  refusedResult,
  type ActionReport,
  type ToolCall,
} from '@chancery/sdk/internal'
import { FactQuestions } from './fact-questions.ts'
import type { Gate } from './gate.ts'
import { ListUnavailableError, digestsOf, loadPins } from './known-tools.ts'
import type { AskServer, KnownTool, KnownTools } from './known-tools.ts'
import { CODES, type ClientMessage, type ServerMessage, errorBody, headerMismatch, resultBody } from './messages.ts'
import type { GuardRules, MethodRule } from './rules.ts'

export type ClientRequest = Extract<ClientMessage, { readonly kind: 'request' }>

/** What methods do without a rule. Those that name something of the server need a decision; unknown ones are refused. */
const DEFAULT_RULES: ReadonlyMap<string, MethodRule> = new Map<string, MethodRule>([
  ...[
    'initialize',
    'ping',
    'server/discover',
    'tools/list',
    'prompts/list',
    'resources/list',
    'resources/templates/list',
    'resources/unsubscribe',
    'logging/setLevel',
  ].map((method) => [method, 'pass'] as const),
  ...[
    'tools/call',
    'prompts/get',
    'resources/read',
    'resources/subscribe',
    'subscriptions/listen',
    'completion/complete',
    'tasks/get',
    'tasks/list',
    'tasks/result',
    'tasks/cancel',
  ].map((method) => [method, 'decide'] as const),
])

/** Notifications of the protocol. Another one could be a request that a server executes without a response. */
const NOTIFICATIONS: ReadonlySet<string> = new Set(
  ['initialized', 'cancelled', 'progress', 'roots/list_changed'].map((name) => `notifications/${name}`),
)

/** What a call may have besides name, arguments and `_meta`. */
const CALL_INPUT: ReadonlySet<string> = new Set(['inputResponses', 'requestState', 'task'])

/** A shared cache must not show the list of one caller to another. */
const PRIVATE_LIST = { cacheScope: 'private', ttlMs: 1000 } as const

/** The tools that a caller sees, and how the guard asks for them. */
export interface CallerTools {
  readonly known: KnownTools
  readonly ask: AskServer
  /** Differs for each caller. */
  readonly caller: string
  /** Returns the header of a call that differs from its arguments. */
  readonly wrongHeader?: (tool: KnownTool, given: JsonObject) => string | undefined
}

/** How a request goes to the server. Reports the outcome that it saw. */
export type Forward<Value> = (message: JsonObject, report: (said: ActionReport) => void) => Promise<Value>

/** A call to decide, and the message for the server. */
interface ReadCall {
  readonly call: ToolCall
  readonly message: JsonObject
  /** Returns what the client gets for a denial, when it is more than the denial. */
  readonly ask?: (denied: DeniedAnswer) => JsonObject | undefined
}

/** What the client gets: a value of the server, or a body of the guard with its HTTP status. */
export type Guarded<Value> =
  | { readonly passed: true; readonly value: Value }
  | { readonly passed: false; readonly status: number; readonly body: JsonObject }

export interface ToolGuardParts {
  readonly gate: Gate
  readonly rules: GuardRules
  readonly server: string
  readonly pinsFile: string
  readonly note: (text: string) => void
}

/** Decides what happens to each request, for both transports. */
export class ToolGuard {
  readonly #parts: ToolGuardParts
  readonly #noted = new Set<string>()
  readonly #questions = new FactQuestions()

  constructor(parts: ToolGuardParts) {
    this.#parts = parts
  }

  #ruleOf(method: string): MethodRule {
    // The rules file cannot name tools/call and tools/list.
    return this.#parts.rules.methods.get(method) ?? DEFAULT_RULES.get(method) ?? 'refuse'
  }

  /** Whether a notification of the client goes to the server. */
  passesNotice(method: string): boolean {
    if (NOTIFICATIONS.has(method)) return true
    const isOpen = method.startsWith('notifications/') && this.#parts.rules.methods.get(method) === 'pass'
    if (!isOpen) this.#noteOnce(`the notification ${visible(method, { maxLength: 100 })} is not passed on.`)
    return isOpen
  }

  /** Starts the work that counts. A client may only have asked which protocol version the guard has. */
  begin(method: string): void {
    if (method !== 'server/discover') this.#parts.gate.begin()
  }

  /** Passes a request on when its rule and the authority allow it. */
  async request<Value>(request: ClientRequest, tools: CallerTools, forward: Forward<Value>): Promise<Guarded<Value>> {
    const { id, method, value } = request
    const rule = this.#ruleOf(method)
    if (rule === 'pass') return { passed: true, value: await forward(value, () => undefined) }
    if (rule === 'refuse') return refused(id, `This guard does not pass on ${visible(method, { maxLength: 100 })}.`)
    const read = method === 'tools/call' ? await this.#toolCall(request, tools) : this.#otherCall(request)
    return 'passed' in read ? read : this.#decide(request, read, forward)
  }

  /** Returns a message of the server as the client may see it: a list of tools is filtered wherever it appears. */
  async shown(message: ServerMessage, method: string | undefined): Promise<JsonObject> {
    const { id, result, value } = message
    if (result === undefined || (method !== 'tools/list' && !Array.isArray(member(result, 'tools')))) return value
    const filtered = await this.filterList(result)
    if (filtered !== undefined) return { jsonrpc: '2.0', id, result: filtered }
    return errorBody(id, CODES.internal, 'The server returned a list that cannot be used.')
  }

  /** Returns the listed tools that are pinned and granted, never to be cached for others. */
  async filterList(result: JsonObject): Promise<JsonObject | undefined> {
    const tools = listedTools(result)
    const digests = tools === undefined ? undefined : digestsOf(tools)
    if (tools === undefined || digests === undefined) return undefined
    const pins = await loadPins(this.#parts.pinsFile)
    const shown = tools.filter((tool) => {
      const name = member(tool, 'name')
      if (typeof name !== 'string') return false
      const problem = this.#pinProblem(name, digests.get(name), pins.get(name))
      if (problem !== undefined) this.#noteOnce(problem)
      return problem === undefined && this.#parts.gate.isGranted(name)
    })
    const isModern = ['resultType', 'cacheScope', 'ttlMs'].some((name) => Object.hasOwn(result, name))
    return { ...result, tools: shown, ...(isModern ? PRIVATE_LIST : {}) }
  }

  async #toolCall({ id, params, value }: ClientRequest, tools: CallerTools): Promise<ReadCall | Guarded<never>> {
    const { name: tool, arguments: sent = {}, _meta, ...rest } = params
    // The decision would not cover a member that the guard does not know.
    if (!Object.keys(rest).every((name) => CALL_INPUT.has(name)))
      return ok(errorBody(id, CODES.params, 'A parameter of the call is not known to this guard.'))
    if (typeof tool !== 'string' || tool === '' || tool.length > 128 || !isJsonObject(sent))
      return ok(errorBody(id, CODES.params, 'A call has a name and arguments.'))
    if (_meta !== undefined && !isJsonObject(_meta)) return ok(errorBody(id, CODES.params, '_meta is not an object.'))
    const known = await this.#approved(id, tool, tools, _meta)
    if ('passed' in known) return known
    const wrong = tools.wrongHeader?.(known, sent)
    if (wrong !== undefined) return { passed: false, status: 400, body: headerMismatch(id, wrong) }
    const asked = { caller: tools.caller, tool, arguments: sent, input: rest }
    const answer = this.#questions.take(asked)
    if (answer?.state === 'unknown')
      return ok(errorBody(id, CODES.params, 'The request state is not valid any more. Call again without it.'))
    if (answer?.state === 'declined')
      return ok(resultBody(id, refusedResult(`Not called: no value was given for ${answer.names.join(', ')}.`)))
    const { arguments: given, input } = answer ?? { arguments: sent, input: rest }
    const { server, rules } = this.#parts
    const named = rules.parameters.get(tool) ?? []
    const meta = _meta ?? {}
    return {
      call: { server, tool, arguments: given, input, meta, named, schemaDigest: known.digest },
      message: answer === undefined ? value : completed(value, given, input),
      // A call is completed once. Its first denial names everything that it lacks.
      ...(answer === undefined
        ? { ask: (denied) => this.#questions.ask(denied, asked, { tool: known, named, meta }) }
        : {}),
    }
  }

  /** Returns the tool as the server lists it, when it is the pinned one. */
  async #approved(
    id: JsonValue,
    tool: string,
    { known, ask }: CallerTools,
    meta: JsonObject | undefined,
  ): Promise<KnownTool | Guarded<never>> {
    let current: KnownTool | undefined
    try {
      current = await known.find(tool, ask, meta)
    } catch (error) {
      if (!(error instanceof ListUnavailableError)) throw error
      return ok(errorBody(id, CODES.internal, 'Not called: the server gave no list of its tools. Try again later.'))
    }
    const problem = this.#pinProblem(tool, current?.digest, (await loadPins(this.#parts.pinsFile)).get(tool))
    if (problem === undefined && current !== undefined) return current
    const text = problem ?? 'the tool is not listed.'
    this.#noteOnce(text)
    return ok(resultBody(id, refusedResult(`Not called: ${text}`)))
  }

  #otherCall({ method, params, value }: ClientRequest): ReadCall {
    const { _meta: meta = {}, ...given } = params
    const call = { server: this.#parts.server, tool: method, arguments: given, named: ['name', 'uri', 'taskId'] }
    return { call: isJsonObject(meta) ? { ...call, meta } : { ...call, arguments: params }, message: value }
  }

  async #decide<Value>(
    { id, method }: ClientRequest,
    { call, message, ask }: ReadCall,
    forward: Forward<Value>,
  ): Promise<Guarded<Value>> {
    const isTool = method === 'tools/call'
    try {
      const outcome = await this.#parts.gate.run(call, (report) => forward(message, report))
      if (outcome.state === 'done') return { passed: true, value: outcome.value }
      if (outcome.state === 'refused')
        return isTool ? ok(resultBody(id, refusedResult(outcome.text))) : refused(id, outcome.text)
      const { answer } = outcome
      const { decision } = answer
      if (isTool) return ok(resultBody(id, ask?.(answer) ?? deniedResult(answer)))
      return refused(id, answer.explanation, {
        decision_id: decision.decision_id,
        reason: decision.denial_reason,
        code: denialCode(decision) ?? null,
      })
    } catch (error) {
      if (!(error instanceof NoDecisionError)) throw error
      const { cause } = error
      this.#parts.note(`no decision: ${cause instanceof Error ? cause.message : String(cause)}`)
      return ok(errorBody(id, CODES.internal, error.message))
    }
  }

  /** Returns why a tool is not the approved one, with the command that approves it. */
  #pinProblem(tool: string, current: string | undefined, pinned: readonly string[] | undefined): string | undefined {
    const name = visible(tool, { maxLength: 128 })
    const again = `An operator approves it with: chancery agent guard-mcp --pin --server ${this.#parts.server}`
    if (current === undefined) return `the server does not list the tool ${name}.`
    if (pinned === undefined) return `the tool ${name} is not pinned. ${again}`
    if (pinned.includes(current)) return undefined
    return `the description or schema of the tool ${name} changed since it was pinned. ${again}`
  }

  #noteOnce(text: string): void {
    if (this.#noted.has(text) || this.#noted.size > 1000) return
    this.#noted.add(text)
    this.#parts.note(text)
  }
}

/** Returns the outcome that the evidence states for a response; a lost one is partial. */
export function outcomeOfResponse(response: ServerMessage | undefined): ActionReport {
  if (response === undefined || response.kind === 'invalid')
    return { outcome: 'partial', detail: 'no valid response of the server' }
  if (response.error !== undefined) return { outcome: 'failure', detail: 'the server returned an error' }
  return outcomeOf(response.result ?? {})
}

/** Returns the message of a call that its caller completed: the server gets the arguments that were decided. */
function completed(value: JsonObject, given: JsonObject, input: JsonObject): JsonObject {
  const params = member(value, 'params')
  const { inputResponses: _responses, requestState: _state, ...rest } = isJsonObject(params) ? params : {}
  return { ...value, params: { ...rest, ...input, arguments: given } }
}

function listedTools(result: JsonObject): readonly JsonObject[] | undefined {
  const tools = member(result, 'tools')
  return Array.isArray(tools) && tools.every(isJsonObject) ? tools : undefined
}

function ok(body: JsonObject): Guarded<never> {
  return { passed: false, status: 200, body }
}

function refused(id: JsonValue, text: string, data?: JsonObject): Guarded<never> {
  return { passed: false, status: 403, body: errorBody(id, CODES.denied, text, data) }
}
