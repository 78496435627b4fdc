import { type Instant, writeSortable } from '@chancery/protocol'
import { countOf } from '../../database/large-tables.ts'
import { presented } from '../../database/migrations/0052-presented.ts'
import { type Database, type Reader, type Transaction, assertStored } from '../../database/database.ts'
import type { Tables } from '../../database/tables.ts'

export type RuleRow = Readonly<Tables['admission_rules']>

/** No rule has a name of another form, and PostgreSQL cannot compare every text. */
const RULE_ID = /^[A-Za-z0-9._-]{1,64}$/

export async function findRule(db: Reader, rule_id: string): Promise<RuleRow | undefined> {
  if (!RULE_ID.test(rule_id)) return undefined
  return db.selectFrom('admission_rules').selectAll().where('rule_id', '=', rule_id).executeTakeFirst()
}

/** The rules in force first, then the newest. */
export function ruleList(db: Reader) {
  const order = [
    { column: 'status', form: /active|removed/ },
    { column: 'created_at', descending: true, form: /[0-9TZ.:-]{20,32}/ },
    { column: 'rule_id', descending: true, form: /[A-Za-z0-9._-]{1,64}/ },
  ] as const
  return { rows: db.selectFrom('admission_rules').selectAll(), order }
}

/** All, or those that one operator key added. */
export function countActiveRules(db: Reader, created_by?: string): Promise<number> {
  return countOf(activeRules(db, created_by))
}

/** All, or those that one operator key added. */
export function listActiveRules(
  db: Reader,
  created_by?: string,
): Promise<readonly Pick<RuleRow, 'rule_id' | 'rule_json'>[]> {
  return activeRules(db, created_by).select(['rule_id', 'rule_json']).orderBy('rule_id').execute()
}

function activeRules(db: Reader, created_by: string | undefined) {
  const rows = db.selectFrom('admission_rules').where('status', '=', 'active')
  return created_by === undefined ? rows : rows.where('created_by', '=', created_by)
}

/** Of all rules, also of removed ones. */
export async function listStoredTexts(db: Reader): Promise<readonly string[]> {
  const rows = await db.selectFrom('admission_rules').select('rule_json').orderBy('rule_id').execute()
  return rows.map(({ rule_json }) => rule_json)
}

/** Rules by which nodes may join again with an expired certificate. The text is verified before its use. */
export async function listExpiredRules(db: Reader): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('admission_rules')
    .select('rule_id')
    .where('status', '=', 'active')
    .where('rule_json', 'like', '%"kind":"expired_certificate"%')
    .orderBy('rule_id')
    .execute()
  return rows.map(({ rule_id }) => rule_id)
}

/**
 * The text of a stored certificate that ended after the upgrade, and after the last recovery. Of one that ended before the
 * upgrade it is not known whether evidence admitted it. One that ended before a recovery may have been revoked after the
 * backup, and lists name no certificates that have ended.
 */
export async function findFormer(db: Reader, cert_id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom(['issued_certs as c', 'schema_version as s'])
    .select('c.cert_json')
    .where('c.cert_id', '=', cert_id)
    .where('s.version', '=', presented.version)
    .whereRef('c.expires_at', '>', 's.applied_at')
    .where((eb) =>
      eb.not(
        eb.exists(
          eb.selectFrom('recoveries as r').select('r.position').whereRef('r.recovered_at', '>=', 'c.expires_at'),
        ),
      ),
    )
    .executeTakeFirst()
  return row?.cert_json
}

interface NewestCertificate {
  readonly cert_id: string
  readonly roles_json: string
  readonly max_validity_hours: number
  /** It has no successor, so an operator revoked it, also with the reason `superseded`. */
  readonly isRevoked: boolean
}

