import type { Attestation } from '../artifacts/attestation.ts'
import type { Crl } from '../artifacts/crl.ts'
import { type AuthorityKeys, keysInPeriod } from '../artifacts/followed-keys.ts'
import type { JoinCertificate } from '../artifacts/join-certificate.ts'
import type { RecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { type RevocationFeed, verifyRevocationFeed } from '../artifacts/revocation-feed.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { CheckSlices, type SignedList, asJson, signedBytes, verifyAny } from '../signing/verify-any.ts'
import { digestOfRecord, fromAttestation, fromCertificate, fromTreaty } from './subject.ts'
import type { SubjectRecord, TrustSubject } from './subject.ts'
import { NOT_STORED, OWN_ID_REASON, isSamePlace } from './trust-history.ts'
import type { HistoryPlace, Standing, SubjectKind, TrustHistory } from './trust-history.ts'

/** One statement with the records that belong to it. The keys must be trusted already; nothing else is. */
export interface HistoryPage {
  readonly keys: AuthorityKeys
  readonly history: TrustHistory
  readonly certificates: readonly JoinCertificate[]
  readonly attestations: readonly Attestation[]
  readonly treaties: readonly RecognitionTreaty[]
  readonly lists: readonly Crl[]
  readonly feeds: readonly RevocationFeed[]
}

/** Lists and feeds that the caller saved, of the authority or of a partner. They are verified as those of pages. */
export interface SavedLists {
  readonly lists: readonly Crl[]
  readonly feeds: readonly RevocationFeed[]
}

/** A record that proves a verdict, with the key that signed it. */
export type ProofRecord = {
  readonly kind: 'history' | 'certificate' | 'attestation' | 'treaty' | 'list' | 'feed' | 'decision'
  readonly id: string
  readonly sequence: number | null
  readonly issued_at: string
  readonly digest: string
  readonly public_key: string
}

/** A verified statement, without what the question does not need: an archive has many. */
export interface ProvenPage {
  readonly facts: Pick<TrustHistory, 'gaps' | 'known_until' | 'covers' | 'treaties_with'>
  readonly standings: readonly Standing[]
  /** The record of each stated treaty is here. */
  readonly hasEveryTreaty: boolean
  readonly proof: ProofRecord
}

export interface ProvenList<Value> {
  readonly record: Value
  readonly proof: ProofRecord
}

/** The verified statements, lists and feeds of an authority, as far as they matter for one question. */
export class ProvenPages {
  readonly subject: TrustSubject
  readonly pages: ProvenPage[] = []
  readonly keys: AuthorityKeys[] = []
  /** Stored records with the id that is asked for. They are verified when they are used. */
  readonly candidates: Map<string, SubjectRecord> = new Map()
  /** The treaty that is asked for, or those with the partner that is asked for. */
  readonly treaties: Map<string, SubjectRecord<RecognitionTreaty>> = new Map()
  readonly lists: ProvenList<Crl>[] = []
  readonly feeds: ProvenList<RevocationFeed>[] = []
  /** Feeds of the partner, not verified: their keys are those of treaties. */
  readonly foreignFeeds: RevocationFeed[] = []
  /** Statements, lists and feeds of the authority that do not verify. They prove nothing. */
  refused = 0

  constructor(subject: TrustSubject) {
    this.subject = subject
  }

  get own(): string | undefined {
    return this.keys[0]?.genesis.network_name
  }

  /** Who issued the record that is asked for. */
  get issuer(): string | undefined {
    return this.subject.given?.issuer ?? this.subject.issuer ?? this.own
  }

  /** Verifies the statement, lists and feeds of a page. Records are verified when they are used. */
  async add(page: HistoryPage): Promise<void> {
    const { keys, history } = page
    const name = keys.genesis.network_name
    if (name !== (this.own ?? name)) return void (this.refused += 1)
    if (!this.keys.includes(keys)) this.keys.push(keys)
    const isOwn = history.network_name === name
    const key = isOwn ? await signerOf(history, keysInPeriod(keys, history.issued_at)) : undefined
    if (key === undefined) return void (this.refused += 1)
    const { gaps, known_until, covers, treaties_with } = history
    const treaties = await byDigest(page.treaties)
    this.pages.push({
      facts: { gaps, known_until, covers, treaties_with },
      standings: history.standings.filter((each) => each.kind === 'treaty' || each.id === this.subject.id),
      hasEveryTreaty: hasEveryTreaty(history, treaties),
      proof: toProof('history', history.history_id, history, key),
    })
    this.#addRecords(page, treaties)
    await this.addLists(page, [keys])
  }

  #addRecords({ certificates, attestations }: HistoryPage, treaties: TreatiesByDigest): void {
    const { kind, id } = this.subject
    const found: readonly SubjectRecord[] =
      kind === 'certificate'
        ? certificates.filter(({ cert_id }) => cert_id === id).map((each) => fromCertificate(each))
        : attestations.filter(({ attestation_id }) => attestation_id === id).map((each) => fromAttestation(each))
    if (kind !== 'treaty') for (const each of found) this.candidates.set(each.digest, each)
    // By its id only where a treaty is asked for: the issuer of an attestation chooses the id of the attestation.
    for (const [digest, treaty] of treaties)
      if (kind === 'treaty' ? treaty.id === id : treaty.record.subject_sovereign_id === this.issuer)
        this.treaties.set(digest, treaty)
  }

  /** Verifies lists and feeds with these keys of the authority. */
  async addLists({ lists, feeds }: SavedLists, known: readonly AuthorityKeys[]): Promise<void> {
    const keysAt = (time: string): readonly string[] => [...new Set(known.flatMap((keys) => keysInPeriod(keys, time)))]
    for (const record of lists) {
      const key = await signerOf(record, keysAt(record.issued_at))
      if (key === undefined) this.refused += 1
      else this.lists.push({ record, proof: numbered(toProof('list', record.crl_id, record, key), record) })
    }
    for (const record of feeds) {
      if (record.issuer_sovereign_id !== this.own) {
        this.foreignFeeds.push(record)
        continue
      }
      const key = await feedSigner(record, keysAt(record.issued_at))
      if (key === undefined) this.refused += 1
      else this.feeds.push({ record, proof: numbered(toProof('feed', record.feed_id, record, key), record) })
    }
  }
}

