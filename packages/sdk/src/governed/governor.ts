import { type ExecutionEvidence, type JsonObject, type Signer, digestOf } from '@chancery/protocol'
import { evidenceApi } from '../api/evidence.ts'
import { RefusedError, RevokedError, UnreachableError, UsageError, ResponseError } from '../errors.ts'
import { type ConnectionOptions, clockOf } from '../http/call.ts'
import { openConnection } from '../http/connection.ts'
import { type AllowedAnswer, DeniedError, type DeniedAnswer, NoDecisionError } from '../node/answer.ts'
import { type AskBasis, type Decider, resourceHeadOf } from '../node/decider.ts'
import { type NetworkIdentity, readIdentity } from '../trust/identity.ts'
import { GovernedActionRunner } from './action-runner.ts'
import type { ActionReport } from './ask-decision.ts'
import { notReliedUpon, requireMetadata } from './errors.ts'
import { EMPTY_CHAIN, type Outbox } from './outbox.ts'
import { toArguments } from './tool-call.ts'

type Outcome = 'success' | 'partial' | 'failure'

export interface GovernorOptions {
  readonly decisions: Decider
  /** A key that is registered with the authority for this executor. */
  readonly executor: { readonly signer: Signer; readonly id: string }
  /** Where evidence is stored until it is submitted; a FileOutbox survives the process. */
  readonly outbox: Outbox
  /** Where evidence is submitted. */
  readonly authority: ConnectionOptions & NetworkIdentity
  /** Policies that an allowing decision must rest on; `any` when not given. */
  readonly expectedPolicies?: ExpectedPolicies
  /** Gets failures outside an action, such as an outbox that cannot be read. They are tried again. */
  readonly onError?: (error: unknown) => void
}

export type ExpectedPolicies = 'any' | 'none' | readonly { readonly policy_id: string; readonly version: number }[]

export interface ActionContext {
  readonly answer: AllowedAnswer
  /** Aborted when the governor is closed. */
  readonly signal: AbortSignal
  /** What the evidence states; the detail is metadata, never a secret. */
  report(outcome: Outcome, detail?: string): void
}

export interface ActionOptions<Input> {
  /** What policies may read and evidence states. When not given: nothing but a digest of the input. */
  readonly parameters?: (input: Input) => JsonObject
  readonly resource?: (input: Input) => {
    readonly id: string
    readonly action: 'create' | 'update' | 'rotate' | 'delete'
  }
  /** Whose attestation the decision is about, from the second argument of the call, which is not signed. */
  readonly basis?: (input: Input, call: unknown) => AskBasis
  readonly outcome?: (value: unknown) => Outcome
}

export type GovernedResult<Value> =
  | {
      readonly allowed: true
      readonly value: Value
      readonly answer: AllowedAnswer
      readonly evidence: ExecutionEvidence
      /** False: the evidence is still in the outbox. */
      readonly stored: boolean
    }
  | { readonly allowed: false; readonly answer: DeniedAnswer }

export interface GovernedFunction<Input, Value> {
  /** Throws DeniedError when denied and NoDecisionError without a decision. */
  (input: Input, call?: unknown): Promise<Value>
  /** The same without an exception for a denial. */
  try(input: Input, call?: unknown): Promise<GovernedResult<Value>>
  readonly capability: string
}

/** Wraps functions: each call asks, verifies, stores the intent, runs, signs evidence, stores and submits it. */
export interface Governor extends AsyncDisposable {
  <Value>(
    capability: string,
    action: (input: undefined, context: ActionContext) => Value | Promise<Value>,
    options?: ActionOptions<undefined>,
  ): GovernedFunction<undefined | void, Awaited<Value>>
  <Input extends object, Value>(
    capability: string,
    action: (input: Input, context: ActionContext) => Value | Promise<Value>,
    options?: ActionOptions<NoInfer<Input>>,
  ): GovernedFunction<Input, Awaited<Value>>
  /** Records that wait, and records that the authority refused for good; as of the last call or round. */
  readonly pending: { readonly waiting: number; readonly deadLetters: number }
  flush(): Promise<{ readonly submitted: number; readonly waiting: number }>
  /** Queues refused records again, after their cause is fixed. Returns how many. */
  retryDeadLetters(): Promise<number>
  /** Submits once more and ends; evidence that cannot be submitted stays in the outbox. */
  close(): Promise<void>
}

