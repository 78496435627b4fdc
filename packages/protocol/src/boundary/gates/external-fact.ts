import { digestOf } from '../../canonical/digest.ts'
import { type JsonObject, type JsonValue, emptyObject, isJsonObject, member } from '../../canonical/utf8.ts'
import { CLOCK_TOLERANCE, readInstant, seconds } from '../../canonical/time.ts'
import { FormError, type Read, described } from '../../reading/schema.ts'
import { closed, integer, object, required, string, withDefault } from '../../reading/shape.ts'
import { depthOf, instantOf, label, matching } from '../../reading/text.ts'
import { equalScalars, isScalar } from '../engine-question.ts'
import type { EngineAnswer, ExternalFact, FactQuestion, Scalar } from '../engine-question.ts'
import { type Facts, findFact, readFactPath } from '../facts.ts'
import { failureOf } from './cedar.ts'
import { type FactVerdict, type GateReading, type GateType, readConfig, scalar } from './gate.ts'

const ORIGIN = /^https?:\/\/[A-Za-z0-9.:[\]-]{1,256}$/
/** No // at the start: it would name another host. */
const PATH = /^\/(?!\/)[!-"$-[\]-~]{0,511}$/
const MEMBER = /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,7}$/

const responseMember: Read<readonly string[]> = described(
  (value, field) => matching(MEMBER, 'the place of a member is needed')(value, field).split('.'),
  () => ({ type: 'string', pattern: MEMBER.source }),
)

const shape = closed({
  origin: required(matching(ORIGIN, 'an origin is needed: https://host or https://host:port')),
  path: required(matching(PATH, 'a path that begins with one / is needed')),
  question: required(object),
  answer: required(closed({ path: required(responseMember), equals: withDefault<Scalar>(scalar, true) })),
  revision: withDefault<{ path: readonly string[]; equals: string } | undefined>(
    closed({ path: required(responseMember), equals: required(label) }),
    undefined,
  ),
  freshness: withDefault<{ path: readonly string[]; max_age_seconds: number } | undefined>(
    closed({ path: required(responseMember), max_age_seconds: required(integer(1, 86_400)) }),
    undefined,
  ),
  time_limit_ms: withDefault(integer(10, 1000), 200),
})
export const externalFactConfig: Read<unknown> = shape
type FactConfig = ReturnType<typeof shape>

/** The origin of a valid config. */
export function factOrigin(config: JsonObject): string {
  return readConfig(shape, config).origin
}

function readFactConfig(given: JsonObject): FactConfig {
  const config = readConfig(shape, given)
  if (depthOf(config.question) > MAX_TEMPLATE_DEPTH) throw new FormError('question', 'is nested too deeply')
  if (isReference(config.question)) throw new FormError('question', 'must have members besides fact')
  checkTemplate(config.question, 'question')
  return config
}

/** Another system must give the expected answer, in time. No answer denies. The answer is part of the proof. */
export const externalFact: GateType = {
  name: 'external_fact.v1',
  prepare(given) {
    const config = readFactConfig(given)
    const { origin, path } = config
    return (facts) => {
      const asked = ask(config, facts)
      if ('verdict' in asked) return toReading(asked.verdict, { origin, path }, undefined)
      const { digest: question_digest, body } = asked.question
      const answer = facts.answers?.get(question_digest)
      const inputs = { origin, path, question_digest, ...answerInputs(answer), condition: conditionOf(config) }
      return toReading(judge(config, answer, facts), inputs, body)
    }
  },
  prepareQuestion(given) {
    const config = readFactConfig(given)
    return (facts) => {
      const asked = ask(config, facts)
      return 'question' in asked ? asked.question : undefined
    }
  },
}

/** What a proof recorded of an answer, to check it again. Undefined when the inputs are of another gate. */
export function readRecordedFact(inputs: JsonObject): EngineAnswer | undefined {
  const { failure, observed_at, answer, revision, as_of } = inputs
  if (typeof failure === 'string') return { kind: 'none', failure: failure as 'not_asked' }
  if (typeof observed_at !== 'string' || (answer !== undefined && !isScalar(answer))) return undefined
  return {
    kind: 'external_fact',
    answer,
    revision: typeof revision === 'string' ? revision : undefined,
    as_of: typeof as_of === 'string' ? as_of : undefined,
    observed_at,
  }
}

/** An answer for simulations and tests of policies: as a source with the expected revision would give it now. */
export function supposedFact({ revision }: FactQuestion, answer: Scalar, at: string): ExternalFact {
  return { kind: 'external_fact', answer, revision, as_of: at, observed_at: at }
}

const MAX_TEXT = 256

/** Takes from a response what the gate uses. A value that is no scalar, or too long, counts as absent. */
export function readFactResponse({ members }: FactQuestion, response: JsonValue, observed_at: string): ExternalFact {
  const at = (place: readonly string[] | undefined): Scalar | undefined => {
    let found: JsonValue | undefined = place === undefined ? undefined : response
    for (const name of place ?? []) found = isJsonObject(found) ? member(found, name) : undefined
    if (found === undefined || !isScalar(found)) return undefined
    return typeof found === 'string' && found.length > MAX_TEXT ? undefined : found
  }
  const text = (place: readonly string[] | undefined): string | undefined => {
    const found = at(place)
    return typeof found === 'string' ? found : undefined
  }
  const { answer, revision, as_of } = members
  return { kind: 'external_fact', answer: at(answer), revision: text(revision), as_of: text(as_of), observed_at }
}

