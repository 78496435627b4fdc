import {
  FormError,
  JsonError,
  historyFinding,
  instantOf,
  keysInPeriod,
  outsideFinding,
  readJson,
  readSubject,
  readTrustHistoryPage,
  receivedDigest,
  verifyGenesisBlock,
  verifyPastTrust,
  verifyReceived,
  writeInstant,
} from '@chancery/protocol'
import type {
  AuthorityKeys,
  HistoryFinding,
  HistoryPage,
  Instant,
  PastVerdict,
  ProofRecord,
  SavedLists,
  SubjectRecord,
  TrustHistoryPage,
  TrustSubject,
} from '@chancery/protocol'
import { type PackDecision, readEntries } from '../evidence-pack/check-entries.ts'
import { verifyPack } from '../evidence-pack/check.ts'
import type { EvidencePack } from '../evidence-pack/format.ts'
import { VerificationError } from '../errors.ts'
import { type Time, timeOf } from '../trust/signing-time.ts'
import { type PackTrust, checkRoot, findKeys } from '../evidence-pack/report.ts'

/** The file is not a trust history, or not one of the trusted network. */
export class TrustHistoryError extends VerificationError {
  override readonly name = 'TrustHistoryError'

  constructor(message: string, options?: ErrorOptions) {
    super('malformed', 'record')
    this.message = message
    if (options?.cause !== undefined) this.cause = options.cause
  }
}

/** The longest line of a file: 200 records with claims of the largest size. */
export const MAX_HISTORY_LINE: number = 16 * 1024 * 1024
const LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 200_000 }

/** Reads one line of a trust history or of an archive. Throws TrustHistoryError. */
export function readHistoryLine(line: string): TrustHistoryPage {
  if (line.length > MAX_HISTORY_LINE) throw new TrustHistoryError('This is not a trust history: a line is too long.')
  try {
    return readTrustHistoryPage(readJson(line, LIMITS))
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError)
      throw new TrustHistoryError(`This is not a trust history: ${error.message}.`, { cause: error })
    throw error
  }
}

/**
 * Whether a record was trusted at a past time, by the signed records of these pages, or by an evidence pack. Each page must be of the trusted
 * network: its genesis block, or an earlier one that the trusted key history lists. `saved`: lists and feeds of that time
 * from another source, which can contradict the pages. Throws TrustHistoryError.
 */
export async function verifyPast(
  subject: TrustSubject,
  source: EvidencePack | Iterable<TrustHistoryPage> | AsyncIterable<TrustHistoryPage>,
  { at, trust, saved }: PastOptions,
): Promise<PastVerdict> {
  const time = timeOf(at)
  if ('pack_digest' in source) return verifyPastOfPack(subject, source, { at: time, trust })
  return verifyPastTrust(subject, withTrustedKeys(source, trust), time, saved)
}

export interface PastOptions {
  readonly at: Time
  readonly trust: PackTrust
  readonly saved?: SavedLists | undefined
}

/** Pages of one authority repeat its key records. They are verified once. */
async function* withTrustedKeys(
  pages: Iterable<TrustHistoryPage> | AsyncIterable<TrustHistoryPage>,
  trust: PackTrust,
): AsyncGenerator<HistoryPage> {
  const known = new Map<string, AuthorityKeys>()
  for await (const { genesis, key_history, ...page } of pages) {
    const name = JSON.stringify([genesis.signatures, key_history?.signatures ?? null])
    const keys = known.get(name) ?? (await trustedKeys({ genesis, key_history }, trust))
    known.set(name, keys)
    yield { ...page, keys }
  }
}

async function trustedKeys(
  records: Pick<TrustHistoryPage, 'genesis' | 'key_history'>,
  trust: PackTrust,
): Promise<AuthorityKeys> {
  const block = await verifyGenesisBlock(records.genesis)
  if (!block.ok) throw new TrustHistoryError(`The genesis block of the file does not verify: ${block.reason}.`)
  const root = await checkRoot(records, trust)
  if ('missing' in root) throw new TrustHistoryError('Give a genesis block or a root key that you trust.')
  if (!root.ok) throw new TrustHistoryError(`The file is not of the trusted network: ${root.reason}.`)
  const { keys, history } = await findKeys(records, trust)
  if (history !== undefined && (!('ok' in history) || !history.ok))
    throw new TrustHistoryError('The key history of the file does not verify.')
  return keys
}

/**
 * What an evidence pack proves about its attestation or treaty. It has no statement about revocations, so it proves one
 * instant: the authority allowed an action with the record at the time of the decision. For other times inside the
 * validity the state is unknown. Throws TrustHistoryError.
 */
export async function verifyPastOfPack(
  subject: TrustSubject,
  pack: EvidencePack,
  { at, trust }: { readonly at: Instant; readonly trust: PackTrust },
): Promise<PastVerdict> {
  const { valid, checks } = await verifyPack(pack, trust)
  if (!valid) {
    const failed = checks.filter(({ status }) => status === 'failed').map(({ name }) => name)
    throw new TrustHistoryError(`The evidence pack does not verify: ${failed.join(', ') || 'root_key'}.`)
  }
  const isProven = (name: string): boolean => checks.some((each) => each.name === name && each.status === 'passed')
  const { keys } = await findKeys(pack, trust)
  const found = await verifyRecordThen(subject, pack, { at, keys, isProven })
  return { ...found, kind: subject.kind, id: subject.id, at: writeInstant(at) }
}

interface PackFacts {
  readonly at: Instant
  readonly keys: AuthorityKeys
  readonly isProven: (check: 'treaty' | 'basis' | 'basis_signature') => boolean
}

async function verifyRecordThen(
  subject: TrustSubject,
  pack: EvidencePack,
  { at, keys, isProven }: PackFacts,
): Promise<HistoryFinding> {
  const record = recordOf(subject, pack)
  const isSigned = subject.kind === 'treaty' ? isProven('treaty') : isProven('basis') && isProven('basis_signature')
  if (record === undefined || !isSigned) return historyFinding('unknown', 'record_missing')
  const { given } = subject
  if (given !== undefined && given.digest !== record.digest) return historyFinding('unknown', 'other_record')
  const outside = outsideFinding(record, at, [])
  if (outside !== undefined) return outside
  const { decision } = readEntries(pack)
  const isThen = decision !== undefined && instantOf(decision.record.decision_made_at) === at
  if (!isThen || !decision.record.authorized) return historyFinding('unknown', 'decision_only')
  const [proof] = await proofOf(decision, keys)
  if (proof === undefined) return historyFinding('unknown', 'key_unknown')
  const isFormer = proof.public_key !== keys.genesis.network_authority.public_key
  return historyFinding('trusted', 'in_force', { proof: [proof], notes: isFormer ? ['former_key'] : [] })
}

function recordOf({ kind, id, issuer }: TrustSubject, pack: EvidencePack): SubjectRecord | undefined {
  const stored = kind === 'attestation' ? pack.attestation : kind === 'treaty' ? pack.treaty : null
  if (stored === null) return undefined
  const record = readSubject(kind, stored)
  return record.id === id && (issuer === undefined || issuer === record.issuer) ? record : undefined
}

async function proofOf(decision: PackDecision, keys: AuthorityKeys): Promise<readonly ProofRecord[]> {
  const { decision_id, decision_made_at } = decision.record
  for (const public_key of keysInPeriod(keys, decision_made_at)) {
    if (!(await verifyReceived(decision.received, [public_key])).ok) continue
    const digest = receivedDigest(decision.received)
    return [{ kind: 'decision', id: decision_id, sequence: null, issued_at: decision_made_at, digest, public_key }]
  }
  return []
}
