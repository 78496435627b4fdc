import {
  historyFinding,
  instantOf,
  keysInPeriod,
  outsideFinding,
  readSubject,
  receivedDigest,
  verifyReceived,
  writeInstant,
} from '@chancery/protocol'
import type {
  AuthorityKeys,
  HistoryFinding,
  Instant,
  ProofRecord,
  SubjectRecord,
  PastVerdict,
  TrustSubject,
} from '@chancery/protocol'
import { type PackDecision, readEntries } from '../evidence-pack/check-entries.ts'
import { checkEvidencePack } from '../evidence-pack/check.ts'
import type { EvidencePack } from '../evidence-pack/format.ts'
import { findKeys } from '../evidence-pack/keys.ts'
import type { PackTrust } from '../evidence-pack/report.ts'
import { TrustHistoryError } from './file.ts'

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
  const { valid, checks } = await checkEvidencePack(pack, trust)
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
