import { canonicalBytes } from '../../canonical/canonical-json.ts'
import { digestOf } from '../../canonical/digest.ts'
import { type JsonObject, type JsonValue, emptyObject, isJsonObject } from '../../canonical/utf8.ts'
import { FormError, type Read, described } from '../../reading/schema.ts'
import { arrayOf, closed, object, oneOf, required, withDefault } from '../../reading/shape.ts'
import { digest, matching } from '../../reading/text.ts'
import type { CedarQuestion, EngineAnswer, EngineFailure } from '../engine-question.ts'
import { type FactPath, type Facts, findFact } from '../facts.ts'
import { UnfitValueError, toCedarRecord, toCedarValue } from './cedar-value.ts'
import { type FactVerdict, type GateReading, type GateType, factPath, readConfig } from './gate.ts'

const TYPE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}(?:::[A-Za-z_][A-Za-z0-9_]{0,63}){0,7}$/
const typeName = matching(TYPE_NAME, 'the name of a Cedar type is needed')
const entity = closed({ type: required(typeName), id: required(factPath) })

const CONTEXT_MEMBERS = [
  'request_parameters',
  'attributes',
  'attestation',
  'requested_at',
  'requested_capability',
  'requester_sovereign_id',
  'provider_sovereign_id',
  'agreement_id',
  'parent_kind',
  'context_freshness_seq',
] as const

/** Entities of the policy author: the same for every request, so they may name other entities. */
const fixedEntity: Read<JsonObject> = described(
  (value, field) => {
    try {
      return toCedarRecord(object(value, field), 'allowed')
    } catch (error) {
      if (error instanceof UnfitValueError) throw new FormError(field, 'has a value that Cedar does not have')
      throw error
    }
  },
  () => ({ type: 'object' }),
)

const shape = closed({
  policy_set_digest: required(digest),
  schema_digest: required(digest),
  principal: required(entity),
  action: required(entity),
  resource: required(entity),
  context: withDefault<readonly (typeof CONTEXT_MEMBERS)[number][]>(
    arrayOf(oneOf(...CONTEXT_MEMBERS), { max: CONTEXT_MEMBERS.length, distinct: true }),
    [],
  ),
  entities: withDefault<readonly JsonObject[]>(arrayOf(fixedEntity, { max: 256 }), []),
})
export const cedarConfig: Read<unknown> = shape
type CedarConfig = ReturnType<typeof shape>

/** The digests of the texts that a valid config names. */
export function cedarTexts(config: JsonObject): { policy_set_digest: string; schema_digest: string } {
  const { policy_set_digest, schema_digest } = readConfig(shape, config)
  return { policy_set_digest, schema_digest }
}

/** The entities of a valid config, as Cedar reads them. */
export function cedarEntities(config: JsonObject): readonly JsonObject[] {
  return readConfig(shape, config).entities
}

/** A Cedar policy set must allow the request. Any error of any of its policies denies. */
export const cedar: GateType = {
  name: 'cedar.v1',
  prepare(given) {
    const config = readConfig(shape, given)
    const fixed = fixedInputs(config)
    return (facts) => {
      const asked = ask(config, fixed, facts)
      if ('verdict' in asked) return toReading(asked.verdict, { ...fixed }, undefined)
      const answer = facts.answers?.get(asked.question.digest)
      const inputs = { ...fixed, request_digest: digestOf(asked.question.request), ...answerInputs(answer) }
      return toReading(judge(answer), inputs, asked.question.request)
    }
  },
  prepareQuestion(given) {
    const config = readConfig(shape, given)
    const fixed = fixedInputs(config)
    return (facts) => {
      const asked = ask(config, fixed, facts)
      return 'question' in asked ? asked.question : undefined
    }
  },
}

type FixedInputs = {
  readonly engine: 'cedar'
  readonly policy_set_digest: string
  readonly schema_digest: string
  readonly entities_digest: string
}

function fixedInputs({ policy_set_digest, schema_digest, entities }: CedarConfig): FixedInputs {
  return { engine: 'cedar', policy_set_digest, schema_digest, entities_digest: digestOf(entities) }
}

/** The time that Cedar needs grows with the request, and every caller waits for the same thread. */
const MAX_REQUEST_BYTES = 16_384
const TOO_LARGE = `the request has more than ${MAX_REQUEST_BYTES} bytes`

