import type { Prepare, Statement, Transaction } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'

/** What the counters of some keys have in the database. */
export interface CounterRows {
  readonly budgets: readonly Tables['budgets'][]
  readonly sums: readonly Tables['budget_sums'][]
  /** Amounts that may still be released. */
  readonly open: readonly Tables['budget_uses'][]
}

interface AskedRows {
  readonly keys: readonly string[]
  /** Rows that ended before this time are left out. */
  readonly since: string
}

/** Rows of these keys whose time in `ends` has not passed. */
function selecting<Row>(table: string, ends: string, where = ''): Statement<AskedRows, Row> {
  return {
    name: `read-${table}`,
    isRead: true,
    postgres: {
      text: `select * from ${table} where budget_key = any($1) and ${ends} >= $2${where}`,
      values: ({ keys, since }) => [keys, since],
    },
    sqlite: (prepare, { keys, since }) =>
      prepare(
        `select * from ${table} where budget_key in (select value from json_each(?)) and ${ends} >= ?${where}`,
      ).all(JSON.stringify(keys), since) as unknown as Row[],
  }
}

const READ_BUDGETS = selecting<Tables['budgets']>('budgets', 'budget_key')
const READ_SUMS = selecting<Tables['budget_sums']>('budget_sums', 'kept_until')
const READ_OPEN = selecting<Tables['budget_uses']>('budget_uses', 'live_until', " and state = 'open'")

/** Reads the counters of these keys as they count at a time, and those of windows that ended since. */
export async function readCounterRows(
  tx: Pick<Transaction, 'run'>,
  keys: readonly string[],
  since: string,
): Promise<CounterRows> {
  const [budgets, sums, open] = await Promise.all([
    tx.run(READ_BUDGETS, { keys, since: '' }),
    tx.run(READ_SUMS, { keys, since }),
    tx.run(READ_OPEN, { keys, since }),
  ])
  return { budgets, sums, open }
}

/** Locks the rows of budgets in the order of their keys: those named, and those that these decisions may still change. */
const LOCK: Statement<{ readonly keys: readonly string[]; readonly decisions: readonly string[] }, unknown> = {
  name: 'lock-budgets',
  postgres: {
    text: `select budget_key from budgets where budget_key = any($1) or budget_key in (
      select u.budget_key from budget_uses u where u.decision_id = any($2)) order by budget_key for update`,
    values: ({ keys, decisions }) => [keys, decisions],
  },
  // SQLite has its only write lock already.
  sqlite: () => [],
}

const LOCK_SECONDS = 2

/** A request waits no longer for a counter. Its caller gets 503, and sends it again. */
const LIMIT_WAITS: Statement<undefined, unknown> = {
  name: 'limit-budget-waits',
  postgres: { text: `select set_config('lock_timeout', '${LOCK_SECONDS}s', true)`, values: () => [] },
  sqlite: () => [],
}

export async function lockBudgets(
  tx: Transaction,
  asked: { readonly keys: readonly string[]; readonly decisions: readonly string[]; readonly isBounded: boolean },
): Promise<void> {
  const limited = asked.isBounded ? tx.run(LIMIT_WAITS, undefined) : undefined
  await Promise.all([limited, tx.run(LOCK, asked)])
}

/** Keys that have an open window, in all and of these requesters. */
export async function countOpenKeys(
  tx: Transaction,
  requesters: readonly string[],
  now: string,
): Promise<{ all: number; readonly byRequester: Map<string, number> }> {
  const { query } = tx
  const all = await query
    .selectFrom('budgets')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('open_until', '>', now)
    .executeTakeFirstOrThrow()
  const rows = await query
    .selectFrom('budgets')
    .select(({ fn }) => ['requester', fn.countAll<number | string>().as('count')])
    .where('requester', 'in', [...requesters, ''])
    .where('open_until', '>', now)
    .groupBy('requester')
    .execute()
  return { all: Number(all.count), byRequester: new Map(rows.map((row) => [row.requester, Number(row.count)])) }
}

