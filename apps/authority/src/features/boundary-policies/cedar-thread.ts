import { workerData } from 'node:worker_threads'
import { compareCodePoints } from '@chancery/protocol'
import { lowerThreadPriority, serveCalls } from '@chancery/service-kit/threads'

/** The members of `@cedar-policy/cedar-wasm` that are used here. The package is optional, so its types are not imported. */
interface Cedar {
  getCedarVersion(): string
  checkParseEntities(call: { entities: unknown; schema: string }): Answer
  policySetTextToParts(
    text: string,
  ): { type: 'success'; policies: string[]; policy_templates: string[] } | { type: 'failure'; errors: Problem[] }
  policyToJson(policy: string): { type: string; json?: { annotations?: Record<string, string> } }
  preparsePolicySet(id: string, policies: { staticPolicies: string }): Answer
  preparseSchema(id: string, schema: string): Answer
  statefulIsAuthorized(
    call: object,
  ): { type: 'failure' } | { type: 'success'; response: { decision: 'allow' | 'deny'; diagnostics: Diagnostics } }
  validate(call: {
    schema: string
    policies: { staticPolicies: string }
  }):
    | { type: 'failure'; errors: Problem[] }
    | { type: 'success'; validationErrors: { policyId: string; error: Problem }[] }
}

interface Problem {
  readonly message: string
}
type Answer = { type: 'success' } | { type: 'failure'; errors: Problem[] }

interface Diagnostics {
  readonly reason: string[]
  readonly errors: { policyId: string }[]
}

export interface CedarTexts {
  readonly policySet: string
  readonly schema: string
}

export interface CedarThreadData {
  readonly module: string
  /** Whether a decision waits for it. Other work leaves the processor to decisions. */
  readonly isUrgent: boolean
}

/** Calls of the thread. */
export type CedarCalls = {
  /** The version of Cedar; null when its package is not installed. */
  load(argument: undefined): Promise<string | null>
  prepare(asked: CedarTexts & { readonly key: string }): boolean
  authorize(asked: { readonly key: string; readonly request: string; readonly entities: string }): CedarResult
  check(asked: CedarTexts & { readonly entities: string }): readonly string[]
}

export type CedarResult =
  | { readonly decision: 'allow' | 'deny'; readonly reason: readonly string[]; readonly errors: readonly string[] }
  /** Cedar does not accept the request, for example because it does not fit the schema. */
  | { readonly decision: null }

let loaded: Cedar | undefined
/** Names of the policies of each prepared set, by the ids that Cedar gives them. */
const prepared = new Map<string, ReadonlyMap<string, string>>()

function cedar(): Cedar {
  if (loaded === undefined) throw new Error('Cedar is not loaded')
  return loaded
}

const MAX_NAME = 128
const MAX_PROBLEMS = 8

/** Cedar numbers the policies of a text from policy0 on, and returns them sorted by that id as text. */
function policyNames(policySet: string): ReadonlyMap<string, string> | undefined {
  const parts = cedar().policySetTextToParts(policySet)
  if (parts.type === 'failure') return undefined
  const ids = parts.policies.map((_, index) => `policy${index}`).sort(compareCodePoints)
  return new Map(
    ids.map((id, index) => {
      const name = cedar().policyToJson(parts.policies[index] ?? '').json?.annotations?.['id']
      // Cutting may leave half of a surrogate pair, which no proof can contain.
      return [id, name === undefined || name === '' ? id : name.slice(0, MAX_NAME).toWellFormed()]
    }),
  )
}

/** Everything that is wrong with the texts of a policy, for its author. */
function problemsOf({ policySet, schema, entities }: Parameters<CedarCalls['check']>[0]): readonly string[] {
  const parts = cedar().policySetTextToParts(policySet)
  if (parts.type === 'failure') return messages('policy set', parts.errors)
  if (parts.policy_templates.length > 0) return ['policy set: templates are not supported']
  const validation = cedar().validate({ schema, policies: { staticPolicies: policySet } })
  if (validation.type === 'failure') return messages('policy set or schema', validation.errors)
  const errors = validation.validationErrors.map(({ error }) => error)
  if (errors.length > 0) return messages('policy set', errors)
  const names = [...(policyNames(policySet)?.values() ?? [])]
  if (new Set(names).size !== names.length) return ['policy set: two policies have the same @id']
  const answer = cedar().checkParseEntities({ entities: JSON.parse(entities) as unknown, schema })
  return answer.type === 'failure' ? messages('entities', answer.errors) : []
}

const messages = (about: string, problems: readonly Problem[]): readonly string[] =>
  problems.slice(0, MAX_PROBLEMS).map(({ message }) => `${about}: ${message}`)

/** The order of Cedar's lists differs between runs; a proof must not. */
const sorted = (names: readonly string[]): readonly string[] => [...new Set(names)].sort(compareCodePoints)

function authorize({ key, request, entities }: Parameters<CedarCalls['authorize']>[0]): CedarResult {
  const names = prepared.get(key)
  if (names === undefined) throw new Error('the policy set is not prepared')
  const answer = cedar().statefulIsAuthorized({
    ...(JSON.parse(request) as object),
    entities: JSON.parse(entities) as unknown,
    preparsedPolicySetId: key,
    preparsedSchemaName: key,
    validateRequest: true,
  })
  if (answer.type !== 'success') return { decision: null }
  const { decision, diagnostics } = answer.response
  const nameOf = (id: string): string => names.get(id) ?? id
  return {
    decision,
    reason: sorted(diagnostics.reason.map(nameOf)),
    errors: sorted(diagnostics.errors.map(({ policyId }) => nameOf(policyId))),
  }
}

/**
 * Cedar in a separate thread. A text can make it work for long, and WebAssembly cannot be interrupted from inside: the
 * owner of the thread ends it.
 */
if (!(workerData as CedarThreadData).isUrgent) lowerThreadPriority()
serveCalls({
  load: async () => {
    try {
      loaded = (await import((workerData as CedarThreadData).module)) as Cedar
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return null
      throw error
    }
    return loaded.getCedarVersion()
  },
  prepare: ({ key, policySet, schema }) => {
    const names = policyNames(policySet)
    const isPrepared =
      names !== undefined &&
      cedar().preparseSchema(key, schema).type === 'success' &&
      cedar().preparsePolicySet(key, { staticPolicies: policySet }).type === 'success'
    if (isPrepared) prepared.set(key, names)
    return isPrepared
  },
  authorize,
  check: problemsOf,
} satisfies CedarCalls)