type Asked = { readonly question: FactQuestion } | { readonly verdict: FactVerdict }

function ask(config: FactConfig, facts: Facts): Asked {
  const filled = fill(config.question, facts)
  if ('verdict' in filled) return filled
  const { origin, path, time_limit_ms, answer, revision, freshness } = config
  const body = filled.value as JsonObject
  const members = { answer: answer.path, revision: revision?.path, as_of: freshness?.path }
  const digest = digestOf({ origin, path, body, members: Object.values(members).map((each) => each ?? null) })
  const asked = { origin, path, body, time_limit_ms, revision: revision?.equals, members }
  return { question: { kind: 'external_fact', digest, ...asked } }
}

/** A text that continues a prefix must not contain the signs with which other systems separate types and relations. */
const CONTINUES = /^[A-Za-z0-9._@-]{1,256}$/
const reference = closed({ fact: required(readFactPath), prefix: withDefault<string>(string, '') })

const isReference = (value: JsonObject): boolean => Object.hasOwn(value, 'fact')

function checkTemplate(value: JsonValue, field: string): void {
  if (Array.isArray(value)) for (const [index, each] of value.entries()) checkTemplate(each, `${field}[${index}]`)
  if (!isJsonObject(value)) return
  if (isReference(value)) reference(value, field)
  else for (const each of Object.values(value)) checkTemplate(each, field)
}

type Filled = { readonly value: JsonValue } | { readonly verdict: FactVerdict }

const MAX_TEMPLATE_DEPTH = 16
/** Levels of a fact in a question. A proof that shows the question must itself be readable, at most 64 deep. */
const MAX_DEPTH = 32

/** The question with facts in the place of their references. */
function fill(template: JsonValue, facts: Facts): Filled {
  if (Array.isArray(template)) {
    const items: JsonValue[] = []
    for (const each of template as readonly JsonValue[]) {
      const filled = fill(each, facts)
      if ('verdict' in filled) return filled
      items.push(filled.value)
    }
    return { value: items }
  }
  if (!isJsonObject(template)) return { value: template }
  if (isReference(template)) return fillReference(template, facts)
  const out = emptyObject()
  for (const [name, each] of Object.entries(template)) {
    const filled = fill(each, facts)
    if ('verdict' in filled) return filled
    out[name] = filled.value
  }
  return { value: out }
}

function fillReference(template: JsonObject, facts: Facts): Filled {
  const { fact, prefix } = reference(template, '')
  const { value } = findFact(fact, facts)
  if (value === undefined || value === null) return { verdict: ['missing_context', `${fact.text} is missing`] }
  if (depthOf(value) > MAX_DEPTH) return { verdict: ['invalid_context', `${fact.text} is nested too deeply`] }
  if (prefix === '') return { value }
  if (typeof value !== 'string' || !CONTINUES.test(value))
    return { verdict: ['invalid_context', `${fact.text} cannot follow a prefix`] }
  return { value: `${prefix}${value}` }
}

function conditionOf({ answer, revision, freshness }: FactConfig): JsonObject {
  return {
    answer: answer.path.join('.'),
    equals: answer.equals,
    ...(revision === undefined ? {} : { revision: revision.equals }),
    ...(freshness === undefined ? {} : { max_age_seconds: freshness.max_age_seconds }),
  }
}

function answerInputs(answer: EngineAnswer | undefined): JsonObject {
  if (answer?.kind !== 'external_fact') return { failure: failureOf(answer).failure }
  const { answer: value, revision, as_of, observed_at } = answer
  return {
    ...(value === undefined ? {} : { answer: value }),
    ...(revision === undefined ? {} : { revision }),
    ...(as_of === undefined ? {} : { as_of }),
    observed_at,
  }
}

/** Compared with the time of the request and not with a clock, so that the same record gives the same verdict. */
function judge(config: FactConfig, answer: EngineAnswer | undefined, { context }: Facts): FactVerdict {
  if (answer?.kind !== 'external_fact') return ['gate_error', `the source gave no answer: ${failureOf(answer).failure}`]
  const { revision, freshness } = config
  if (answer.answer === undefined) return ['missing_context', 'the response has no answer']
  if (revision !== undefined && answer.revision !== revision.equals)
    return ['gate_error', 'the source has another revision']
  if (freshness !== undefined && !isFresh(answer.as_of, freshness.max_age_seconds, context.requested_at))
    return ['gate_error', 'the answer is too old']
  return equalScalars(answer.answer, config.answer.equals)
    ? ['pass', 'the answer is the expected one']
    : ['fail', 'the answer is another one']
}

function isFresh(as_of: string | undefined, maxAgeSeconds: number, requested_at: string): boolean {
  const at = as_of === undefined ? undefined : readInstant(as_of)
  if (at === undefined) return false
  const now = instantOf(requested_at)
  return at <= now + CLOCK_TOLERANCE && at + seconds(maxAgeSeconds) >= now
}

function toReading([outcome, text]: FactVerdict, inputs: JsonObject, body: JsonObject | undefined): GateReading {
  return {
    outcome,
    text,
    path: '',
    type: body === undefined ? 'missing' : 'object',
    value: body,
    condition: {},
    inputs,
  }
}
