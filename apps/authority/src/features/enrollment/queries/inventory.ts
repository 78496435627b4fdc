import { type RawBuilder, sql } from 'kysely'
import { countUpTo } from '../../../database/large-tables.ts'
import type { Database, Reader } from '../../../database/database.ts'
import { type Place, isAfter } from '../../../database/list-query.ts'
import { ANY_ID, STORED_TIME } from '../../../requests/list-position.ts'
import { foldLabel } from '../requests.ts'

export const CERTIFICATE_STATES = ['valid', 'superseded', 'expired', 'revoked'] as const
export type InventoryState = (typeof CERTIFICATE_STATES)[number]

export interface InventoryFilter {
  readonly state: InventoryState | undefined
  readonly cert_id: string | undefined
  readonly node_public_key: string | undefined
  readonly role: string | undefined
  readonly label: string | undefined
  readonly issued_since: string | undefined
  readonly issued_until: string | undefined
  readonly expires_before: string | undefined
  readonly now: string
}

/** Newest first. */
export const INVENTORY_ORDER = [
  { column: 'issued_at', descending: true, form: STORED_TIME },
  { column: 'cert_id', form: ANY_ID },
] as const

export type InventoryPosition = Place<typeof INVENTORY_ORDER>

export interface InventoryRow extends InventoryPosition {
  readonly node_public_key: string
  readonly roles_json: string
  readonly expires_at: string
  readonly status: string
  readonly revoke_after: string | null
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly renewed_from: string | null
  readonly renewed_by: string | null
  readonly last_heartbeat: string | null
  readonly heartbeat_status: string | null
  readonly remote_addr: string | null
  readonly label: string | null
}

/** Certificates that one page reads at most when no index finds what it asks for. */
const READ_AT_ONCE = 5000

export interface InventoryPage {
  readonly rows: readonly InventoryRow[]
  /** Where the next page begins; undefined at the end. */
  readonly next: InventoryPosition | undefined
}

/**
 * One page, newest first. Ids, keys, labels, issue times, revoked and superseded certificates are found by index. Other
 * filters are applied to a bounded number of certificates: such a page may have fewer rows than asked for, and its
 * position says where to continue.
 */
export async function readInventory(
  { engine, read: db }: Pick<Database, 'engine' | 'read'>,
  filter: InventoryFilter,
  { limit, after }: { readonly limit: number; readonly after: InventoryPosition | undefined },
  readAtOnce: number = READ_AT_ONCE,
): Promise<InventoryPage> {
  const rest = findRest(engine, filter)
  const candidates = selectCandidates(engine, filter, after)
  const { rows } = await sql<InventoryRow>`
    with candidate as (${candidates} limit ${rest === undefined ? limit + 1 : readAtOnce}),
    page as (
      select c.* from candidate k join issued_certs c on c.cert_id = k.cert_id
      ${rest === undefined ? sql`` : sql`where ${rest}`}
      order by c.issued_at desc, c.cert_id limit ${limit + 1}
    )
    select p.cert_id, p.node_public_key, p.roles_json, p.issued_at, p.expires_at, p.status, p.revoke_after, p.revoked_at,
      p.revocation_reason, p.renewed_from,
      (select s.cert_id from issued_certs s where s.renewed_from = p.cert_id order by s.issued_at desc, s.cert_id limit 1) as renewed_by,
      l.last_heartbeat, l.heartbeat_status, l.remote_addr, n.label
    from page p left join node_liveness l on l.cert_id = p.cert_id
      left join node_labels n on n.node_public_key = p.node_public_key
    order by p.issued_at desc, p.cert_id`.execute(db)
  if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1] }
  if (rest === undefined) return { rows, next: undefined }
  return { rows, next: await findLastRead(db, candidates, readAtOnce) }
}

/** Matching certificates up to a bound; null above it, and when more would have to be read than for a page. */
export async function countInventory(
  { engine, read: db }: Pick<Database, 'engine' | 'read'>,
  filter: InventoryFilter,
  bound: number,
  readAtOnce: number = READ_AT_ONCE,
): Promise<number | null> {
  const rest = findRest(engine, filter)
  const candidates = selectCandidates(engine, filter, undefined)
  if (rest !== undefined && (await findLastRead(db, candidates, readAtOnce)) !== undefined) return null
  const matching =
    rest === undefined
      ? candidates
      : sql`select 1 from (${candidates} limit ${readAtOnce}) k join issued_certs c on c.cert_id = k.cert_id where ${rest}`
  return countUpTo(db, matching, bound)
}

