import { type JsonObject, asJson, digestOf, waitingApproval } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import type { ActionReport } from '../governed/ask-decision.ts'
import { type Governing, type Governor, governAction, governingOf } from '../governed/governor.ts'
import { type ToolCall, requireServerName, toArguments, toolCapability, toolParameters } from '../governed/tool-call.ts'
import { type DeniedAnswer, NoDecisionError } from '../node/answer.ts'
import type { AskBasis } from '../node/decider.ts'
import type { Caller } from '../request-proof/caller.ts'
import { callerOf } from './auth-info.ts'
import type { HeldCalls } from './held-calls.ts'

export interface GovernServerOptions {
  readonly govern: Governor
  /** Name of this server in capabilities: `mcp:<server>:<tool>`. */
  readonly name: string
  /** Whose attestation the decision is about, by the verified caller of a call. */
  readonly basis?: (caller: Caller | undefined) => AskBasis
  /** Arguments that policies may read, by tool. The others are in a digest. */
  readonly parameters?: Readonly<Record<string, readonly string[]>>
  /** Calls that wait for a person: the same call again then uses its approval. */
  readonly held?: HeldCalls
}

/** Of `Server`, what is governed. */
type RegisterTool = (tool: string, config: { readonly inputSchema?: unknown }, handler: AnyHandler) => unknown

// oxlint-disable-next-line typescript/no-explicit-any -- a parameter of type unknown would accept no handler
type AnyHandler = (...values: readonly any[]) => object | Promise<object>

/**
 * The same `registerTool`, governed. It sees `inputSchema`, so it knows whether the first argument of a handler is the
 * input or the context. A denied call returns a result that a model understands.
 */
export function governServer<Server extends { registerTool: unknown }>(
  server: Server,
  options: GovernServerOptions,
): Pick<Server, 'registerTool'> {
  requireServerName(options.name)
  const register = (server.registerTool as RegisterTool).bind(server)
  const registerTool: RegisterTool = (tool, config, handler) => {
    const hasInput = config.inputSchema !== undefined
    const named = options.parameters?.[tool] ?? []
    if (!hasInput && named.length > 0) throw new UsageError('a tool without input has no parameters')
    // Checked once, not at the first call.
    toolCapability(options.name, tool)
    return register(tool, config, (...values) => callTool(options, { tool, hasInput, named, handler, values }))
  }
  return { registerTool }
}

interface Call {
  readonly tool: string
  readonly hasInput: boolean
  readonly named: readonly string[]
  readonly handler: AnyHandler
  readonly values: readonly unknown[]
}

async function callTool(
  { govern, name, basis, held }: GovernServerOptions,
  { tool, hasInput, named, handler, values }: Call,
): Promise<object> {
  // An argument that is taken for the context would run undecided.
  if (values.length !== (hasInput ? 2 : 1)) throw new UsageError(`the tool ${tool} was not called: wrong arguments`)
  const context = values.at(-1)
  const read = (): JsonObject => (hasInput ? toArguments(values[0]) : {})
  const call: ToolCall = { server: name, tool, arguments: read(), ...inputOf(context), named }
  const outcome = await runToolCall(
    { ...governingOf(govern), held },
    {
      call,
      ...(basis === undefined ? {} : { basis: basis(callerOf(context)) }),
      run: async (report) => {
        // The program may have changed the object while the authority decided.
        if (digestOf(read()) !== digestOf(call.arguments))
          throw new UsageError('the tool was not called: its arguments changed after the decision')
        const value = await handler(...values)
        report(outcomeOf(value))
        return value
      },
    },
  )
  if (outcome.state === 'done') return outcome.value
  return outcome.state === 'denied' ? deniedResult(outcome.answer) : refusedResult(outcome.text)
}

/**
 * What the caller sent besides the arguments. The MCP packages put it into the context of a handler, and the reserved
 * members of `_meta` into `envelope`.
 */
