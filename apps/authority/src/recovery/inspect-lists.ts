import { DAY, HOUR, type Instant, type JsonObject, isJsonObject, readInstant } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Reader } from '../database/database.ts'
import { DamagedListError, findList, loadListText } from '../database/list-segments.ts'
import { mayLeaveOut } from './inspect-sovereign.ts'
import { type InspectionNotes, pages, parse } from './manifest.ts'

const PAGE = 20
/** How long after the end of its certificate an entry stays on the list; a year for an unknown certificate. */
const LISTED_AFTER_END = HOUR
const UNKNOWN_LISTED = 366n * DAY

interface Version {
  readonly sequence: number
  /** Null when it was removed after its retention period. */
  readonly text: string | null
}

/** Verifies lists and feeds: no gap, no fork, no earlier date, and no revocation undone. */
export async function inspectLists(db: Reader, notes: InspectionNotes): Promise<void> {
  const recovered = await readRecoveries(db)
  await inspectVersions(db, 'crl', recovered, notes, async (name, previous, record) => {
    for (const lost of await lostEntries(db, previous, record)) notes.problem(`${name}: no longer names ${lost}`)
  })
  await inspectVersions(db, 'feed', recovered, notes, async (name, previous, record) => {
    const ids = new Set(textsOf(record['revoked_attestation_ids']))
    for (const id of textsOf(previous['revoked_attestation_ids']))
      if (!ids.has(id) && !(await mayLeaveOut(db, id, { at: issuedAt(record), ids: ids.size })))
        notes.problem(`${name}: no longer names ${id}`)
  })
  await inspectActiveList(db, notes)
}

async function inspectVersions(
  db: Reader,
  kind: 'crl' | 'feed',
  recovered: Recovered,
  notes: InspectionNotes,
  compare: (name: string, previous: JsonObject, record: JsonObject) => Promise<void>,
): Promise<void> {
  const { jumps, redated } = recovered[kind]
  let last: { readonly sequence: number; readonly record: JsonObject | undefined; readonly isNext: boolean } | undefined
  for await (const { sequence, text } of readVersions(db, kind)) {
    const name = `${kind} ${sequence}`
    if (last !== undefined && sequence !== last.sequence + 1 && !jumps.has(sequence))
      notes.problem(`${name}: follows ${last.sequence}`)
    if (text === null) {
      // Its text is removed. The entries before it are compared with the next stored list.
      last = { sequence, record: last?.record, isNext: false }
      continue
    }
    const whole = kind === 'crl' ? await wholeText(db, sequence, text) : text
    const record = await notes.ownRecord(kind, String(sequence), whole)
    if (record !== undefined && record['sequence'] !== sequence) notes.problem(`${name}: says another number`)
    if (last?.record !== undefined && record !== undefined) {
      // Only an audited recovery from a clock that was ahead may date one back. It may be among the removed ones.
      if (last.isNext && issuedAt(record) < issuedAt(last.record) && !redated.has(sequence))
        notes.problem(`${name}: dated before its predecessor`)
      await compare(name, last.record, record)
    }
    last = { sequence, record, isNext: true }
  }
}

