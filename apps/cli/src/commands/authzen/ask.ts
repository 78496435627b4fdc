import {
  FormError,
  JsonError,
  boundaryDecisionForm,
  contextRecordForm,
  isJsonObject,
  member,
  readJson,
  readReceived,
  signersOf,
  verifyBoundaryDecision,
} from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { type Result, fields } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { runCertify } from './certify.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connect } from '../../connection/connection.ts'
import { loadPublicKeys } from '../../files/keys.ts'
import { loadStructured } from '../../files/json-file.ts'
import { findOtherQuestion } from '@chancery/sdk/internal'
import { endpointOf, openDecisionPoint, pointError, requireObject } from './decision-point.ts'

/** Runs `gateway ask`. The exit code is 1 only for a denial, and 3 for an answer that is no decision. */
export async function runAuthzenAsk(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  return options.isSet('scenario') ? runCertify(context, options) : ask(context, options)
}

async function ask(context: CommandContext, options: Options): Promise<Result> {
  const question = await readQuestion(context, options)
  if (options.isSet('allow-unsigned') && options.isSet('key'))
    throw usageError('Give --key or --allow-unsigned, not both.')
  const point = await openDecisionPoint(context, options)
  const keysFor = await loadKeys(context, options)
  const metadata = requireObject(await point.metadata())
  const url = endpointOf(metadata, 'access_evaluation_endpoint', point)
  const answer = requireObject(await point.post(url, { body: question }))
  const decision = member(answer, 'decision')
  if (typeof decision !== 'boolean') throw pointError('The answer has no decision.')
  const said = objectAt(answer, 'context')
  const chancery = said === undefined ? undefined : objectAt(said, 'chancery')
  const wire = chancery === undefined ? undefined : objectAt(chancery, 'decision')
  const record = chancery === undefined ? undefined : objectAt(chancery, 'context_record')
  const signature = await verify({ wire, record, decision, question }, keysFor, options, context)
  return toResult({ answer, decision, signature, question, reason: textAt(said, 'reason'), wire, record }, context)
}

/** Only members that AuthZEN names: some decision points refuse others. */
async function readQuestion({ cwd }: CommandContext, options: Options): Promise<JsonObject> {
  const properties = readProperties(options)
  const entity = (place: string): JsonObject => {
    const given = requireText(options, place)
    const cut = given.indexOf(':')
    if (cut < 1 || cut === given.length - 1) throw usageError(`--${place} must read <type>:<id>.`)
    return { type: given.slice(0, cut), id: given.slice(cut + 1), ...properties(place) }
  }
  const file = options.text('context')
  return {
    subject: entity('subject'),
    action: { name: requireText(options, 'action'), ...properties('action') },
    resource: entity('resource'),
    ...(file === undefined ? {} : { context: await loadStructured(cwd, file) }),
  }
}

function requireText(options: Options, name: string): string {
  const value = options.text(name)
  if (value === undefined) throw usageError(`--${name} must be given.`, 'Or run a scenario with --scenario.')
  return value
}

function readProperties(options: Options): (place: string) => JsonObject {
  const found = new Map<string, Map<string, JsonValue>>()
  for (const given of options.list('property')) {
    const [, place, name, value] = /^(subject|action|resource)\.([^=]+)=(.*)$/s.exec(given) ?? []
    if (place === undefined || name === undefined || value === undefined)
      throw usageError('--property must read subject.<name>=<value>, action.… or resource.….')
    const of = found.get(place) ?? new Map<string, JsonValue>()
    if (of.has(name)) throw usageError(`--property names ${JSON.stringify(`${place}.${name}`)} twice.`)
    found.set(place, of.set(name, toValue(value)))
  }
  return (place) => {
    const of = found.get(place)
    return of === undefined ? {} : { properties: Object.fromEntries(of) }
  }
}

/** A JSON value, else the text itself. */
function toValue(text: string): JsonValue {
  try {
    return readJson(text)
  } catch (error) {
    if (error instanceof JsonError) return text
    throw error
  }
}

type KeysFor = (decision: object) => readonly string[]

/** The given keys, else those of the configured network. Undefined when no key is known. */
async function loadKeys(context: CommandContext, options: Options): Promise<KeysFor | undefined> {
  const given = await loadPublicKeys(context.cwd, options, 'key')
  if (given !== undefined) return () => given
  const { followed } = await connect(context, options)
  return followed === undefined ? undefined : (decision) => signersOf(followed.keys, decision)
}

