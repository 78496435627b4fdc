import { type JoinCertificate, hasOnlyTrustedSignatures } from '../artifacts/join-certificate.ts'
import { type AuthorityKeys, keysInPeriod } from '../artifacts/followed-keys.ts'
import { type Instant, requireInstant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { signerOf, standingsOf, subjectProof, whySilent } from './pages.ts'
import type { ProofRecord, ProvenPages, Stated } from './pages.ts'
import type { SubjectRecord } from './subject.ts'
import type { RevocationSource } from './trust-history.ts'

export type TrustState = 'trusted' | 'not_trusted' | 'unknown'

/** Why a record was trusted, was not, or why it is unknown. */
export type TrustReason =
  | 'in_force'
  | 'not_yet_valid'
  | 'expired'
  | 'bad_status'
  | 'revoked'
  | 'superseded'
  | 'invalid_signature'
  | 'other_network'
  | 'no_treaty'
  | 'role_not_allowed'
  | 'status_not_accepted'
  | 'record_missing'
  | 'not_stored'
  | 'other_record'
  | 'two_records'
  | 'key_unknown'
  | 'revocation_time_unknown'
  | 'history_lost'
  | 'too_recent'
  | 'no_statement'
  | 'treaties_missing'
  | 'decision_only'

/**
 * Facts in addition to the state. `records_disagree`: the withdrawal counts. `former_key`: a statement is signed with a
 * key that the authority no longer has, and a thief of this key can have written it. `statement_only`: that it was not
 * revoked is what the authority said later; no list or feed in force at the time is here. `partner_feed_missing`: no feed
 * that the partner had signed by then is here.
 */
export type TrustNote =
  | 'records_disagree'
  | 'partner_revoked_before'
  | 'refused_records'
  | 'former_key'
  | 'statement_only'
  | 'partner_feed_missing'

export interface HistoryFinding {
  readonly state: TrustState
  readonly reason: TrustReason
  readonly proof: readonly ProofRecord[]
  readonly notes: readonly TrustNote[]
  /** Of a revoked or superseded record, also if it was revoked later. */
  readonly ended_at: string | null
  readonly end_reason: string | null
  readonly source: RevocationSource | null
  /** The treaty under which a partner's attestation counted. */
  readonly treaty_id: string | null
}

export function finding(state: TrustState, reason: TrustReason, more: Partial<HistoryFinding> = {}): HistoryFinding {
  return {
    state,
    reason,
    proof: [],
    notes: [],
    ended_at: null,
    end_reason: null,
    source: null,
    treaty_id: null,
    ...more,
  }
}

/**
 * Verifies a record of the authority at a past time (protocol/trust-history 2). The first that applies decides:
 * 1. a key of the authority signed it, in the period of that key;
 * 2. the time is inside its validity, beginning included, end not;
 * 3. nothing says that it was revoked or replaced by then: one record that says so is enough;
 * 4. a statement says that it was not: without one the state is unknown.
 */
export async function verifyOwn(subject: SubjectRecord, proven: ProvenPages, at: Instant): Promise<HistoryFinding> {
  requireInstant(at)
  const signed = await signatureFinding(subject, proven.keys)
  if ('state' in signed) return signed
  const own = [subjectProof(subject, signed.key)]
  const outside = outsideFinding(subject, at, own)
  if (outside !== undefined) return outside
  const place = { issuer_sovereign_id: subject.issuer, id: subject.id }
  const stated = standingsOf(proven, subject.kind, place)
  const listed = endInLists(subject, proven, at)
  const found = verifyStated(stated, { at, digest: subject.digest, listed, proof: own })
  const isAlone = found.state === 'trusted' && !hasListInForce(subject.kind, proven, at)
  return isAlone ? { ...found, notes: [...found.notes, 'statement_only'] } : found
}

/** A feed has no end. Of treaties there is no list. */
function hasListInForce(kind: SubjectRecord['kind'], { lists, feeds }: ProvenPages, at: Instant): boolean {
  if (kind === 'certificate')
    return lists.some(({ record }) => instantOf(record.issued_at) <= at && at < instantOf(record.next_update))
  return kind === 'attestation' && feeds.some(({ record }) => instantOf(record.issued_at) <= at)
}

/** 1: who signed. A time without a known key says nothing: its key may be missing in the history. */
async function signatureFinding(
  subject: SubjectRecord,
  known: readonly AuthorityKeys[],
): Promise<HistoryFinding | { readonly key: string }> {
  let hasKey = false
  for (const keys of known) {
    if (keys.genesis.network_name !== subject.issuer) return finding('not_trusted', 'other_network')
    const candidates = keysInPeriod(keys, subject.issued_at)
    hasKey ||= candidates.length > 0
    const key = await signerOf(subject.record, candidates)
    if (key !== undefined && (await isSignedByNoOther(subject, candidates))) return { key }
  }
  return hasKey ? finding('not_trusted', 'invalid_signature') : finding('unknown', 'key_unknown')
}

/** Only a certificate has a rule about further signatures. */
async function isSignedByNoOther({ kind, record }: SubjectRecord, keys: readonly string[]): Promise<boolean> {
  return kind !== 'certificate' || hasOnlyTrustedSignatures(record as JoinCertificate, keys)
}

/** 2: the validity of the record itself. */
export function outsideFinding(
  { status, from, until }: SubjectRecord,
  at: Instant,
  proof: readonly ProofRecord[],
): HistoryFinding | undefined {
  if (status !== 'active') return finding('not_trusted', 'bad_status', { proof })
  if (at < from) return finding('not_trusted', 'not_yet_valid', { proof })
  return at >= until ? finding('not_trusted', 'expired', { proof }) : undefined
}

interface ListedEnd {
  readonly ended_at: string
  readonly end_reason: string | null
  readonly proof: ProofRecord
}

/** 3: a signed list or feed of the authority that had ended the record by then. */
function endInLists({ kind, id }: SubjectRecord, { lists, feeds }: ProvenPages, at: Instant): ListedEnd | undefined {
  if (kind === 'certificate') {
    for (const { record, proof } of lists) {
      const entry = record.revoked_certificates.find(({ certificate_id }) => certificate_id === id)
      if (entry !== undefined && instantOf(entry.revoked_at) <= at)
        return { ended_at: entry.revoked_at, end_reason: entry.reason, proof }
    }
    return undefined
  }
  if (kind !== 'attestation') return undefined
  // A feed has no times: what it names was revoked when it was signed, or before.
  const found = feeds.find(
    ({ record }) => instantOf(record.issued_at) <= at && record.revoked_attestation_ids.includes(id),
  )
  if (found === undefined) return undefined
  const { record, proof } = found
  return { ended_at: record.issued_at, end_reason: record.revocation_reasons[id] ?? null, proof }
}

/** 3 and 4: what the statements say. */
export function verifyStated(
  stated: readonly Stated[],
  facts: {
    readonly at: Instant
    /** Undefined where no record is stored: then the statement is about the id. */
    readonly digest: string | undefined
    readonly listed: ListedEnd | undefined
    readonly proof: readonly ProofRecord[]
  },
): HistoryFinding {
  const { at, digest, listed, proof } = facts
  const good = stated.filter((each) => endOf(each, at) === undefined && whyNotProven(each, digest, at) === undefined)
  const ended = stated.map((each) => endOf(each, at)).filter((end) => end !== undefined)
  const [first] = ended.sort((a, b) => (instantOf(a.ended_at) < instantOf(b.ended_at) ? -1 : 1))
  const notes = good.length > 0 ? (['records_disagree'] as const) : []
  if (first !== undefined) {
    const { page, reason, ...end } = first
    const more = listed === undefined ? [] : [listed.proof]
    return finding('not_trusted', reason, { ...end, proof: [...proof, page.proof, ...more], notes })
  }
  if (listed !== undefined) {
    const { ended_at, end_reason } = listed
    const source = { kind: listed.proof.kind === 'list' ? 'list' : 'feed', sequence: listed.proof.sequence } as const
    return finding('not_trusted', 'revoked', { ended_at, end_reason, source, proof: [...proof, listed.proof], notes })
  }
  const [proving] = good
  if (proving !== undefined) {
    const { revoked_at, reason, source } = proving.standing
    const end = { ended_at: revoked_at, end_reason: reason, source }
    return finding('trusted', 'in_force', { ...end, proof: [...proof, proving.page.proof] })
  }
  return finding('unknown', mostImportant(stated.map((each) => whyNotProven(each, digest, at))), { proof })
}

interface StatedEnd {
  readonly page: Stated['page']
  readonly reason: 'revoked' | 'superseded'
  readonly ended_at: string
  readonly end_reason: string | null
  readonly source: RevocationSource | null
}

/** When a statement ended a record by this time. A renewed certificate can be revoked later. */
function endOf({ page, standing }: Stated, at: Instant): StatedEnd | undefined {
  const { revoked_at, superseded_at, reason, source } = standing
  const isBy = (time: string | null): time is string => time !== null && instantOf(time) <= at
  const revoked = isBy(revoked_at)
    ? ({ page, reason: 'revoked', ended_at: revoked_at, end_reason: reason, source } as const)
    : undefined
  if (!isBy(superseded_at)) return revoked
  if (revoked !== undefined && instantOf(revoked.ended_at) <= instantOf(superseded_at)) return revoked
  return { page, reason: 'superseded', ended_at: superseded_at, end_reason: null, source: null }
}

type Silence = 'other_record' | 'revocation_time_unknown' | 'history_lost' | 'too_recent' | 'not_stored'

/** Why a statement does not prove that the record was in force. Undefined: it does. */
function whyNotProven({ page, standing }: Stated, digest: string | undefined, at: Instant): Silence | undefined {
  const silence = whySilent(page.facts, at)
  if (!standing.known) return silence ?? 'not_stored'
  if (digest !== undefined && standing.record_digest !== digest) return 'other_record'
  if (standing.is_revoked && standing.revoked_at === null) return 'revocation_time_unknown'
  return silence
}

const IN_ORDER = ['other_record', 'revocation_time_unknown', 'history_lost', 'too_recent', 'not_stored'] as const

function mostImportant(found: readonly (Silence | undefined)[]): TrustReason {
  return IN_ORDER.find((reason) => found.includes(reason)) ?? 'no_statement'
}