/** The certificate of this key that was issued last. */
export async function findNewest(db: Reader, node_public_key: string): Promise<NewestCertificate | undefined> {
  const row = await db
    .selectFrom('issued_certs as c')
    .leftJoin('crl_entries as e', 'e.cert_id', 'c.cert_id')
    .select(['c.cert_id', 'c.roles_json', 'c.max_validity_hours', 'c.status', 'e.cert_id as listed'])
    .where('c.node_public_key', '=', node_public_key)
    // One of which only id and key are known has no roles, and no time.
    .where('c.roles_json', '<>', '[]')
    .orderBy('c.issued_at', 'desc')
    .orderBy('c.cert_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { status, listed, ...terms } = row
  return { ...terms, isRevoked: status === 'revoked' || listed !== null }
}

/** False when there is a rule with this id. */
export async function insertRule(tx: Transaction, row: RuleRow): Promise<boolean> {
  const stored = await tx.query
    .insertInto('admission_rules')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('rule_json')
    .executeTakeFirst()
  if (stored === undefined) return false
  assertStored(row.rule_json, stored.rule_json)
  return true
}

/** One statement decides. False when it was removed before. */
export async function markRemoved(
  tx: Transaction,
  rule_id: string,
  removal: {
    readonly removed_at: string
    readonly removed_by: string | null
    readonly removal_reason: string
    readonly rule_json: string
  },
): Promise<boolean> {
  const row = await tx.query
    .updateTable('admission_rules')
    .set({ ...removal, status: 'removed' })
    .where('rule_id', '=', rule_id)
    .where('status', '=', 'active')
    .returning('rule_id')
    .executeTakeFirst()
  return row !== undefined
}

/**
 * The row of a rule, locked, when it still is the verified text and in force. A removal either waits for this
 * transaction, or this one sees it.
 */
export async function lockRule(
  { engine }: Pick<Database, 'engine'>,
  tx: Transaction,
  rule_id: string,
  text: string,
): Promise<Pick<RuleRow, 'joins'> | undefined> {
  const query = tx.query
    .selectFrom('admission_rules')
    .select('joins')
    .where('rule_id', '=', rule_id)
    .where('status', '=', 'active')
    .where('rule_json', '=', text)
  return (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst()
}

/** The caller has the lock. */
export async function countJoin(tx: Transaction, rule_id: string, joins: number): Promise<void> {
  await tx.query.updateTable('admission_rules').set({ joins }).where('rule_id', '=', rule_id).execute()
}

/** How often evidence was used with this one, by which key. One statement, so two keys cannot both be first. */
export async function useEvidence(
  tx: Transaction,
  evidence_key: string,
  node_public_key: string,
  expiresAt: Instant,
): Promise<{ readonly node_public_key: string; readonly uses: number }> {
  return tx.query
    .insertInto('used_evidence')
    .values({ evidence_key, node_public_key, uses: 1, expires_at: writeSortable(expiresAt) })
    .onConflict((conflict) =>
      conflict.column('evidence_key').doUpdateSet((eb) => ({ uses: eb('used_evidence.uses', '+', 1) })),
    )
    .returning(['node_public_key', 'uses'])
    .executeTakeFirstOrThrow()
}

export async function insertAdmitted(
  tx: Transaction,
  row: { readonly cert_id: string; readonly rule_id: string; readonly expires_at: string },
): Promise<void> {
  await tx.query.insertInto('admitted_certs').values(row).execute()
}

/** The rule that admitted a certificate; undefined when an invite did. */
export async function findAdmittingRule(db: Reader, cert_id: string): Promise<string | undefined> {
  const row = await db.selectFrom('admitted_certs').select('rule_id').where('cert_id', '=', cert_id).executeTakeFirst()
  return row?.rule_id
}

const NAMED_RULES = 20

/** Rules in force that admitted a certificate of one of these keys, some of them when there are many. */
export async function listRulesOf(db: Reader, keys: readonly string[]): Promise<readonly string[]> {
  if (keys.length === 0) return []
  const rows = await db
    .selectFrom('issued_certs as c')
    .innerJoin('admitted_certs as a', 'a.cert_id', 'c.cert_id')
    .innerJoin('admission_rules as r', 'r.rule_id', 'a.rule_id')
    .select('r.rule_id')
    .distinct()
    .where('c.node_public_key', 'in', keys)
    .where('r.status', '=', 'active')
    .orderBy('r.rule_id')
    .limit(NAMED_RULES)
    .execute()
  return rows.map(({ rule_id }) => rule_id)
}

/** Admitted certificates that are in force: not ended, and not revoked. */
function selectInForce(db: Reader, now: string) {
  return db
    .selectFrom('admitted_certs as a')
    .innerJoin('issued_certs as c', 'c.cert_id', 'a.cert_id')
    .where('c.status', '=', 'issued')
    .where('c.expires_at', '>', now)
    .where((eb) => eb.or([eb('c.revoke_after', 'is', null), eb('c.revoke_after', '>', now)]))
}

/** The rule that admitted a certificate which this key may renew now; undefined when there is none. */
export async function findRenewableRule(
  db: Reader,
  { cert_id, node_public_key }: { readonly cert_id: string; readonly node_public_key: string },
  now: string,
): Promise<string | undefined> {
  const row = await selectInForce(db, now)
    .select('a.rule_id')
    .where('a.cert_id', '=', cert_id)
    .where('c.node_public_key', '=', node_public_key)
    .executeTakeFirst()
  return row?.rule_id
}

/** Certificates of a rule that have not ended and are not revoked, some of them when there are many. */
export function listValidOf(
  db: Reader,
  rule_id: string,
  now: string,
  limit: number,
): Promise<readonly { readonly cert_id: string }[]> {
  return selectInForce(db, now)
    .select('a.cert_id')
    .where('a.rule_id', '=', rule_id)
    .where('a.expires_at', '>', now)
    .orderBy('a.cert_id')
    .limit(limit)
    .execute()
}

const ROWS = 5000

/** Removes what ended before these times, a bounded number of rows at a time. Returns whether there may be more. */
export async function removeEndedRows(
  database: Pick<Database, 'write'>,
  before: { readonly evidence: string; readonly certificates: string },
): Promise<boolean> {
  const evidence = await database.write(({ query }) => {
    const ended = query
      .selectFrom('used_evidence')
      .select('evidence_key')
      .where('expires_at', '<', before.evidence)
      .limit(ROWS)
    return query.deleteFrom('used_evidence').where('evidence_key', 'in', ended).executeTakeFirstOrThrow()
  })
  const certificates = await database.write(({ query }) => {
    const ended = query
      .selectFrom('admitted_certs')
      .select('cert_id')
      .where('expires_at', '<', before.certificates)
      .limit(ROWS)
    return query.deleteFrom('admitted_certs').where('cert_id', 'in', ended).executeTakeFirstOrThrow()
  })
  return Number(evidence.numDeletedRows) === ROWS || Number(certificates.numDeletedRows) === ROWS
}
