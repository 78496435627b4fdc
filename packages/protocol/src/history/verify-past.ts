import type { Attestation } from '../artifacts/attestation.ts'
import { type Instant, requireInstant, writeInstant } from '../canonical/time.ts'
import { type HistoryFinding, type TrustNote, finding, verifyOwn, verifyStated } from './verify-own.ts'
import { verifyPartner } from './verify-partner.ts'
import { type HistoryPage, ProvenPages, type SavedLists, importedStandings, standingsOf } from './pages.ts'
import type { RecordSubject, SubjectRecord, TrustSubject } from './subject.ts'

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
