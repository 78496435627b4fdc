import { type JsonObject, digestOf } from '@chancery/protocol'
import { ChanceryError, RequestError } from '../errors.ts'
import type { GovernedActionRunner } from '../governed/action-runner.ts'
import type { ActionReport } from '../governed/ask-decision.ts'
import type { Expectations, GovernedRequest } from '../governed/decision.ts'
import { MetadataRefusedError } from '../governed/errors.ts'
import type { HeldCalls } from './held-calls.ts'
import { type DeniedDecision, type DeniedResult, deniedResult, refusedResult } from './denial.ts'
import { type ToolCall, requireServerName, toArguments, toolCapability, toolParameters } from './tool-call.ts'

/** The basis of a decision, and what the decision must be bound to. */
export interface ToolBasis extends Pick<Expectations, 'expectedAttestation'> {
  readonly request: Pick<GovernedRequest, 'agreement' | 'attestation_id' | 'presented' | 'on_behalf_of'>
}

export interface GovernToolsOptions extends Pick<Expectations, 'authorityKeys'> {
  readonly runner: Pick<GovernedActionRunner, 'run'>
  /** The name of this server in capabilities: a tool needs `mcp:<server>:<tool>`. */
  readonly server: string
  /** The basis of all calls, or the basis of one call: the context of the handler names its caller. */
  readonly basis: ToolBasis | ((context: unknown) => ToolBasis)
  /** As in {@link Expectations}; `any` when not given. */
  readonly expectedPolicies?: Expectations['expectedPolicies']
  /** Calls that wait for a person: the same call again then uses its approval. */
  readonly held?: HeldCalls
}

export interface GovernedToolOptions {
  /** Arguments that policies may read. The decision has the others as a digest only. */
  readonly parameters?: readonly string[]
  readonly schemaDigest?: string
}

/** Of a tool without an input schema: the MCP packages call its handler with the context only. */
export interface NoInputOptions extends Pick<GovernedToolOptions, 'schemaDigest'> {
  readonly input: 'none'
}

/**
 * Wraps the handler of a tool: `server.registerTool(name, config, govern(name, handler))`. The wrapped handler takes
 * arguments and context, always both. With `input: 'none'` it takes the context only. Another number is refused before
 * a decision: an argument that is taken for the context would run undecided.
 */
export interface GovernTool {
  <Args extends object, Context, Result extends object>(
    tool: string,
    handler: (args: Args, context: Context) => Result | Promise<Result>,
    options?: GovernedToolOptions,
  ): (args: Args, context: Context) => Promise<Result | DeniedResult>
  <Context, Result extends object>(
    tool: string,
    handler: (context: Context) => Result | Promise<Result>,
    options: NoInputOptions,
  ): (context: Context) => Promise<Result | DeniedResult>
}

/** No decision, so the tool was not called. Its code is that of an internal error in JSON-RPC. */
export class DecisionUnavailableError extends ChanceryError {
  override readonly name: string = 'DecisionUnavailableError'
  readonly code = -32_603

  constructor(options?: ErrorOptions) {
    super('The tool was not called: no decision or no storage for its evidence. Try again later.', options)
  }
}

/**
 * Returns a wrapper for the handlers of an MCP server. Before a handler runs, the runner asks for a decision and
 * stores the intent; after it, the runner records the outcome. A denied call returns a result that a model
 * understands.
 */
export function governTools(options: GovernToolsOptions): GovernTool {
  requireServerName(options.server)
  return (tool: string, handler: AnyHandler, given: GovernedToolOptions | NoInputOptions = {}) => {
    const { parameters: named = [], input, ...more }: GovernedToolOptions & Partial<NoInputOptions> = given
    const takes = input === 'none' ? 1 : 2
    if (takes === 1 && named.length > 0) throw new RequestError('a tool without input has no parameters')
    return async (...values: readonly unknown[]) => {
      if (values.length !== takes) throw wrongNumber(tool, takes)
      const context = values.at(-1)
      const readArguments = (): JsonObject => (takes === 1 ? {} : toArguments(values[0]))
      const call = { server: options.server, tool, arguments: readArguments(), ...inputOf(context), named, ...more }
      const { basis } = options
      const outcome = await runToolCall(options, {
        call,
        basis: typeof basis === 'function' ? basis(context) : basis,
        run: async (report) => {
          // The program may have changed the object while the authority decided.
          if (digestOf(readArguments()) !== digestOf(call.arguments)) throw new RequestError(CHANGED)
          const value = await handler(...values)
          report(outcomeOf(value))
          return value
        },
      })
      if (outcome.state === 'done') return outcome.value
      return outcome.state === 'denied' ? deniedResult(outcome.denied) : refusedResult(outcome.text)
    }
  }
}

/** Both forms of a handler. The overloads of {@link GovernTool} type the values. */
// oxlint-disable-next-line typescript/no-explicit-any -- a parameter of type unknown would accept no handler
type AnyHandler = (...values: readonly any[]) => object | Promise<object>

const CHANGED = 'the tool was not called: its arguments changed after the decision'

function wrongNumber(tool: string, takes: 1 | 2): RequestError {
  const expected = takes === 1 ? 'the context only' : "arguments and context (a tool without input: input: 'none')"
  return new RequestError(`the tool ${tool} was not called: a governed tool takes ${expected}`)
}

/**
 * Returns what the caller sent besides the arguments. The MCP packages put it into the context of a handler, and the
 * reserved members of `_meta` into `envelope`.
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
  readonly basis: ToolBasis
  readonly run: (report: (said: ActionReport) => void) => Promise<Value>
}

export type ToolCallOutcome<Value> =
  | { readonly state: 'done'; readonly value: Value }
  | { readonly state: 'denied'; readonly denied: DeniedDecision }
  /** Refused before a decision was asked for. */
  | { readonly state: 'refused'; readonly text: string }

/**
 * Asks for a decision, does an allowed call and records it. Throws {@link DecisionUnavailableError} when there is no
 * decision; then the call was not made. An error of the call itself is thrown unchanged.
 */
export async function runToolCall<Value>(
  { runner, authorityKeys, expectedPolicies = 'any', held }: Omit<GovernToolsOptions, 'basis' | 'server'>,
  { call, basis: { request, ...pinned }, run }: GovernedToolCall<Value>,
): Promise<ToolCallOutcome<Value>> {
  const capability = toolCapability(call.server, call.tool)
  const parameters = toolParameters(call)
  const approval_id = held?.find(capability, parameters)
  let hasBegun = false
  try {
    const result = await runner.run<Value>({
      authorityKeys,
      expectedPolicies,
      ...pinned,
      request: {
        ...request,
        requested_capability: capability,
        context: { request_parameters: parameters },
        ...(approval_id === undefined ? {} : { approval_id }),
      },
      parameters,
      run: (_decision, report) => {
        hasBegun = true
        return run(report)
      },
    })
    held?.note(capability, parameters, result)
    return result.authorized
      ? { state: 'done', value: result.value }
      : { state: 'denied', denied: { ...result, capability } }
  } catch (error) {
    if (hasBegun || error instanceof RequestError) throw error
    if (error instanceof MetadataRefusedError) return { state: 'refused', text: LOOKS_SECRET }
    throw new DecisionUnavailableError({ cause: error })
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