type TreatiesByDigest = ReadonlyMap<string, SubjectRecord<RecognitionTreaty>>

/** Reads each treaty of a page once. The event loop continues after some of them: a page has hundreds. */
async function byDigest(treaties: readonly RecognitionTreaty[]): Promise<TreatiesByDigest> {
  const slices = new CheckSlices()
  const found = new Map<string, SubjectRecord<RecognitionTreaty>>()
  for (const treaty of treaties) {
    await slices.next()
    const subject = fromTreaty(treaty)
    found.set(subject.digest, subject)
  }
  return found
}

function hasEveryTreaty({ standings }: TrustHistory, treaties: TreatiesByDigest): boolean {
  const named = standings.filter(({ kind, known }) => kind === 'treaty' && known)
  return named.every(({ record_digest }) => record_digest !== null && treaties.has(record_digest))
}

function numbered(proof: ProofRecord, { sequence }: { readonly sequence: number }): ProofRecord {
  return { ...proof, sequence }
}

export function toProof(
  kind: ProofRecord['kind'],
  id: string,
  record: { readonly issued_at: string },
  public_key: string,
): ProofRecord {
  return { kind, id, sequence: null, issued_at: record.issued_at, digest: digestOfRecord(record), public_key }
}

export function subjectProof({ kind, id, issued_at, digest }: SubjectRecord, public_key: string): ProofRecord {
  return { kind, id, sequence: null, issued_at, digest, public_key }
}

/** The key that signed a record, or undefined. `slices` of a caller that verifies many records. */
export async function signerOf(
  record: SignedList,
  keys: readonly string[],
  slices: CheckSlices = new CheckSlices(),
): Promise<string | undefined> {
  const message = signedBytes(asJson(record), 'signatures')
  for (const key of keys) {
    await slices.next()
    if (await verifyAny(message, record.signatures, [key])) return key
  }
  return undefined
}

export async function feedSigner(feed: RevocationFeed, keys: readonly string[]): Promise<string | undefined> {
  for (const key of keys) if (await verifyRevocationFeed(feed, [key])) return key
  return undefined
}