/** Who decides, and where evidence goes. */
export interface Governing {
  readonly runner: GovernedActionRunner
  readonly decisions: Decider
  readonly expectedPolicies?: ExpectedPolicies
}

/** One call, with the parameters as policies and evidence have them. */
export interface GovernedCall<Value> {
  readonly capability: string
  readonly parameters: JsonObject
  readonly basis?: AskBasis
  /** Of the same call that was held before. */
  readonly approvalId?: string | undefined
  readonly resource?: { readonly id: string; readonly action: 'create' | 'update' | 'rotate' | 'delete' }
  readonly run: (answer: AllowedAnswer, report: (said: ActionReport) => void) => Promise<Value>
}

/**
 * Asks for a decision, does an allowed call and records it. Throws NoDecisionError when there is no decision; then the
 * call was not made. An error of the call itself is thrown unchanged.
 */
export async function governAction<Value>(
  { runner, decisions, expectedPolicies = 'any' }: Governing,
  { capability, parameters, basis = {}, approvalId, resource, run }: GovernedCall<Value>,
): Promise<GovernedResult<Value>> {
  // Checked first, because the store would refuse the evidence only after the action.
  requireMetadata(parameters)
  const more = {
    ...(resource === undefined ? {} : { resource: resource.id }),
    ...(approvalId === undefined ? {} : { approvalId }),
  }
  const idempotencyKey = `governed:${crypto.randomUUID()}`
  const answer = await decisions.ask(capability, { ...basis, parameters, idempotencyKey, ...more }).catch(noDecision)
  if (!answer.allowed) return { allowed: false, answer }
  const { decision } = answer
  if (!isExpected(decision.policy_binding?.policies ?? [], expectedPolicies))
    throw notReliedUpon('policy_binding_mismatch', decision)
  const head = resourceHeadOf(answer)
  const done = await runner.perform({
    decision,
    capability,
    parameters,
    resourceHead: () =>
      Promise.resolve(head ? { sequence: head.resource_sequence, digest: head.record_digest } : EMPTY_CHAIN),
    run: (_decision, report) => run(answer, report),
    ...(resource === undefined ? {} : { resource }),
  })
  return { allowed: true, answer, ...done }
}

function isExpected(
  applied: readonly { readonly policy_id: string; readonly version: number }[],
  expected: ExpectedPolicies,
): boolean {
  if (expected === 'any') return true
  const wanted = expected === 'none' ? [] : expected
  return (
    applied.length === wanted.length &&
    wanted.every(({ policy_id, version }, index) => {
      const found = applied[index]
      return found?.policy_id === policy_id && found.version === version
    })
  )
}

/** The service could not decide; a wrong use and a revocation are separate errors. */
function noDecision(error: unknown): never {
  const isRefused = error instanceof RefusedError && !(error instanceof RevokedError)
  if (isRefused || error instanceof UnreachableError || error instanceof ResponseError)
    throw new NoDecisionError(isRefused ? error.retryAfterSeconds : undefined, { cause: error })
  throw error
}

const GOVERNING = new WeakMap<Governor, Governing>()

/** For adapters that make the parameters of their calls. */
export function governingOf(governor: Governor): Governing {
  const found = GOVERNING.get(governor)
  if (found === undefined) throw new UsageError('this governor was not made by createGovernor()')
  return found
}

