import { resolve } from 'node:path'
import {
  FormError,
  detectRecordKind,
  isJsonObject,
  meaningOf,
  readFeedIndex,
  signerKeys,
  verifyForeignDecision,
  verifyList,
  verifyRecordOfKind,
  visible,
} from '@chancery/protocol'
import type { BoundaryDecision, JsonObject, JsonValue, OfflineTrust, RecordKindName } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { type Result, fields, verdictText } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { loadKeyHistory, loadVerifiedGenesis } from '../../files/genesis-file.ts'
import { loadJsonObject, loadRecord } from '../../files/json-file.ts'
import type { Options } from '../../arguments/options.ts'
import { loadKeysByName, loadNamedKeys, loadPlainKeys } from '../../files/named-keys.ts'
import { COMMITMENT } from '../disclosure/disclosure.ts'
import { type EvaluatedFile, OFFLINE_REASONS, type VerifiedFile, findEvaluated, verifyEvaluated } from './evaluated.ts'
import { CHECKED_WORDS, KIND_WORDS, UNPROVEN_WORDS } from './kinds.ts'

/** Texts for the index of a feed, in the form of those of other records. */
const FEED_INDEX_WORDS = {
  name: 'index of a revocation feed',
  proves: 'The issuer signed the digests of the parts of its feed. Compare each part with its digest.',
}

function isFeedIndex(value: JsonObject): boolean {
  return Object.hasOwn(value, 'index_id')
}

/** Signed, by a given key, and in the name of the network of the genesis block. */
async function verifyFeedIndex(value: JsonObject, trust: OfflineTrust): Promise<VerifiedFile> {
  if (trust.genesis === undefined && trust.keys.length === 0) return { ok: false, reason: 'keys_needed' }
  try {
    const index = readFeedIndex(value)
    if (index.signatures.length === 0) return { ok: false, reason: 'missing_signature' }
    if (!(await verifyList(index, signerKeys(trust, index)))) return { ok: false, reason: 'invalid_signature' }
    if (trust.genesis === undefined) return { ok: true, checked: ['signature'], unproven: ['network', 'newest'] }
    if (trust.genesis.network_name !== index.issuer_sovereign_id) return { ok: false, reason: 'wrong_issuer' }
    return { ok: true, checked: ['signature', 'network'], unproven: ['newest'] }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: error.message }
  }
}

/** The options of a decision on a member of a partner; undefined when none was given. */
function foreignDecisionFiles(options: Options): ForeignFiles | undefined {
  const [attestation, treaty, context] = [options.text('attestation'), options.text('treaty'), options.text('context')]
  if (attestation === undefined && treaty === undefined && context === undefined) return undefined
  if (attestation === undefined || treaty === undefined)
    throw usageError("A decision on a partner's member needs its attestation and the treaty: --with.")
  return { attestation, treaty, context }
}

interface ForeignFiles {
  readonly attestation: string
  readonly treaty: string
  readonly context: string | undefined
}

/** Follows the decision to context, attestation and treaty (protocol/trust-operations 4.13). */
async function verifyForeignFile(
  cwd: string,
  evaluated: EvaluatedFile | undefined,
  { files, trust }: { readonly files: ForeignFiles; readonly trust: OfflineTrust },
): Promise<VerifiedFile> {
  if (evaluated === undefined)
    throw usageError('The file must contain decision and justification_proof, as ask --out writes them.')
  const { decision, proof: justification } = evaluated
  const context = files.context === undefined ? evaluated.context : await loadJsonObject(cwd, files.context)
  if (context === undefined) throw usageError('The file holds no context. Give it with --with.')
  const attestation = await loadJsonObject(cwd, files.attestation)
  const treaty = await loadJsonObject(cwd, files.treaty)
  const keys = signerKeys(trust, decision)
  const given = { decision, justification, context, attestation, treaty }
  const verdict = await verifyForeignDecision(given, { keys, now: trust.now })
  const { genesis } = trust
  if (verdict.accepted && genesis !== undefined && decision['operator_sovereign_id'] !== genesis.network_name)
    return { ok: false, reason: 'wrong_issuer' }
  if (verdict.accepted) {
    const parts = { ok: true, result: verdict.reason } as const
    return genesis === undefined
      ? { ...parts, checked: ['signature', 'time', 'basis'], unproven: ['network', 'revocation'] }
      : { ...parts, checked: ['signature', 'network', 'time', 'basis'], unproven: ['revocation'] }
  }
  const { reason, problem } = verdict
  return { ok: false, reason, ...(problem === undefined ? {} : { problem }) }
}