/** What a page states about a record. */
export interface Stated {
  readonly page: ProvenPage
  readonly standing: Omit<Standing, 'kind' | 'id' | 'issuer_sovereign_id'>
}

/** What the pages state about a record of the authority. What they do not name is not stored. */
export function standingsOf({ pages }: ProvenPages, kind: SubjectKind, place: HistoryPlace): readonly Stated[] {
  return pages.flatMap((page) =>
    page.standings
      .filter((standing) => standing.kind === kind && isSamePlace(standing, place))
      .map((standing): Stated => ({ page, standing })),
  )
}

/**
 * What the pages state about the revocation of a partner's attestation. One that they do not name was not revoked, if
 * they state all imported revocations, all ids in recognition policies and all attestations of the authority.
 */
export function importedStandings(proven: ProvenPages, place: HistoryPlace, at: Instant): readonly Stated[] {
  const found = standingsOf(proven, 'imported_attestation', place)
  const ended = localEnds(proven, place.id).filter(
    ({ standing }) => standing.revoked_at === null || instantOf(standing.revoked_at) <= at,
  )
  if (found.length > 0 || ended.length > 0) return [...found, ...ended]
  const imported = wholeChain(proven.pages, 'imported_attestation', at)
  const members = wholeChain(proven.pages, 'attestation', at)
  if (imported.length === 0 || members.length === 0) return []
  const chain = [...imported, ...members]
  const page = chain.find(({ facts }) => whySilent(facts, at) !== undefined) ?? chain[0]
  return page === undefined ? [] : [{ page, standing: NOT_IMPORTED }]
}

/** Ends for partners of every name: an id in a recognition policy, or the id of an attestation of the authority. */
function localEnds(proven: ProvenPages, id: string): readonly Stated[] {
  const { own, candidates } = proven
  if (own === undefined) return []
  const place = { issuer_sovereign_id: own, id }
  const named = standingsOf(proven, 'imported_attestation', place).filter(({ standing }) => standing.is_revoked)
  const members = standingsOf(proven, 'attestation', place).filter(({ standing }) => standing.known)
  return [
    ...named,
    ...members.map(({ page, standing: { record_digest } }): Stated => {
      const revoked_at = candidates.get(record_digest ?? '')?.issued_at ?? null
      const source = { kind: 'authority', sequence: null } as const
      return { page, standing: { ...NOT_IMPORTED, is_revoked: true, revoked_at, reason: OWN_ID_REASON, source } }
    }),
  ]
}

const NOT_IMPORTED: Stated['standing'] = { ...NOT_STORED, known: true }

/** Pages that together state all records of a kind, if possible such that say something about this time. */
export function wholeChain(pages: readonly ProvenPage[], kind: SubjectKind, at: Instant): readonly ProvenPage[] {
  const covering = pages.filter(({ facts }) => facts.covers?.kind === kind)
  const speaking = follow(covering.filter(({ facts }) => whySilent(facts, at) === undefined))
  return speaking.length > 0 ? speaking : follow(covering)
}

function follow(pages: readonly ProvenPage[]): readonly ProvenPage[] {
  const keyOf = (place: HistoryPlace | null | undefined): string =>
    JSON.stringify(place === null || place === undefined ? null : [place.issuer_sovereign_id, place.id])
  const byStart = new Map(pages.map((page) => [keyOf(page.facts.covers?.after), page]))
  const chain: ProvenPage[] = []
  for (let page = byStart.get(keyOf(null)); page !== undefined && chain.length < pages.length;) {
    chain.push(page)
    const end = page.facts.covers?.through ?? null
    if (end === null) return chain
    page = byStart.get(keyOf(end))
  }
  return []
}

/** Why a statement does not say what did not happen before this time. Undefined: it says it. */
export function whySilent(
  { gaps, known_until }: Pick<TrustHistory, 'gaps' | 'known_until'>,
  at: Instant,
): 'history_lost' | 'too_recent' | undefined {
  const isLost = gaps.some(({ from, until }) => (from === null || instantOf(from) <= at) && at < instantOf(until))
  if (isLost) return 'history_lost'
  return at > instantOf(known_until) ? 'too_recent' : undefined
}