type Asked = { readonly question: CedarQuestion } | { readonly verdict: FactVerdict }

function ask(config: CedarConfig, fixed: FixedInputs, facts: Facts): Asked {
  const named: { [name: string]: JsonValue } = {}
  for (const name of ['principal', 'action', 'resource'] as const) {
    const id = entityId(config[name].id, facts)
    if (typeof id !== 'string') return { verdict: id }
    named[name] = { type: config[name].type, id }
  }
  try {
    const request = { ...named, context: contextOf(config.context, facts) }
    if (canonicalBytes(request).length > MAX_REQUEST_BYTES) return { verdict: ['invalid_context', TOO_LARGE] }
    const { policy_set_digest, schema_digest, entities } = config
    const digestOfQuestion = digestOf({ ...fixed, request })
    return {
      question: { kind: 'cedar', digest: digestOfQuestion, policy_set_digest, schema_digest, entities, request },
    }
  } catch (error) {
    if (!(error instanceof UnfitValueError)) throw error
    return { verdict: ['invalid_context', 'a fact has a value that Cedar does not have'] }
  }
}

function entityId(path: FactPath, facts: Facts): string | FactVerdict {
  const { value } = findFact(path, facts)
  if (value === undefined || value === null) return ['missing_context', `${path.text} is missing`]
  return typeof value === 'string' ? value : ['invalid_context', `${path.text} is not a text`]
}

function contextOf(names: CedarConfig['context'], { context, attestation }: Facts): JsonObject {
  const out = emptyObject()
  for (const name of names) {
    if (name === 'requested_at') out[name] = toDatetime(context.requested_at)
    else if (name !== 'attestation') out[name] = toCedarValue(context[name])
    else if (attestation !== undefined) {
      const { subject_id, roles, claims } = attestation
      out[name] = toCedarRecord({ subject_id, roles, claims })
    }
  }
  return out
}

/** Times of Cedar have milliseconds. The authority writes this time itself, in UTC. */
function toDatetime(text: string): JsonObject {
  const [, whole = '', fraction = ''] = /^([0-9T:-]+)(?:\.([0-9]+))?Z$/.exec(text) ?? []
  if (whole === '') throw new UnfitValueError()
  return { __extn: { fn: 'datetime', arg: `${whole}.${fraction.slice(0, 3).padEnd(3, '0')}Z` } }
}

function answerInputs(answer: EngineAnswer | undefined): JsonObject {
  if (answer?.kind === 'cedar') {
    const { engine_version, decision, reason, errors } = answer
    return { engine_version, decision, reason, errors }
  }
  const { failure, engine_version } = failureOf(answer)
  return { failure, ...(engine_version === undefined ? {} : { engine_version }) }
}

/** An answer of another kind counts as none. */
export function failureOf(answer: EngineAnswer | undefined): { failure: EngineFailure; engine_version?: string } {
  return answer?.kind === 'none' ? answer : { failure: 'not_asked' }
}

const MAX_NAMED = 3

function judge(answer: EngineAnswer | undefined): FactVerdict {
  if (answer?.kind !== 'cedar') {
    const { failure } = failureOf(answer)
    if (failure === 'request_refused') return ['invalid_context', 'the request does not fit the Cedar schema']
    return ['gate_error', `Cedar gave no answer: ${failure}`]
  }
  const { decision, reason, errors } = answer
  const named = (names: readonly string[]): string =>
    `${names.slice(0, MAX_NAMED).join(', ')}${names.length > MAX_NAMED ? ', …' : ''}`
  // Cedar leaves out a policy that fails, also a forbid: its answer is then about other rules than the signed ones.
  if (errors.length > 0) return ['gate_error', `a Cedar policy could not be evaluated: ${named(errors)}`]
  if (decision === 'allow') return ['pass', `permitted by ${named(reason)}`]
  return ['fail', reason.length === 0 ? 'no Cedar policy permits the request' : `forbidden by ${named(reason)}`]
}

function toReading([outcome, text]: FactVerdict, inputs: JsonObject, request: JsonObject | undefined): GateReading {
  return {
    outcome,
    text,
    path: '',
    type: isJsonObject(request) ? 'object' : 'missing',
    value: request,
    condition: {},
    inputs,
  }
}
