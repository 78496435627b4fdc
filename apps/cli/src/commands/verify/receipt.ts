import { resolve } from 'node:path'
import {
  LogPolicyError,
  applyLogPolicy,
  canonicalJson,
  fromHex,
  fromUtf8,
  hashLeaf,
  isJsonObject,
  logIdentityForm,
  openCheckpointByAny,
  readEventLine,
  readJson,
  readLogPolicy,
  readOrUndefined,
  readReceipt,
  readReceived,
  readTlogProof,
  sha256,
  toHex,
  trustLog,
  verifyInclusion,
  verifyReceipt,
} from '@chancery/protocol'
import type {
  JsonObject,
  JsonValue,
  LogCheckpoint,
  LogIdentity,
  LogPolicy,
  LogTrust,
  Receipt,
  TlogProof,
} from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import { loadKeyHistory, loadVerifiedGenesis } from '../../files/genesis-file.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { type Result, fields } from '../../output/screen.ts'

const MAX_BYTES = 256 * 1024
const MAX_LINE_BYTES = 16 * 1024 * 1024

/** Who may sign the log: a policy with witnesses, or the log of an authority. */
type Trust = { readonly policy: LogPolicy } | { readonly log: LogTrust }

/** The entry that the receipt must prove, from another place than the receipt. */
interface GivenEntry {
  readonly digest: Uint8Array
  readonly decisionId: string | null
}

/** Whether these bytes are a receipt of the log, in one of its two forms. */
export function isReceipt(bytes: Uint8Array): boolean {
  if (bytes.length > MAX_BYTES) return false
  const text = fromUtf8(bytes)
  return (text !== undefined && readTlogProof(text) !== undefined) || readReceipt(bytes) !== undefined
}

/** `verify` of a receipt, offline. */
export async function verifyReceiptFile(context: CommandContext, bytes: Uint8Array, options: Options): Promise<Result> {
  const trust = await loadTrust(context, options)
  const given = await loadEntry(context, options)
  const text = bytes.length > MAX_BYTES ? undefined : fromUtf8(bytes)
  const proof = text === undefined ? undefined : readTlogProof(text)
  const receipt = proof === undefined && bytes.length <= MAX_BYTES ? readReceipt(bytes) : undefined
  if (proof !== undefined) return toResult(context, 'tlog-proof', await checkProof(proof, trust, given))
  if (receipt !== undefined) return toResult(context, 'cose', await checkReceipt(receipt, trust, given))
  throw new CommandError({
    code: 'invalid_receipt',
    message: 'This is neither a .tlog-proof nor a COSE receipt of inclusion.',
    hint: 'Ask for the file again, unchanged.',
  })
}

interface Verdict {
  /** Null when the receipt is valid. */
  readonly reason: string | null
  readonly facts: JsonObject
}

async function checkProof(proof: TlogProof, trust: Trust, given: GivenEntry | undefined): Promise<Verdict> {
  const { checkpoint, cosigners, reason } = await openNote(proof.checkpoint, trust)
  const envelope = readEnvelope(proof.extra)
  const digest = given?.digest ?? envelope?.digest
  // With the keys of the log alone, no signature of a witness is looked at.
  const facts: JsonObject = {
    origin: checkpoint?.origin ?? null,
    tree_size: checkpoint?.size ?? null,
    leaf_index: proof.index,
    entry_digest: digest === undefined ? null : toHex(digest),
    decision_id: given?.decisionId ?? envelope?.decisionId ?? null,
    cosigners: 'log' in trust ? null : [...cosigners],
  }
  if (checkpoint === undefined || reason !== null) return { reason, facts }
  if (digest === undefined) return { reason: 'entry_missing: give its line with --with, or --digest', facts }
  if (envelope !== undefined && toHex(envelope.digest) !== toHex(digest)) return { reason: 'other_entry', facts }
  const { size, root } = checkpoint
  const isIn = verifyInclusion({ index: proof.index, size, leafHash: hashLeaf(digest), root, proof: proof.proof })
  return { reason: isIn ? null : 'not_in_log', facts }
}

async function openNote(
  note: string,
  trust: Trust,
): Promise<{
  readonly checkpoint: LogCheckpoint | undefined
  readonly cosigners: readonly string[]
  readonly reason: string | null
}> {
  if ('log' in trust) {
    const checkpoint = await openCheckpointByAny(note, trust.log.origin, trust.log.keys)
    return { checkpoint, cosigners: [], reason: checkpoint === undefined ? 'checkpoint_invalid_signature' : null }
  }
  const found = await applyLogPolicy(note, trust.policy)
  if (found === undefined) return { checkpoint: undefined, cosigners: [], reason: 'checkpoint_invalid_signature' }
  const { checkpoint, cosigners, hasQuorum } = found
  return { checkpoint, cosigners, reason: hasQuorum ? null : 'quorum_not_met' }
}

