import { isJsonObject, readJson, verifyList } from '@chancery/protocol'
import type { JsonObject, Signature } from '@chancery/protocol'
import type { Tx } from '../../store/database.ts'

export interface Inspection {
  /** How many records of each kind were looked at. */
  readonly counts: Readonly<Record<string, number>>
  /** One line per fault, naming kind and record. */
  readonly problems: readonly string[]
}

interface Stored {
  readonly id: string
  readonly text: string
}

const PAGE = 500
/** A kept list is as long as a list may get. */
const LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 200_000 }

/**
 * Looks at everything this database says (reliability 12): each signed record verifies under the authority's key,
 * lists and feeds follow each other without a gap, one policy is active, the entries of the list are those of its last
 * version, and audit events are what they claim to be. Changes nothing.
 */
export async function inspectDatabase(db: Tx, publicKey: string): Promise<Inspection> {
  const problems: string[] = []
  const counts: Record<string, number> = {}
  const seen = async (kind: string, stored: Stored): Promise<JsonObject | undefined> => {
    counts[kind] = (counts[kind] ?? 0) + 1
    const record = parse(stored.text)
    if (record === undefined) problems.push(`${kind} ${stored.id}: is not a record`)
    else if (!(await isSigned(record, publicKey))) problems.push(`${kind} ${stored.id}: its signature does not verify`)
    return record
  }
  const jumps = await recoveredSequences(db)
  for (const kind of ['crl', 'feed'] as const) {
    let last: number | undefined
    for await (const stored of kind === 'crl' ? lists(db) : feeds(db)) {
      const record = await seen(kind, stored)
      const sequence = Number(stored.id)
      if (record !== undefined && record['sequence'] !== sequence)
        problems.push(`${kind} ${sequence}: says another number`)
      if (last !== undefined && sequence !== last + 1 && !jumps[kind].has(sequence))
        problems.push(`${kind} ${sequence}: follows ${last}`)
      last = sequence
    }
  }
  for await (const stored of certificates(db)) {
    const record = await seen('certificate', stored)
    if (record !== undefined && record['cert_id'] !== stored.id)
      problems.push(`certificate ${stored.id}: is another one`)
  }
  for await (const stored of policies(db)) await seen('policy', stored)
  problems.push(...(await findActiveFaults(db)), ...(await findListFaults(db)))
  for await (const stored of events(db)) {
    counts['audit event'] = (counts['audit event'] ?? 0) + 1
    if (parse(stored.text)?.['event_id'] !== stored.id) problems.push(`audit event ${stored.id}: is another one`)
  }
  return { counts, problems }
}

function parse(text: string): JsonObject | undefined {
  try {
    const record = readJson(text, LIMITS)
    return isJsonObject(record) ? record : undefined
  } catch {
    // What cannot be read is what this looks for.
    return undefined
  }
}

async function isSigned(record: JsonObject, publicKey: string): Promise<boolean> {
  if (!Array.isArray(record['signatures'])) return false
  return verifyList(record as JsonObject & { signatures: Signature[] }, [publicKey])
}

/** The one permitted jump, and only where an audited recovery made it. */
async function recoveredSequences(db: Tx): Promise<Record<'crl' | 'feed', ReadonlySet<number>>> {
  const rows = await db
    .selectFrom('audit_events')
    .select('event_json')
    .where('event_type', '=', 'state_recovered')
    .execute()
  const details = rows.map((row) => parse(row.event_json)?.['details']).filter((each) => isJsonObject(each))
  const numbers = (name: string): ReadonlySet<number> => new Set(details.map((each) => Number(each[name])))
  return { crl: numbers('crl_sequence'), feed: numbers('feed_sequence') }
}

async function findActiveFaults(db: Tx): Promise<string[]> {
  const total = await db
    .selectFrom('policy_versions')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  const active = await db.selectFrom('policy_versions').select('policy_id').where('active', '=', 1).execute()
  return Number(total?.count ?? 0) > 0 && active.length !== 1 ? [`policy: ${active.length} versions are active`] : []
}

/** Every entry of the last version is still live or has expired since; nothing is live that it does not name. */
async function findListFaults(db: Tx): Promise<string[]> {
  const last = await db
    .selectFrom('crl_versions')
    .select('crl_json')
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const listed = parse(last?.crl_json ?? '')?.['revoked_certificates']
  const ids = new Set(Array.isArray(listed) ? listed.map((each) => isJsonObject(each) && each['certificate_id']) : [])
  const live = await db.selectFrom('crl_entries').select('cert_id').execute()
  return live
    .filter((row) => !ids.has(row.cert_id))
    .map((row) => `crl: the entry ${row.cert_id} is not on the last list`)
}

function lists(db: Tx): AsyncGenerator<Stored> {
  return byNumber((after) =>
    db
      .selectFrom('crl_versions')
      .select(['sequence', 'crl_json as text'])
      .where('sequence', '>', after)
      .orderBy('sequence')
      .limit(20)
      .execute(),
  )
}

function feeds(db: Tx): AsyncGenerator<Stored> {
  return byNumber((after) =>
    db
      .selectFrom('own_revocation_feeds')
      .select(['sequence', 'feed_json as text'])
      .where('sequence', '>', after)
      .orderBy('sequence')
      .limit(20)
      .execute(),
  )
}

function policies(db: Tx): AsyncGenerator<Stored> {
  return byNumber((after) =>
    db
      .selectFrom('policy_versions')
      .select(['position as sequence', 'policy_json as text'])
      .where('position', '>', after)
      .orderBy('position')
      .limit(PAGE)
      .execute(),
  )
}

function certificates(db: Tx): AsyncGenerator<Stored> {
  return byId((after) =>
    db
      .selectFrom('issued_certs')
      .select(['cert_id as id', 'cert_json as text'])
      .where('cert_id', '>', after)
      .orderBy('cert_id')
      .limit(PAGE)
      .execute(),
  )
}

function events(db: Tx): AsyncGenerator<Stored> {
  return byId((after) =>
    db
      .selectFrom('audit_events')
      .select(['event_id as id', 'event_json as text'])
      .where('event_id', '>', after)
      .orderBy('event_id')
      .limit(PAGE)
      .execute(),
  )
}

async function* byNumber(
  page: (after: number) => Promise<{ sequence: number; text: string }[]>,
): AsyncGenerator<Stored> {
  for (let after = -1; ;) {
    const rows = await page(after)
    for (const row of rows) yield { id: String(row.sequence), text: row.text }
    if (rows.length === 0) return
    after = rows.at(-1)?.sequence ?? after
  }
}

async function* byId(page: (after: string) => Promise<Stored[]>): AsyncGenerator<Stored> {
  for (let after = ''; ;) {
    const rows = await page(after)
    yield* rows
    if (rows.length === 0) return
    after = rows.at(-1)?.id ?? after
  }
}