/** Verifies a record offline. The verdict is a result; the exit code is 0 only when the record is valid. */
export async function verifyRecord(context: CommandContext, file: JsonObject, options: Options): Promise<Result> {
  const { cwd, style } = context
  const evaluated = findEvaluated(file)
  const value = evaluated?.decision ?? file
  const trust = await loadTrustInputs(context, options, value)
  const kind = isFeedIndex(value) ? 'feed-index' : detectRecordKind(value)
  if (kind === undefined) {
    const verdict = { valid: false, reason: 'unrecognized' }
    const data = { ...verdict, kind: null, explanation: OFFLINE_REASONS['unrecognized'] ?? '' }
    return { data, text: verdictText(verdict, OFFLINE_REASONS, style), exitCode: 1 }
  }
  const { name, proves } = kind === 'feed-index' ? FEED_INDEX_WORDS : KIND_WORDS[kind]
  const files = foreignDecisionFiles(options)
  const verified: VerifiedFile = await (files === undefined
    ? verify(kind, value, trust, evaluated)
    : verifyForeignFile(cwd, evaluated, { files, trust }))
  if (!verified.ok && verified.reason.endsWith('_needed')) return notVerified(kind, verified.reason, context)
  const { result, checked, unproven } = verified.ok ? verified : { result: undefined, checked: [], unproven: [] }
  const verdict = { valid: verified.ok, reason: verified.ok ? 'valid' : verified.reason }
  const words = { ...OFFLINE_REASONS, valid: proves }
  const problem = verified.ok ? undefined : verified.problem
  const more = [
    ...(result === undefined
      ? []
      : [`  ${result === 'authorized' ? style.good('Allowed') : style.bad('Denied')}: ${result}`]),
    ...(checked.length === 0 ? [] : [`  Checked: ${checked.map((each) => CHECKED_WORDS[each]).join(', ')}.`]),
    ...unproven.map((each) => `${style.warn('Not proven:')} ${UNPROVEN_WORDS[each]}`),
    ...(problem === undefined ? [] : [`  ${visible(problem)}`]),
  ]
  const text = [verdictText(verdict, words, style), ...more, describe(kind, name, value, context)].join('\n')
  const explanation = words[verdict.reason as keyof typeof words] ?? verdict.reason
  const data = {
    ...verdict,
    kind,
    explanation,
    problem: problem ?? null,
    checked,
    unproven,
    ...(result === undefined ? {} : { result }),
  }
  return { data, text, exitCode: verified.ok ? 0 : 1 }
}

/** Without a key the record may be valid. A program that reads only `valid` does not accept it. */
function notVerified(kind: VerifiedKind, reason: string, { style }: CommandContext): Result {
  const { name } = kind === 'feed-index' ? FEED_INDEX_WORDS : KIND_WORDS[kind]
  const explanation = OFFLINE_REASONS[reason] ?? reason
  const data = { valid: false, reason, kind, explanation, problem: null, checked: [], unproven: [] }
  return { data, text: `${style.warn('Unknown:')} ${name}; ${explanation}`, exitCode: 3 }
}

type VerifiedKind = RecordKindName | 'feed-index'

async function verify(
  kind: VerifiedKind,
  value: JsonObject,
  trust: OfflineTrust,
  evaluated: EvaluatedFile | undefined,
): Promise<VerifiedFile> {
  if (evaluated !== undefined) return verifyEvaluated(evaluated, trust)
  if (kind === 'feed-index') return verifyFeedIndex(value, trust)
  const verdict = await verifyRecordOfKind(kind, value, trust)
  if (!verdict.ok || kind !== 'boundary-decision') return verdict
  return { ...verdict, result: meaningOf(verdict.record as BoundaryDecision) }
}

async function loadTrustInputs(
  { cwd, now }: CommandContext,
  options: Options,
  value: JsonObject,
): Promise<OfflineTrust> {
  const [keys, named] = [await loadPlainKeys(cwd, options), await loadKeysByName(cwd, options)]
  // Both together would not state which keys are trusted.
  if (options.isSet('genesis') && keys.length > 0) throw usageError('Give --key or --genesis, not both.')
  const given = options.text('commitment')
  const offerer = await loadNamedKeys(cwd, options, 'offerer', nameIn(value, 'offerer_sovereign_id'))
  const responder = await loadNamedKeys(cwd, options, 'responder', nameIn(value, 'responder_sovereign_id'))
  const assembler = await loadNamedKeys(cwd, options, 'assembler')
  return {
    keys: assembler === undefined ? keys : [...keys, ...assembler],
    validatorKeys: new Map(Object.entries(named)),
    now: now(),
    ...(offerer === undefined ? {} : { offererKeys: offerer }),
    ...(responder === undefined ? {} : { responderKeys: responder }),
    ...(await loadNetwork(cwd, options)),
    ...(given === undefined ? {} : { commitment: await loadRecord(cwd, given, COMMITMENT) }),
  }
}

/** The party that a record names: its key may be given under this name. */
function nameIn(value: JsonObject, member: string): string {
  const name = value[member]
  return typeof name === 'string' ? name : ''
}

/** The genesis block, with the former keys of its authority if a key history is given. */
async function loadNetwork(cwd: string, options: Options): Promise<Pick<OfflineTrust, 'genesis' | 'history'>> {
  const [file, historyFile] = [options.text('genesis'), options.text('key-history')]
  if (file === undefined && historyFile !== undefined)
    throw usageError('--key-history needs --genesis: its root signed both.')
  if (file === undefined) return {}
  const genesis = await loadVerifiedGenesis(resolve(cwd, file))
  return historyFile === undefined ? { genesis } : { genesis, history: await loadKeyHistory(cwd, historyFile, genesis) }
}

/** Describes the content of the file. It is proved only if the record is valid. */
function describe(kind: VerifiedKind, name: string, value: JsonObject, { style }: CommandContext): string {
  const id = Object.entries(value).find(([member, found]) => member.endsWith('_id') && typeof found === 'string')
  const network = value['network_name']
  const named = typeof id?.[1] === 'string' ? id[1] : typeof network === 'string' ? network : '-'
  return fields(
    [
      ['record', name],
      ['kind', kind],
      ['names', named],
      ['signed by', labelsOf(value).join(', ') || 'not signed'],
    ],
    style,
  )
}

/** Labels of the signatures in the file. They are names and prove nothing. */
function labelsOf(value: JsonObject): string[] {
  const carried: JsonValue[] = [value['signature'] ?? [], value['signatures'] ?? []].flat()
  return carried.flatMap((each) => {
    const label = isJsonObject(each) ? each['key_id'] : undefined
    return typeof label === 'string' ? [label] : []
  })
}