function issuedAt(record: JsonObject): Instant {
  return readInstant(textOf(record['issued_at'])) ?? 0n
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function entriesOf(list: JsonObject): Map<string, JsonObject> {
  const entries = list['revoked_certificates']
  const objects = Array.isArray(entries) ? entries.filter((each) => isJsonObject(each)) : []
  return new Map(objects.map((entry) => [textOf(entry['certificate_id']), entry]))
}

/** Entries of the previous list that are missing although their certificates had not ended. */
async function lostEntries(db: Reader, previous: JsonObject, list: JsonObject): Promise<string[]> {
  const entries = entriesOf(list)
  const now = issuedAt(list)
  const lost: string[] = []
  for (const [id, entry] of entriesOf(previous)) {
    if (entries.has(id)) continue
    const row = await db.selectFrom('issued_certs').select('expires_at').where('cert_id', '=', id).executeTakeFirst()
    const revokedAt = readInstant(textOf(entry['revoked_at'])) ?? now
    const end = row === undefined ? revokedAt + UNKNOWN_LISTED : (readInstant(row.expires_at) ?? now) + LISTED_AFTER_END
    if (end > now) lost.push(id)
  }
  return lost
}

/**
 * Checks that the rows of the next list have the entries of the last one, and every revoked certificate that has not
 * ended.
 */
async function inspectActiveList(db: Reader, notes: InspectionNotes): Promise<void> {
  const last = await db
    .selectFrom('crl_versions')
    .select(['sequence', 'crl_json', 'issued_at'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const listed = entriesOf(parse((last && (await wholeText(db, last.sequence, last.crl_json))) ?? '') ?? {})
  for (const row of await db.selectFrom('crl_entries').select('cert_id').execute())
    if (!listed.has(row.cert_id)) notes.problem(`crl: the entry ${row.cert_id} is not on the last list`)
  if (last === undefined) return
  const missing = await db
    .selectFrom('issued_certs')
    .select('cert_id')
    .where('status', '=', 'revoked')
    .where('expires_at', '>', last.issued_at)
    .where('cert_id', 'not in', db.selectFrom('crl_entries').select('cert_id'))
    .limit(100)
    .execute()
  for (const { cert_id } of missing) notes.problem(`crl: the revoked certificate ${cert_id} is not on the last list`)
}

/** The text of a list. A large one is stored in segments; missing or damaged segments give no text. */
async function wholeText(db: Reader, sequence: number, text: string): Promise<string> {
  const list = text === '' ? await findList(db, sequence) : undefined
  if (list === undefined) return text
  try {
    return await loadListText(db, list)
  } catch (error) {
    if (!(error instanceof DamagedListError)) throw error
    // Reported as a record that cannot be read.
    return ''
  }
}

interface RecoveredLine {
  /** May skip sequences: the one permitted jump. */
  readonly jumps: ReadonlySet<number>
  /** May be dated before its predecessor, which was dated by a clock that was ahead. */
  readonly redated: ReadonlySet<number>
}

type Recovered = Readonly<Record<'crl' | 'feed', RecoveredLine>>

/** What only an audited recovery may do. One from an old backup has a replay floor, one from a wrong clock has none. */
async function readRecoveries(db: Reader): Promise<Recovered> {
  const rows = await db
    .selectFrom('audit_events')
    .select('event_json')
    .where('event_type', '=', 'state_recovered')
    .execute()
  const details = rows.map((row) => parse(row.event_json)?.['details']).filter((each) => isJsonObject(each))
  const numbers = (name: string, hasFloor: boolean): ReadonlySet<number> =>
    new Set(details.filter((each) => 'replay_floor' in each === hasFloor).map((each) => Number(each[name])))
  const line = (name: string): RecoveredLine => ({ jumps: numbers(name, true), redated: numbers(name, false) })
  return { crl: line('crl_sequence'), feed: line('feed_sequence') }
}

/** Reads the versions in order, the removed ones without their text. */
function readVersions(db: Reader, kind: 'crl' | 'feed'): AsyncGenerator<Version> {
  const [stored, text, removed] =
    kind === 'crl'
      ? (['crl_versions', 'crl_json', 'removed_crl_versions'] as const)
      : (['own_revocation_feeds', 'feed_json', 'removed_own_feeds'] as const)
  // The tables of lists and feeds have the same columns here. One name is used for both, because the compiler would ask
  // for a query per table.
  const page = (after: number): Promise<Version[]> =>
    db
      .selectFrom(stored as 'crl_versions')
      .select(['sequence', sql<string | null>`${sql.ref(text)}`.as('text')])
      .where('sequence', '>', after)
      .unionAll((eb) =>
        eb
          .selectFrom(removed as 'removed_crl_versions')
          .select(['sequence', sql<string | null>`null`.as('text')])
          .where('sequence', '>', after),
      )
      .orderBy('sequence')
      .limit(PAGE)
      .execute()
  return pages(-1, page, (row) => row.sequence)
}
