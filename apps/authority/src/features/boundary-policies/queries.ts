import { type Database, type Reader, type Statement, type Transaction, assertStored } from '../../database/database.ts'

export interface PolicyRow {
  readonly policy_id: string
  readonly version: number
  readonly policy_json: string
  readonly policy_digest: string
  readonly active: number
  readonly created_at: string
  readonly activated_at: string | null
  readonly deactivated_at: string | null
}

/** The bytes of the active rows, which every decision reads. */
export type ActiveRow = Pick<PolicyRow, 'policy_id' | 'version' | 'policy_json' | 'policy_digest'>

const SELECT_ACTIVE = 'select policy_id, version, policy_json, policy_digest from boundary_policies where active = 1'

const LIST_ACTIVE: Statement<undefined, ActiveRow> = {
  name: 'active-policies',
  isRead: true,
  postgres: { text: SELECT_ACTIVE, values: () => [] },
  sqlite: (prepare) => prepare(SELECT_ACTIVE).all() as unknown as ActiveRow[],
}

/** Returns the active policies. Read for every decision, so PostgreSQL prepares the statement once. */
export function listActiveRows(database: Pick<Database, 'run'>): Promise<readonly ActiveRow[]> {
  return database.run(LIST_ACTIVE, undefined)
}

export function findPolicyVersion(db: Reader, policy_id: string, version: number): Promise<PolicyRow | undefined> {
  return db
    .selectFrom('boundary_policies')
    .selectAll()
    .where('policy_id', '=', policy_id)
    .where('version', '=', version)
    .executeTakeFirst()
}

/** Texts by digest. The same text is stored once, whichever policy brought it. */
export async function insertTexts(tx: Transaction, texts: ReadonlyMap<string, string>, now: string): Promise<void> {
  for (const [text_digest, text] of texts) {
    await tx.query
      .insertInto('boundary_policy_texts')
      .values({ text_digest, text, created_at: now })
      .onConflict((conflict) => conflict.column('text_digest').doNothing())
      .execute()
    assertStored(text, await findPolicyText(tx.query, text_digest))
  }
}

export async function findPolicyText(db: Reader, text_digest: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('boundary_policy_texts')
    .select('text')
    .where('text_digest', '=', text_digest)
    .executeTakeFirst()
  return row?.text
}

/** The highest stored version, 0 when the policy is new. */
export async function lastVersion(db: Reader, policy_id: string): Promise<number> {
  const row = await db
    .selectFrom('boundary_policies')
    .select((eb) => eb.fn.max('version').as('version'))
    .where('policy_id', '=', policy_id)
    .executeTakeFirst()
  return Number(row?.version ?? 0)
}

/** Adds an inactive version. Returns false when another writer has used the number. */
export async function insertVersion(
  tx: Transaction,
  row: Pick<PolicyRow, 'policy_id' | 'version' | 'policy_json' | 'policy_digest' | 'created_at'>,
): Promise<boolean> {
  const stored = await tx.query
    .insertInto('boundary_policies')
    .values({ ...row, active: 0, activated_at: null, deactivated_at: null })
    .onConflict((conflict) => conflict.columns(['policy_id', 'version']).doNothing())
    .returning('policy_json')
    .executeTakeFirst()
  if (stored === undefined) return false
  assertStored(row.policy_json, stored.policy_json)
  return true
}

/** Returns the active version. The caller has the lock. */
export async function findActiveVersion(tx: Reader, policy_id: string): Promise<number | null> {
  const row = await tx
    .selectFrom('boundary_policies')
    .select('version')
    .where('policy_id', '=', policy_id)
    .where('active', '=', 1)
    .executeTakeFirst()
  return row?.version ?? null
}

/** Makes one version the only active one of its policy, in the caller's transaction. */
export async function switchVersion(tx: Transaction, policy_id: string, version: number, now: string): Promise<void> {
  await tx.query
    .updateTable('boundary_policies')
    .set({ active: 0, deactivated_at: now })
    .where('policy_id', '=', policy_id)
    .where('active', '=', 1)
    .execute()
  await tx.query
    .updateTable('boundary_policies')
    .set({ active: 1, activated_at: now, deactivated_at: null })
    .where('policy_id', '=', policy_id)
    .where('version', '=', version)
    .execute()
}

/** Deactivates a version. Returns false when it was not active. One statement decides. */
export async function deactivateVersion(
  tx: Transaction,
  policy_id: string,
  version: number,
  now: string,
): Promise<boolean> {
  const row = await tx.query
    .updateTable('boundary_policies')
    .set({ active: 0, deactivated_at: now })
    .where('policy_id', '=', policy_id)
    .where('version', '=', version)
    .where('active', '=', 1)
    .returning('version')
    .executeTakeFirst()
  return row !== undefined
}

/** All versions, or those of one policy: by policy, newest first. */
export function versionList(db: Reader, policy_id: string | undefined) {
  const rows = db.selectFrom('boundary_policies').selectAll()
  const order = [
    { column: 'policy_id', form: /[A-Za-z0-9._:-]{1,128}/ },
    { column: 'version', descending: true, form: /[1-9][0-9]{0,14}/ },
  ] as const
  return { rows: policy_id === undefined ? rows : rows.where('policy_id', '=', policy_id), order }
}
