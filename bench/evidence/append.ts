import { randomUUID } from 'node:crypto'
import { asJson, canonicalJson, chainEntry, decisionSubject } from '@chancery/protocol'
import type { BoundaryDecision, ContextRecord } from '@chancery/protocol'
import { startTestAuthority, type TestAuthority } from '@chancery/testkit'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { connect, createPostgres } from '../lib/databases.ts'
import { median, round } from '../lib/statistics.ts'
import { evidenceExport } from './export.ts'
import { fillStore } from './filler.ts'
import { evidenceHttp } from './http.ts'

const BAR = 0.5
const CALLERS = 32
const FEW_CALLERS = 8
/** Entries of every store at the beginning; `--entries` adds a store with that many. */
const SMALL_ENTRIES = 10_000

/**
 * The append function of the store on PostgreSQL in this process: many callers against the bare engine, which writes
 * rows of the same size into the same table and indexes under the same head lock, in batches of the size the product
 * made. Also measured with one caller, which is one transaction per append, and with eight callers.
 */
export const evidenceAppend: Bench = {
  name: 'evidence-append',
  says: `the evidence append with ${CALLERS} callers against the bare engine in equal batches; at least ${BAR}`,
  run,
  cases: { export: evidenceExport, http: evidenceHttp },
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const na = await openDatabase(options, SMALL_ENTRIES)
  const large = options.entries === undefined ? undefined : await openDatabase(options, options.entries)
  const bare = await openBare(options)
  const milliseconds = options.seconds * 1000
  // Warms up prepared statements, pages and just-in-time code for all of them.
  await append(na, CALLERS, milliseconds)
  if (large !== undefined) await append(large, CALLERS, milliseconds)
  const rounds: Round[] = []
  for (let at = 0; at < options.rounds; at += 1) {
    const many = await append(na, CALLERS, milliseconds)
    const engine = await bare.rate(Math.round(many.batch), milliseconds)
    const few = await append(na, FEW_CALLERS, milliseconds)
    const one = await append(na, 1, milliseconds)
    const filled = large === undefined ? undefined : await append(large, CALLERS, milliseconds)
    const rates = { many: many.rate, engine, few: few.rate, one: one.rate, large: filled?.rate ?? Number.NaN }
    rounds.push({ ...rates, batch: many.batch })
    options.progress(
      JSON.stringify(rounds.at(-1), (_name, value: unknown) => (typeof value === 'number' ? Math.round(value) : value)),
    )
  }
  const over = (pick: (each: Round) => number): number => median(rounds.map(pick))
  return {
    ratio: round(over((each) => each.many / each.engine)),
    bar: BAR,
    appends_per_second: Math.round(over((each) => each.many)),
    bare_per_second: Math.round(over((each) => each.engine)),
    batch: round(
      over((each) => each.batch),
      1,
    ),
    times_one_by_one: round(over((each) => each.many / each.one)),
    from_8_to_32_callers: round(over((each) => each.many / each.few)),
    one_by_one_per_second: Math.round(over((each) => each.one)),
    entries: SMALL_ENTRIES,
    ...(options.entries === undefined
      ? {}
      : { with_entries: options.entries, to_small: round(over((each) => each.large / each.many)) }),
  }
}