/** The last of as many candidates as a page reads, when there are that many. */
async function findLastRead(
  db: Reader,
  candidates: RawBuilder<unknown>,
  readAtOnce: number,
): Promise<InventoryPosition | undefined> {
  const { rows } = await sql<InventoryPosition>`${candidates} limit 1 offset ${readAtOnce - 1}`.execute(db)
  return rows[0]
}

/** What an index finds, in the order of the list. The states are literals, because partial indexes need them. */
function selectCandidates(
  engine: Database['engine'],
  filter: InventoryFilter,
  after: InventoryPosition | undefined,
): RawBuilder<unknown> {
  const { state, cert_id, node_public_key, label, issued_since, issued_until, now } = filter
  const conditions: RawBuilder<unknown>[] = []
  if (cert_id !== undefined) conditions.push(sql`c.cert_id = ${cert_id}`)
  if (node_public_key !== undefined) conditions.push(sql`c.node_public_key = ${node_public_key}`)
  if (issued_since !== undefined) conditions.push(sql`c.issued_at >= ${issued_since}`)
  if (issued_until !== undefined) conditions.push(sql`c.issued_at < ${issued_until}`)
  if (state === 'revoked') conditions.push(sql`c.status = 'revoked'`)
  if (state === 'superseded')
    conditions.push(sql`c.status = 'issued' and c.revoke_after is not null and c.revoke_after <= ${now}`)
  if (after !== undefined) conditions.push(isAfter(INVENTORY_ORDER, after, 'c'))
  const order = sql`order by c.issued_at desc, c.cert_id`
  if (label !== undefined) {
    conditions.push(sql`c.node_public_key = n.node_public_key`)
    // Labels first, then their certificates. Without the cross join SQLite, and without the offset PostgreSQL, would
    // read the certificates in the order of the list until enough have the label.
    const fence = engine === 'postgres' ? sql`offset 0` : sql``
    return sql`select c.issued_at, c.cert_id from (
      select c.issued_at, c.cert_id from node_labels n cross join issued_certs c
      where ${position(engine)}(n.folded, ${foldLabel(label)}) > 0 and ${sql.join(conditions, sql` and `)} ${fence}) c ${order}`
  }
  const where = conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, sql` and `)}`
  return sql`select c.issued_at, c.cert_id from issued_certs c ${where} ${order}`
}

/** What no index finds. */
function findRest(
  engine: Database['engine'],
  { state, role, expires_before, now }: InventoryFilter,
): RawBuilder<unknown> | undefined {
  const conditions: RawBuilder<unknown>[] = []
  if (state === 'valid' || state === 'expired') {
    conditions.push(sql`c.status <> 'revoked' and (c.revoke_after is null or c.revoke_after > ${now})`)
    conditions.push(state === 'valid' ? sql`c.expires_at > ${now}` : sql`c.expires_at <= ${now}`)
  }
  if (role !== undefined) conditions.push(sql`${position(engine)}(c.roles_json, ${JSON.stringify(role)}) > 0`)
  if (expires_before !== undefined) conditions.push(sql`c.expires_at < ${expires_before}`)
  return conditions.length === 0 ? undefined : sql`${sql.join(conditions, sql` and `)}`
}

function position(engine: Database['engine']): RawBuilder<unknown> {
  return engine === 'postgres' ? sql`strpos` : sql`instr`
}

/** Revoked first, then superseded: as a node that uses the certificate is refused. */
export function inventoryState(
  row: Pick<InventoryRow, 'status' | 'revoke_after' | 'expires_at'>,
  now: string,
): InventoryState {
  if (row.status === 'revoked') return 'revoked'
  if (row.revoke_after !== null && row.revoke_after <= now) return 'superseded'
  return row.expires_at <= now ? 'expired' : 'valid'
}
