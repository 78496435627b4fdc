import type { Attestation } from '../artifacts/attestation.ts'
import { type Instant, requireInstant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { finding, outsideFinding, verifyOwn, verifyStated } from './verify-own.ts'
import type { HistoryFinding, TrustNote, TrustReason } from './verify-own.ts'
import {
  ProvenPages,
  feedSigner,
  importedStandings,
  signerOf,
  standingsOf,
  subjectProof,
  wholeChain,
  whySilent,
} from './pages.ts'
import type { HistoryPage, SavedLists } from './pages.ts'
import type { RecordSubject, SubjectRecord, TrustSubject } from './subject.ts'
import type { RecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { instantOf } from '../reading/text.ts'
import { CheckSlices } from '../signing/verify-any.ts'

/**
 * Verifies the attestation of a partner at a past time (protocol/trust-history 2.2): it is inside its validity, a treaty
 * of the authority was in force whose keys and scope accept it, and by then no imported feed and no recognition policy
 * had revoked it.
 */
async function verifyPartner(
  subject: SubjectRecord<Attestation>,
  proven: ProvenPages,
  at: Instant,
): Promise<HistoryFinding> {
  requireInstant(at)
  const outside = outsideFinding(subject, at, [])
  if (outside !== undefined) return outside
  const place = { issuer_sovereign_id: subject.issuer, id: subject.id }
  const stated = importedStandings(proven, place, at)
  const asked = { at, digest: undefined, listed: undefined, proof: [] }
  const imported = verifyStated(stated, asked)
  if (imported.state === 'not_trusted') return imported
  const accepted = await verifyTreaties(subject, proven, at)
  if (accepted.state !== 'trusted') return accepted
  const notes = imported.state === 'trusted' ? await feedNotes(subject, proven, at) : []
  const proof = [...accepted.proof, ...imported.proof]
  return { ...imported, treaty_id: accepted.treaty_id, notes: [...imported.notes, ...notes], proof }
}

type TreatyMatch =
  | { readonly key: string }
  | { readonly reason: 'role_not_allowed' | 'status_not_accepted' | 'invalid_signature' }

/**
 * A treaty under which the attestation counted, or why there is none, or why it is unknown. The event loop continues
 * after some checks: there can be hundreds of treaties with a partner.
 */
async function verifyTreaties(
  subject: SubjectRecord<Attestation>,
  proven: ProvenPages,
  at: Instant,
): Promise<HistoryFinding> {
  let open: HistoryFinding | undefined
  let refused: TrustReason = 'no_treaty'
  const slices = new CheckSlices()
  for (const treaty of proven.treaties.values()) {
    if (treaty.record.subject_sovereign_id !== subject.issuer) continue
    await slices.next()
    const verdict = await verifyOwn(treaty, proven, at)
    if (verdict.state === 'not_trusted') continue
    const match = await matchOf(subject, treaty.record, slices)
    if ('reason' in match) {
      if (verdict.state === 'trusted') refused = match.reason
      continue
    }
    const own = subjectProof(subject, match.key)
    if (verdict.state === 'trusted') return { ...verdict, treaty_id: treaty.id, proof: [own, ...verdict.proof] }
    open = verdict
  }
  if (open !== undefined) return open
  return isComplete(subject.issuer, proven, at)
    ? finding('not_trusted', refused)
    : finding('unknown', 'treaties_missing')
}

/** Keys, statuses and roles of the treaty accept the attestation. Its time is checked elsewhere. */
async function matchOf(
  { record, status }: SubjectRecord<Attestation>,
  { subject_public_keys, scope }: RecognitionTreaty,
  slices: CheckSlices,
): Promise<TreatyMatch> {
  if (!scope.accepted_statuses.some((each) => each === status)) return { reason: 'status_not_accepted' }
  const isGranted = record.roles.length > 0 && record.roles.every((role) => scope.allowed_roles.includes(role))
  if (!isGranted) return { reason: 'role_not_allowed' }
  const key = await signerOf(record, subject_public_keys, slices)
  return key === undefined ? { reason: 'invalid_signature' } : { key }
}

/** Whether all treaties with a partner are here: one that is missing could have accepted the attestation. */
function isComplete(partner: string, { pages }: ProvenPages, at: Instant): boolean {
  const speaking = pages.filter(({ facts }) => whySilent(facts, at) === undefined)
  const stating = speaking.filter(({ facts }) => facts.treaties_with === partner)
  const used = stating.length > 0 ? stating : wholeChain(speaking, 'treaty', at)
  return used.length > 0 && used.every(({ hasEveryTreaty }) => hasEveryTreaty)
}

/** What the feeds say that the partner had signed by then. One that names it may have been imported later. */
async function feedNotes(
  { id, issuer }: SubjectRecord,
  proven: ProvenPages,
  at: Instant,
): Promise<readonly TrustNote[]> {
  const keys = new Set([...proven.treaties.values()].flatMap(({ record }) => record.subject_public_keys))
  let isPresent = false
  for (const feed of proven.foreignFeeds) {
    if (feed.issuer_sovereign_id !== issuer || instantOf(feed.issued_at) > at) continue
    if ((await feedSigner(feed, [...keys])) === undefined) continue
    if (feed.revoked_attestation_ids.includes(id)) return ['partner_revoked_before']
    isPresent = true
  }
  return isPresent ? [] : ['partner_feed_missing']
}

/** The state of a record at a past time, with the records that prove it. */
export interface PastVerdict extends HistoryFinding {
  readonly kind: RecordSubject
  readonly id: string
  readonly at: string
}

/**
 * Whether a record was trusted at a past time, from signed records alone. Nothing is taken from the sender of the
 * pages. What the pages do not prove is unknown, never trusted.
 */
export async function verifyPastTrust(
  subject: TrustSubject,
  pages: Iterable<HistoryPage> | AsyncIterable<HistoryPage>,
  at: Instant,
  saved: SavedLists = { lists: [], feeds: [] },
): Promise<PastVerdict> {
  requireInstant(at)
  const proven = new ProvenPages(subject)
  for await (const page of pages) await proven.add(page)
  await proven.addLists(saved, proven.keys)
  const found = await verifyCandidates(proven, at)
  const notes: TrustNote[] = [...found.notes]
  if (proven.refused > 0) notes.push('refused_records')
  const current = proven.keys.map(({ genesis }) => genesis.network_authority.public_key)
  if (found.proof.some((each) => each.kind === 'history' && !current.includes(each.public_key)))
    notes.push('former_key')
  const proof = [...new Map(found.proof.map((each) => [each.digest, each])).values()]
  return { ...found, notes, proof, kind: subject.kind, id: subject.id, at: writeInstant(at) }
}

async function verifyCandidates(proven: ProvenPages, at: Instant): Promise<HistoryFinding> {
  const { subject, own, issuer } = proven
  if (own === undefined || issuer === undefined) return finding('unknown', 'no_statement')
  if (issuer !== own && subject.kind !== 'attestation') return finding('not_trusted', 'other_network')
  const verify = (record: SubjectRecord): Promise<HistoryFinding> =>
    issuer === own ? verifyOwn(record, proven, at) : verifyPartner(record as SubjectRecord<Attestation>, proven, at)
  const { given } = subject
  if (given !== undefined) return verify(given)
  const results: HistoryFinding[] = []
  for (const record of candidatesOf(proven, issuer)) {
    const found = await verify(record)
    // Not a record of the authority: the sender of the pages may have added it.
    if (found.reason !== 'invalid_signature') results.push(found)
  }
  const [first, ...others] = results
  if (first === undefined) return verifyMissing(proven, issuer, at)
  if (others.length === 0) return first
  // Two records with one id, both signed by the authority: each could be meant.
  const proof = results.flatMap((each) => each.proof)
  const areEnded = results.every(({ state }) => state === 'not_trusted')
  return areEnded ? first : finding('unknown', 'two_records', { proof })
}

/** The stored records with this id, each once. */
function candidatesOf({ subject, candidates, treaties }: ProvenPages, issuer: string): readonly SubjectRecord[] {
  if (subject.kind !== 'treaty') return [...candidates.values()].filter((each) => each.issuer === issuer)
  return [...treaties.values()].filter(({ id }) => id === subject.id)
}

/** Without the record only its end can be proven: an id can be revoked although the record is no longer stored. */
function verifyMissing(proven: ProvenPages, issuer: string, at: Instant): HistoryFinding {
  const { subject, own } = proven
  const place = { issuer_sovereign_id: issuer, id: subject.id }
  const stated = issuer === own ? standingsOf(proven, subject.kind, place) : importedStandings(proven, place, at)
  const found = verifyStated(stated, { at, digest: undefined, listed: undefined, proof: [] })
  return found.state === 'trusted' ? finding('unknown', 'record_missing', { proof: found.proof }) : found
}