/** An authority in this process whose store has this many entries. */
async function openDatabase({ cleanup }: BenchOptions, entries: number): Promise<TestAuthority> {
  const { url } = await createPostgres(cleanup)
  const settings = { DATABASE_URL: url, EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
  const database = { settings: { DATABASE_URL: url }, drop: async () => undefined }
  const fresh = await startTestAuthority({ settings, database })
  await fresh.stop()
  await fillStore(url, entries)
  const na = await startTestAuthority({ settings, database })
  cleanup.add(() => na.stop())
  return na
}

/** Per second, and entries per transaction. */
interface Round {
  readonly many: number
  readonly batch: number
  readonly engine: number
  readonly few: number
  readonly one: number
  /** Many callers at the store with more entries. */
  readonly large: number
}

/** Callers that each wait for their own acknowledgement before they append again. */
async function append(
  na: TestAuthority,
  callers: number,
  milliseconds: number,
): Promise<{ rate: number; batch: number }> {
  const { features } = na
  const end = performance.now() + milliseconds
  const start = performance.now()
  let count = 0
  const before = await countCommits(na)
  const basisVersion = await features.evidence.basisVersion()
  const work = Array.from({ length: callers }, async () => {
    while (performance.now() < end) {
      await features.evidence.append(item(basisVersion))
      count += 1
    }
  })
  await Promise.all(work)
  const rate = (count * 1000) / (performance.now() - start)
  return { rate, batch: count / Math.max((await countCommits(na)) - before, 1) }
}

/** Entries of one batch have one time; a batch is a transaction. */
async function countCommits(na: TestAuthority): Promise<number> {
  const row = await na.core.database.read
    .selectFrom('evidence_entries')
    .select((eb) => eb.fn.count<number>('recorded_at').distinct().as('count'))
    // Without the seeded entries.
    .where('recorded_at', '>', '2021')
    .executeTakeFirst()
  return row?.count ?? 0
}

const ANSWER = { status: 201, text: '{}' }

function item(basisVersion: string) {
  const { decision, context } = made()
  return {
    kind: 'decision' as const,
    decision,
    context,
    events: [],
    basisVersion,
    attempt: undefined,
    answer: ANSWER,
  }
}

/** A decision of ordinary size. Its signature is not verified when it is appended. */
function made(): { readonly decision: BoundaryDecision; readonly context: ContextRecord } {
  const [decision_id, context_id, agreement_id] = [randomUUID(), randomUUID(), randomUUID()]
  const at = '2027-03-04T05:06:07Z'
  const context: ContextRecord = {
    context_id,
    agreement_id,
    parent_kind: 'attestation',
    requester_sovereign_id: 'vendor-1',
    provider_sovereign_id: 'acme-net',
    requested_capability: 'secret.rotate',
    request_parameters: { amount: 12, app_id: 'billing' },
    requested_at: at,
    context_freshness_seq: 0,
    attributes: {},
    attestation_id: agreement_id,
  }
  const gates = ['attestation_status', 'attestation_validity', 'capability_check', 'freshness_check']
  const decision: BoundaryDecision = {
    decision_id,
    context_id,
    agreement_id,
    authorized: true,
    denial_reason: null,
    gate_results: gates.map((gate_name) => ({ gate_name, passed: true, detail: 'ok' })),
    decision_made_at: at,
    decision_valid_until: '2027-03-04T05:11:07Z',
    operator_sovereign_id: 'acme-net',
    freshness_proof: null,
    signature: { key_id: 'na', sig: 'A'.repeat(88) },
  }
  return { decision, context }
}

interface Bare {
  rate(batch: number, milliseconds: number): Promise<number>
}

/** The same table, indexes, lock and audit row as the product, without checks, links and comparisons. */
async function openBare({ cleanup }: BenchOptions): Promise<Bare> {
  const database = await createPostgres(cleanup)
  const fresh = await startTestAuthority({
    settings: { DATABASE_URL: database.url, EVIDENCE_STORE: 'on' },
    database: { settings: { DATABASE_URL: database.url }, drop: async () => undefined },
  })
  await fresh.stop()
  const client = await connect(database.url, cleanup)
  let sequence = 0
  const write = async (batch: number): Promise<void> => {
    const rows = Array.from({ length: batch }, () => bareRow((sequence += 1)))
    await client.query('begin')
    await client.query('select last_sequence from evidence_head where id = 1 for update')
    await client.query({
      name: 'bare-append',
      text:
        'insert into evidence_entries (store_sequence, entry_kind, recorded_at, entry_digest, decision_id, vendor_id, attestation_id, capability, outcome, line) ' +
        "select s, 'decision', $2, d, i, 'vendor-1', i, 'secret.rotate', 'authorized', l " +
        "from unnest($1::bigint[], $3::text[], $4::text[], string_to_array($5, E'\\n')) as t(s, d, i, l)",
      values: [
        rows.map((row) => row.sequence),
        '2027-03-04T05:06:07.000000Z',
        rows.map((row) => row.digest),
        rows.map((row) => row.id),
        rows.map((row) => row.line).join('\n'),
      ],
    })
    await client.query('update evidence_head set last_sequence = $1 where id = 1', [sequence])
    await client.query({
      name: 'bare-audit',
      text: "insert into audit_events (event_id, event_type, event_json, created_at) select i, 'decision_stored', repeat('x', 200), $2 from unnest($1::text[]) as t(i)",
      values: [rows.map(() => randomUUID()), '2027-03-04T05:06:07.000000Z'],
    })
    await client.query('commit')
  }
  return {
    async rate(batch, milliseconds) {
      const start = performance.now()
      let rows = 0
      while (performance.now() - start < milliseconds) {
        await write(batch)
        rows += batch
      }
      return (rows * 1000) / (performance.now() - start)
    },
  }
}

const TEMPLATE = ((): string => {
  const { decision, context } = made()
  const empty = { store_sequence: 0, entry_digest: null }
  const payload = canonicalJson(asJson({ decision, context }))
  return chainEntry(empty, decisionSubject({ decision, context }), payload, '2027-03-04T05:06:07Z').line
})()

function bareRow(sequence: number): { sequence: number; digest: string; id: string; line: string } {
  const id = randomUUID()
  return { sequence, id, digest: `${id}${id}`.slice(0, 64), line: TEMPLATE }
}
