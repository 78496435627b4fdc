import { Refusal } from '@chancery/contract'
import {
  MAX_STANDINGS,
  RECORD_SUBJECTS,
  asJson,
  verifyPastTrust,
  readCrl,
  readRevocationFeed,
  trustHistoryJson,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type {
  Attestation,
  Crl,
  JoinCertificate,
  JsonObject,
  RecognitionTreaty,
  RevocationFeed,
  Standing,
  TrustHistoryPage,
} from '@chancery/protocol'
import { endOfLoopTurn } from '@chancery/service-kit'
import { listEventsOf } from '../../audit/insert.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { type HistoryParts, type TrustedRequest, keyRecords, readTrustedRequest, signStatement } from './requests.ts'
import {
  findImported,
  findLocalEnds,
  isRecovered,
  readAttestations,
  readCertificates,
  readEntry,
  readLists,
  readOwnFeeds,
  readPartnerFeeds,
  readTreaties,
  readTreatiesWith,
  type TreatyStateRow,
} from './queries.ts'
import {
  attestationStanding,
  certificateStanding,
  importedStanding,
  listedStanding,
  notStored,
  type Stored,
  treatyStanding,
  tryRead,
} from './standings.ts'

/** A longer list is left out: the statement has its content for the record that is asked for. */
const MAX_LIST_BYTES = 262_144
/** The same for a feed, by its number of ids. */
const MAX_FEED_IDS = 1000
const MAX_TREATIES = MAX_STANDINGS - 1
/** Texts of the treaties with one partner in a response. Of longer ones the statement does not say that it has all. */
const MAX_TREATY_CHARACTERS = 2_097_152
/** Number of treaties read and digested before the event loop continues. */
const TREATIES_PER_LOOP_TURN = 16
/** Events of one certificate that are searched for the list that named it first. */
const MAX_EVENTS = 200

/**
 * GET /admin/history/trusted
 * Returns the state of a record at a past time, with a signed statement of the stored facts and the records that prove
 * it. A caller verifies these again: the state is a convenience.
 */
export async function trusted(call: OperatorCall, parts: HistoryParts): Promise<JsonObject> {
  const now = parts.clock.now()
  const request = readTrustedRequest(call.query)
  // A state that has not happened cannot be answered.
  if (request.at > now) throw new Refusal('invalid_timestamps', { field: 'at', latest: writeInstant(now) })
  const facts = await gather(parts, request)
  const { standings, treaties_with, ...records } = facts
  const history = await signStatement(parts, now, { covers: null, treaties_with, standings })
  const page: TrustHistoryPage = { ...keyRecords(parts), history, ...records }
  return { ...(await verifyHere(page, request, standings)), page: trustHistoryJson(page) }
}

interface Gathered extends Omit<TrustHistoryPage, 'genesis' | 'key_history' | 'history'> {
  readonly standings: readonly Standing[]
  readonly treaties_with: string | null
}

/** The verdict by the rule that callers use. Without a kind, that of the stored record. */
async function verifyHere(
  page: TrustHistoryPage,
  request: TrustedRequest,
  standings: readonly Standing[],
): Promise<JsonObject> {
  const { id, at, issuer } = request
  const known = RECORD_SUBJECTS.filter((kind) => standings.some((each) => each.kind === kind && each.known))
  if (request.kind === undefined && known.length > 1) throw new Refusal('invalid_input', { field: 'kind' })
  const kind = request.kind ?? known[0] ?? RECORD_SUBJECTS[0]
  const { genesis, key_history } = page
  const keys = key_history === null ? { genesis } : { genesis, history: key_history }
  const verdict = await verifyPastTrust({ kind, id, issuer }, [{ ...page, keys }], at)
  return asJson(verdict)
}

async function gather(parts: HistoryParts, request: TrustedRequest): Promise<Gathered> {
  const own = parts.network.name
  const { kind, issuer } = request
  if (issuer !== undefined && issuer !== own) return gatherPartner(parts, issuer, request)
  const found: Gathered[] = []
  if (kind === undefined || kind === 'certificate') found.push(await gatherCertificate(parts, request))
  if (kind === undefined || kind === 'attestation') found.push(await gatherAttestation(parts, request))
  if (kind === undefined || kind === 'treaty') found.push(await gatherTreaty(parts, request))
  return found.reduce((one, other) => ({
    standings: [...one.standings, ...other.standings],
    treaties_with: null,
    certificates: [...one.certificates, ...other.certificates],
    attestations: [...one.attestations, ...other.attestations],
    treaties: [...one.treaties, ...other.treaties],
    lists: [...one.lists, ...other.lists],
    feeds: [...one.feeds, ...other.feeds],
  }))
}

function gathered(
  standings: readonly Standing[],
  more: Partial<{
    readonly treaties_with: string
    readonly certificates: readonly JoinCertificate[]
    readonly attestations: readonly Attestation[]
    readonly treaties: readonly RecognitionTreaty[]
    readonly lists: readonly Crl[]
    readonly feeds: readonly RevocationFeed[]
  }> = {},
): Gathered {
  const none = { treaties_with: null, certificates: [], attestations: [], treaties: [], lists: [], feeds: [] }
  return { standings, ...none, ...more }
}

async function gatherCertificate(parts: HistoryParts, { id, at }: TrustedRequest): Promise<Gathered> {
  const [db, own] = [parts.database.read, parts.network.name]
  const [row] = await readCertificates(db, { ids: [id] })
  if (row === undefined) {
    const entry = await readEntry(db, id)
    return gathered([entry === undefined ? notStored('certificate', id, own) : listedStanding(id, entry, own)])
  }
  const { standing, record } = certificateStanding(row, own)
  const sequence = standing.is_revoked ? await findFirstList(parts, id) : null
  const source = standing.source === null ? null : { ...standing.source, sequence }
  const texts = await readLists(db, { at: writeSortable(at), sequence, maxBytes: MAX_LIST_BYTES })
  const lists = texts.map((text) => tryRead(text, readCrl)).filter((list) => list !== undefined)
  return gathered([{ ...standing, source }], { certificates: record === undefined ? [] : [record], lists })
}

/** The list that named a certificate first, by the event of its revocation. */
async function findFirstList(parts: HistoryParts, cert_id: string): Promise<number | null> {
  const events = await listEventsOf(parts.database.read, [cert_id], { before: undefined, limit: MAX_EVENTS })
  let first: number | null = null
  for (const { event_type, event_json } of events) {
    if (event_type !== 'certificate_revoked') continue
    const { details = {} } = JSON.parse(event_json) as { readonly details?: Readonly<Record<string, unknown>> }
    const sequence = details['crl_sequence']
    if (typeof sequence === 'number' && (first === null || sequence < first)) first = sequence
  }
  return first
}

async function gatherAttestation(parts: HistoryParts, { id, at }: TrustedRequest): Promise<Gathered> {
  const [db, own] = [parts.database.read, parts.network.name]
  const [row] = await readAttestations(db, { ids: [id] })
  if (row === undefined) {
    const standing = notStored('attestation', id, own)
    return gathered([{ ...standing, is_revoked: await isRecovered(db, id) }])
  }
  const { standing, record } = attestationStanding(row, own)
  const feeds = readFeeds(await readOwnFeeds(db, writeSortable(at), MAX_FEED_IDS))
  return gathered([standing], { attestations: record === undefined ? [] : [record], feeds })
}

async function gatherTreaty(parts: HistoryParts, { id }: TrustedRequest): Promise<Gathered> {
  const [row] = await readTreaties(parts.database, { ids: [id] })
  if (row === undefined) return gathered([notStored('treaty', id, parts.network.name)])
  const { standing, record } = treatyStanding(row, parts.network.name)
  return gathered([standing], { treaties: record === undefined ? [] : [record] })
}

/** For the attestation of a partner: its first revocation here, and all treaties with this partner. */
async function gatherPartner(parts: HistoryParts, issuer: string, { id }: TrustedRequest): Promise<Gathered> {
  const db = parts.database.read
  const ends = await findLocalEnds(parts.database, id)
  const imported = importedStanding(issuer, id, await findImported(db, issuer, id), ends)
  const { stored, isComplete } = await gatherTreatiesWith(parts, issuer)
  return gathered([imported, ...stored.map(({ standing }) => standing)], {
    ...(isComplete ? { treaties_with: issuer } : {}),
    treaties: stored.map(({ record }) => record).filter((record) => record !== undefined),
    feeds: readFeeds(await readPartnerFeeds(db, issuer, MAX_FEED_IDS)),
  })
}

/** The newest treaties with a partner, as many as a response has space for. */
async function gatherTreatiesWith(
  { database, network }: HistoryParts,
  subject: string,
): Promise<{ readonly stored: readonly Stored<RecognitionTreaty>[]; readonly isComplete: boolean }> {
  const stored: Stored<RecognitionTreaty>[] = []
  let characters = 0
  let after: TreatyStateRow | undefined
  do {
    const wanted = { own: network.name, subject, after, limit: TREATIES_PER_LOOP_TURN }
    const rows = await readTreatiesWith(database, wanted)
    for (const row of rows) {
      characters += row.treaty_json.length
      if (stored.length === MAX_TREATIES || characters > MAX_TREATY_CHARACTERS) return { stored, isComplete: false }
      stored.push(treatyStanding(row, network.name))
    }
    after = rows.length < TREATIES_PER_LOOP_TURN ? undefined : rows.at(-1)
    await endOfLoopTurn()
  } while (after !== undefined)
  return { stored, isComplete: true }
}

/** An index of parts is not a feed, and is left out. */
function readFeeds(texts: readonly string[]): readonly RevocationFeed[] {
  return texts.map((text) => tryRead(text, readRevocationFeed)).filter((feed) => feed !== undefined)
}