/** Opens the outbox, and records interrupted actions of an earlier process where the outbox can detect that it ended. */
// oxlint-disable-next-line max-lines-per-function -- one governor, whose parts share its state
export async function createGovernor(options: GovernorOptions): Promise<Governor> {
  const { decisions, executor, outbox, authority, expectedPolicies = 'any', onError } = options
  readIdentity(authority)
  const stop = new AbortController()
  const runner = await GovernedActionRunner.open({
    client: { evidence: evidenceApi(openConnection(authority)) },
    executor: { signer: executor.signer, sovereignId: executor.id },
    outbox,
    clock: clockOf(authority),
    ...(onError === undefined ? {} : { onError }),
  })
  const governing: Governing = { runner, decisions, expectedPolicies }
  let pending = { waiting: 0, deadLetters: 0 }
  const count = async (): Promise<void> => {
    const entries = await runner.pending()
    const of = (state: string): number => entries.filter((entry) => entry.state === state).length
    pending = { waiting: of('pending'), deadLetters: of('dead_letter') }
  }
  await count()
  runner.start()
  const close = async (): Promise<void> => {
    stop.abort(new Error('the governor was closed'))
    await runner.flush({ force: true })
    await runner.stop()
    await count()
  }
  const govern = <Input, Value>(
    capability: string,
    action: (input: Input, context: ActionContext) => Value | Promise<Value>,
    more: ActionOptions<Input> = {},
  ): GovernedFunction<Input, Value> => {
    const attempt = async (input: Input, call?: unknown): Promise<GovernedResult<Value>> => {
      const digest = digestOfInput(input)
      const { basis, outcome } = more
      const resource = more.resource?.(input)
      const result = await governAction(governing, {
        capability,
        parameters: { ...readParameters(more.parameters?.(input)), ...stateInput(digest) },
        ...(basis === undefined ? {} : { basis: basis(input, call) }),
        ...(resource === undefined ? {} : { resource }),
        run: async (answer, tell) => {
          // The program may have changed the object while the authority decided.
          if (digestOfInput(input) !== digest) throw new UsageError('the input changed after the decision')
          let isReported = false
          const report: ActionContext['report'] = (said, detail) => {
            isReported = true
            tell({ outcome: said, ...(detail === undefined ? {} : { detail }) })
          }
          const value = await action(input, { answer, signal: stop.signal, report })
          if (!isReported && outcome !== undefined) tell({ outcome: outcome(value) })
          return value
        },
      })
      await count().catch((error: unknown) => onError?.(error))
      return result
    }
    const wrapped = async (input: Input, call?: unknown): Promise<Value> => {
      const result = await attempt(input, call)
      if (result.allowed) return result.value
      throw new DeniedError(result.answer)
    }
    return Object.assign(wrapped, { try: attempt, capability })
  }
  const governor = Object.assign(govern, {
    flush: async () => {
      const { stored, waiting } = await runner.flush({ force: true })
      await count()
      return { submitted: stored, waiting }
    },
    retryDeadLetters: async () => {
      const { deadLetters } = (await count(), pending)
      await runner.retryDeadLetters()
      await count()
      return deadLetters
    },
    close,
    [Symbol.asyncDispose]: close,
  })
  Object.defineProperty(governor, 'pending', { get: () => pending })
  // The overloads of the interface say which of the actions have an input.
  const made = governor as unknown as Governor
  GOVERNING.set(made, governing)
  return made
}

const INPUT = 'input_digest'

/** Undefined for a call without an input. */
function digestOfInput(input: unknown): string | undefined {
  return input === undefined ? undefined : digestOf(toArguments(input))
}

function stateInput(digest: string | undefined): JsonObject {
  return { [INPUT]: digest ?? null }
}

function readParameters(given: JsonObject = {}): JsonObject {
  if (Object.hasOwn(given, INPUT)) throw new UsageError(`${INPUT} is the digest of the input: choose another name`)
  return given
}