interface Answered {
  readonly wire: JsonObject | undefined
  /** The question as the authority decided on it. */
  readonly record: JsonObject | undefined
  readonly decision: boolean
  readonly question: JsonObject
}

type SignatureState = 'verified' | 'not_checked' | 'none'

/**
 * An answer that was not verified is no decision, unless --allow-unsigned takes it as it is. A signed decision that does not
 * verify, says something else than the answer, or is about another question, is none in any case.
 */
async function verify(
  { wire, record, decision, question }: Answered,
  keysFor: KeysFor | undefined,
  options: Options,
  { now }: CommandContext,
): Promise<SignatureState> {
  const isTaken = options.isSet('allow-unsigned')
  if (wire === undefined) {
    if (isTaken) return 'none'
    throw unverified('it has no signed decision', TAKE_HINT)
  }
  if (keysFor === undefined) {
    if (isTaken) return 'not_checked'
    throw unverified('no key of the authority is known', `Give --key. ${TAKE_HINT}`)
  }
  try {
    const received = readReceived(boundaryDecisionForm, wire)
    const verdict = await verifyBoundaryDecision(received, { keys: keysFor(wire), now: now() })
    if (!verdict.accepted) throw unverified(verdict.reason)
    if (received.record.authorized !== decision) throw unverified('the signed decision differs from the answer')
    if (record === undefined) throw unverified('nothing in it names the question that was decided', OLD_HINT)
    const other = findOtherQuestion(received.record, readReceived(contextRecordForm, record).record, question)
    if (other !== undefined) throw unverified(other)
    return 'verified'
  } catch (error) {
    if (error instanceof FormError) throw unverified('it is malformed')
    throw error
  }
}

const OLD_HINT = 'The gateway is of a release that does not send context_record. Update it.'
const TAKE_HINT = 'For a product that signs nothing, add --allow-unsigned: then nothing proves the answer.'

function unverified(
  reason: string,
  hint = 'Do not act on it. Check the key, and ask the operator of the decision point.',
): CommandError {
  const message = `The answer is not verified: ${reason}.`
  return new CommandError({ code: 'decision_unverified', message, hint, exitCode: 3 })
}

const SIGNATURE_WORDS: Readonly<Record<SignatureState, string>> = {
  verified: 'verified',
  not_checked: 'not checked: no key is known, so nothing was verified',
  none: 'the answer has no signed decision, so nothing was verified',
}

interface Shown {
  readonly answer: JsonObject
  readonly decision: boolean
  readonly signature: SignatureState
  readonly question: JsonObject
  readonly reason: string | undefined
  readonly wire: JsonObject | undefined
  readonly record: JsonObject | undefined
}

function toResult(
  { answer, decision, signature, question, reason, wire, record }: Shown,
  { style }: CommandContext,
): Result {
  const id = textAt(wire, 'decision_id')
  const isVerified = signature === 'verified'
  const word = decision ? style.good('Allowed') : style.bad('Denied')
  const title = isVerified ? `${word}.` : `${word}, ${style.warn('not verified')}.`
  const type = textAt(objectAt(question, 'subject'), 'type')
  // The table of the decision point says which attestation a user has. That is not signed.
  const isNamed = type === 'attestation' || type === 'sovereign'
  const chosen = isNamed ? undefined : textAt(record, 'attestation_id')
  const rows = [
    ['reason', reason],
    ['decision', id],
    ['capability', isVerified ? textAt(record, 'requested_capability') : undefined],
    ['basis', isVerified && chosen !== undefined ? `attestation ${chosen}, as the decision point chose it` : undefined],
    ['valid until', textAt(wire, 'decision_valid_until')],
    ['signature', SIGNATURE_WORDS[signature]],
  ].flatMap(([name, value]) => (name === undefined || value === undefined ? [] : [[name, value] as const]))
  return {
    data: {
      ...answer,
      signature,
      verified: isVerified,
      checked: isVerified ? ['signature', 'time', 'question'] : [],
      unproven: isVerified && isNamed ? [] : ['subject'],
    },
    ids: id === undefined ? [] : [id],
    text: `${title}\n${fields(rows, style)}`,
    exitCode: decision ? 0 : 1,
  }
}

function objectAt(value: JsonObject, name: string): JsonObject | undefined {
  const given = member(value, name)
  return given !== undefined && isJsonObject(given) ? given : undefined
}

function textAt(value: JsonObject | undefined, name: string): string | undefined {
  const given = value === undefined ? undefined : member(value, name)
  return typeof given === 'string' ? given : undefined
}