export interface CounterWrite {
  readonly budgets: readonly Tables['budgets'][]
  readonly sums: readonly Tables['budget_sums'][]
  readonly uses: readonly Tables['budget_uses'][]
  /** Approvals whose reservations end. */
  readonly released: readonly string[]
}

/** Writes rows of one table at once; `rest` is what happens to a row that is there. */
function inserting<Row extends object>(
  table: string,
  columns: readonly (readonly [name: keyof Row & string, type: 'text' | 'bigint' | 'integer'])[],
  rest: string,
): Statement<readonly Row[], unknown> {
  const names = columns.map(([name]) => name)
  const into = `insert into ${table} (${names.join(', ')})`
  const lists = columns.map(([, type], at) => `$${at + 1}::${type}[]`)
  return {
    name: `write-${table}`,
    postgres: {
      text: `${into} select * from unnest(${lists.join(', ')}) ${rest}`,
      values: (rows) => names.map((name) => rows.map((row) => row[name])),
    },
    sqlite(prepare: Prepare, rows) {
      const insert = prepare(`${into} values (${names.map(() => '?').join(', ')}) ${rest}`)
      for (const row of rows) insert.run(...names.map((name) => row[name] as string | number | null))
      return []
    },
  }
}

const WRITE_BUDGETS = inserting<Tables['budgets']>(
  'budgets',
  [
    ['budget_key', 'text'],
    ['source', 'text'],
    ['requester', 'text'],
    ['identity_json', 'text'],
    ['counts', 'text'],
    ['last_limit', 'text'],
    ['open_until', 'text'],
    ['overrun_until', 'text'],
  ],
  `on conflict (budget_key) do update set counts = excluded.counts, last_limit = excluded.last_limit,
    open_until = excluded.open_until, overrun_until = excluded.overrun_until`,
)

const WRITE_SUMS = inserting<Tables['budget_sums']>(
  'budget_sums',
  [
    ['budget_key', 'text'],
    ['slot', 'bigint'],
    ['amount', 'text'],
    ['reported', 'integer'],
    ['kept_until', 'text'],
  ],
  'on conflict (budget_key, slot) do update set amount = excluded.amount, reported = excluded.reported',
)

const WRITE_USES = inserting<Tables['budget_uses']>(
  'budget_uses',
  [
    ['budget_key', 'text'],
    ['store_sequence', 'bigint'],
    ['decision_id', 'text'],
    ['slot', 'bigint'],
    ['asked', 'text'],
    ['state', 'text'],
    ['live_until', 'text'],
    ['valid_until', 'text'],
    ['settle_json', 'text'],
    ['approval_id', 'text'],
    ['kept_until', 'text'],
  ],
  '',
)

export async function writeCounterRows(tx: Transaction, write: CounterWrite): Promise<void> {
  const some = <Row>(statement: Statement<readonly Row[], unknown>, rows: readonly Row[]): Promise<unknown> =>
    rows.length === 0 ? Promise.resolve() : tx.run(statement, rows)
  await Promise.all([some(WRITE_BUDGETS, write.budgets), some(WRITE_SUMS, write.sums), some(WRITE_USES, write.uses)])
  if (write.released.length > 0) await releaseReservations(tx, write.released)
}

/** Ends the reservations of approvals that ended. Called under the locks of {@link lockBudgets} and the head. */
export async function releaseReservations(tx: Transaction, approvals: readonly string[]): Promise<void> {
  await tx.query
    .updateTable('budget_uses')
    .set({ state: 'released' })
    .where('approval_id', 'in', approvals)
    .where('state', '=', 'open')
    .execute()
}

/** An approved request is reserved until this instant, `last` included. */
export async function extendReservations(tx: Transaction, approval_id: string, last: string): Promise<void> {
  await tx.query
    .updateTable('budget_uses')
    .set({ live_until: last })
    .where('approval_id', '=', approval_id)
    .where('state', '=', 'open')
    .execute()
}