function inputOf(context: unknown): Required<Pick<ToolCall, 'input' | 'meta'>> {
  const { mcpReq = {} } = (context ?? {}) as { readonly mcpReq?: { readonly [name: string]: unknown } }
  const { inputResponses, requestState, task, envelope, _meta } = mcpReq
  const state: unknown = typeof requestState === 'function' ? requestState() : requestState
  return {
    input: toArguments({ inputResponses, requestState: state, task }),
    meta: toArguments({ ...(envelope as object | undefined), ...(_meta as object | undefined) }),
  }
}

/** One call, and how it is done once a decision allows it. */
export interface GovernedToolCall<Value> {
  readonly call: ToolCall
  readonly basis?: AskBasis
  readonly run: (report: (said: ActionReport) => void) => Promise<Value>
}

export type ToolCallOutcome<Value> =
  | { readonly state: 'done'; readonly value: Value }
  | { readonly state: 'denied'; readonly answer: DeniedAnswer }
  /** Refused before a decision was asked for. */
  | { readonly state: 'refused'; readonly text: string }

/** Asks for a decision, does an allowed call and records it. An error of the call itself is thrown unchanged. */
export async function runToolCall<Value>(
  { held, ...governing }: Governing & { readonly held?: HeldCalls | undefined },
  { call, basis, run }: GovernedToolCall<Value>,
): Promise<ToolCallOutcome<Value>> {
  const capability = toolCapability(call.server, call.tool)
  const parameters = toolParameters(call)
  let hasBegun = false
  try {
    const result = await governAction<Value>(governing, {
      capability,
      parameters,
      approvalId: held?.find(capability, parameters),
      ...(basis === undefined ? {} : { basis }),
      run: (_answer, report) => {
        hasBegun = true
        return run(report)
      },
    })
    held?.note(capability, parameters, result)
    if (!result.allowed) return { state: 'denied', answer: result.answer }
    return { state: 'done', value: result.value }
  } catch (error) {
    if (hasBegun) throw error
    if (error instanceof UsageError && error.reason === 'metadata_refused')
      return { state: 'refused', text: LOOKS_SECRET }
    if (error instanceof UsageError) throw error
    const failure = error instanceof NoDecisionError ? error : new NoDecisionError(undefined, { cause: error })
    // Of an internal error in JSON-RPC.
    throw Object.assign(failure, { code: -32_603 })
  }
}

const LOOKS_SECRET = 'Not called: an argument that policies read looks like a secret or is longer than 16 KiB.'

/** Returns the outcome that the evidence states for a result of a tool. */
export function outcomeOf(result: object): ActionReport {
  const { isError, resultType, task } = result as { readonly [name: string]: unknown }
  if (isError === true) return { outcome: 'failure', detail: 'the tool returned an error' }
  // The tool needs input of the caller first. The repeated call gets its own decision.
  if (resultType === 'input_required') return { outcome: 'partial', detail: 'input required' }
  const isTask = resultType === 'task' || (typeof task === 'object' && task !== null)
  return isTask ? { outcome: 'partial', detail: 'task created' } : { outcome: 'success' }
}

/** The member of `_meta` with the signed decision. */
export const DECISION_META = 'chancery/decision'

/** The member of `_meta` with the approval that a held call waits for. */
export const APPROVAL_META = 'chancery/approval'

/** A tool result that a model can react to. */
export interface DeniedResult {
  readonly [name: string]: unknown
  readonly content: { readonly type: 'text'; readonly text: string }[]
  readonly isError: true
  readonly _meta: { readonly [name: string]: unknown }
}

/** The result of a denied tool call: the reason, the id of the decision, and what would be needed. */
export function deniedResult(
  denied: Pick<DeniedAnswer, 'decision' | 'explanation'> & Partial<Pick<DeniedAnswer, 'justification'>>,
): DeniedResult {
  const { decision, explanation, justification } = denied
  const waitsFor = justification === undefined ? undefined : waitingApproval(justification)
  const held = waitsFor === undefined ? {} : { [APPROVAL_META]: asJson(waitsFor) }
  return { ...refusedResult(explanation), _meta: { [DECISION_META]: decision, ...held } }
}

/** The result of a tool call that was refused before a decision. */
export function refusedResult(text: string): DeniedResult {
  return { content: [{ type: 'text', text }], isError: true, _meta: {} }
}