/** A COSE receipt has the signature of the log alone. A policy that needs witnesses is not met by it. */
async function checkReceipt(receipt: Receipt, trust: Trust, given: GivenEntry | undefined): Promise<Verdict> {
  const { issuer, subject, size, index } = receipt
  const facts: JsonObject = {
    origin: issuer,
    tree_size: size,
    leaf_index: index,
    entry_digest: given === undefined ? null : toHex(given.digest),
    decision_id: subject.startsWith(SUBJECT) ? subject.slice(SUBJECT.length) : null,
    cosigners: [],
  }
  if (given === undefined) return { reason: 'entry_missing: give its line with --with, or --digest', facts }
  if (given.decisionId !== null && subject !== `${SUBJECT}${given.decisionId}`) return { reason: 'other_entry', facts }
  if ('policy' in trust && trust.policy.quorum !== 'none') return { reason: 'quorum_not_met', facts }
  const keys =
    'log' in trust
      ? trust.log.origin === issuer
        ? trust.log.keys
        : []
      : trust.policy.logs.filter(({ name }) => name === issuer).map(({ publicKey }) => publicKey)
  for (const key of keys) if (await verifyReceipt(receipt, hashLeaf(given.digest), key)) return { reason: null, facts }
  return { reason: 'invalid_signature', facts }
}

const SUBJECT = 'urn:chancery:decision:'

/** The extra data of our proofs: the envelope of the entry, whose digest is the leaf. It is computed here, and nothing else in it is used. */
function readEnvelope(extra: Uint8Array | undefined): GivenEntry | undefined {
  if (extra === undefined) return undefined
  const value = readOrUndefined(() => readJson(fromUtf8(extra) ?? ''))
  const isEnvelope = value !== undefined && isJsonObject(value) && canonicalJson(value) === fromUtf8(extra)
  if (!isEnvelope) return undefined
  const id = value['decision_id']
  return { digest: sha256(extra), decisionId: typeof id === 'string' ? id : null }
}

async function loadEntry({ cwd }: CommandContext, options: Options): Promise<GivenEntry | undefined> {
  const [file, hex] = [options.text('line'), options.text('digest')]
  if (file !== undefined && hex !== undefined) throw usageError('Give the line or --digest, not both.')
  if (hex !== undefined) {
    const digest = fromHex(hex)
    if (digest?.length !== 32) throw usageError('A digest is 64 hexadecimal digits.')
    return { digest, decisionId: null }
  }
  if (file === undefined) return undefined
  const event = readEventLine((await readText(resolve(cwd, file), MAX_LINE_BYTES)).replace(/\n$/, ''))
  const isWhole = event?.entry.payload_digest === event?.payloadDigest && event?.claimedDigest === event?.entryDigest
  const digest = fromHex(event?.entryDigest ?? '')
  if (event === undefined || !isWhole || digest === undefined)
    throw new CommandError({
      code: 'invalid_line',
      message: `${file} is not a line of an evidence store, or was changed.`,
    })
  return { digest, decisionId: event.entry.decision_id }
}

async function loadTrust({ cwd }: CommandContext, options: Options): Promise<Trust> {
  const [policy, genesis] = [options.text('policy'), options.text('genesis')]
  if (policy === undefined && genesis === undefined)
    throw new CommandError({
      code: 'keys_needed',
      message: 'Unknown: a receipt of the evidence log; no policy and no genesis block was given.',
      hint: 'Give --with <policy>, which its operator writes with evidence witnesses --out; or --genesis.',
      exitCode: 3,
    })
  if (policy !== undefined) return { policy: await loadPolicy(resolve(cwd, policy)) }
  const block = await loadVerifiedGenesis(resolve(cwd, genesis ?? ''))
  const historyFile = options.text('key-history')
  const history = historyFile === undefined ? undefined : await loadKeyHistory(cwd, historyFile, block)
  const identityFile = options.text('log-identity')
  const identity = identityFile === undefined ? undefined : await loadIdentity(cwd, identityFile)
  const log = await trustLog({ genesis: block, ...(history === undefined ? {} : { history }) }, identity)
  if (log !== undefined) return { log }
  throw new CommandError({
    code: 'invalid_log_identity',
    message: `${identityFile ?? ''} is not signed by the authority of ${genesis ?? ''}.`,
    hint: 'Ask the authority for it again, or give its key history.',
  })
}

async function loadPolicy(path: string): Promise<LogPolicy> {
  try {
    return readLogPolicy(await readText(path, MAX_BYTES))
  } catch (error) {
    if (!(error instanceof LogPolicyError)) throw error
    throw usageError(`${path}: ${error.message}.`, 'The form is that of C2SP tlog-policy.')
  }
}

/** The record alone, or the whole answer of GET /evidence-log. */
async function loadIdentity(cwd: string, file: string): Promise<LogIdentity> {
  const value = await loadJsonObject(cwd, file)
  const record = value['log_identity'] ?? value
  const identity = readOrUndefined(() => readReceived(logIdentityForm, record).record)
  if (identity === undefined) throw usageError(`${file} is not the identity of a log.`)
  return identity
}

function asText(value: JsonValue): string {
  return typeof value === 'string' ? value : canonicalJson(value)
}

function toResult({ style }: CommandContext, kind: 'tlog-proof' | 'cose', { reason, facts }: Verdict): Result {
  const valid = reason === null
  const shown = Object.entries(facts).map(([name, value]): [string, string] => [
    name,
    Array.isArray(value)
      ? value.join(', ') || 'none'
      : value === null
        ? name === 'cosigners'
          ? 'not checked'
          : '-'
        : asText(value),
  ])
  const title = valid ? style.good('Valid: the entry is in the log.') : style.bad(`Not valid: ${reason}`)
  return { data: { kind, valid, reason, ...facts }, text: `${title}\n${fields(shown, style)}`, exitCode: valid ? 0 : 1 }
}
