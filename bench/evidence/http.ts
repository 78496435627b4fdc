import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { seedSigner, writeJson } from '@chancery/protocol'
import type pg from 'pg'
import type { BenchOptions, BenchResult, Measurement } from '../lib/bench.ts'
import { connect } from '../lib/databases.ts'
import { measureAgainstLimit, type NodeWork } from '../lib/node-bench.ts'
import type { BatchStatement } from '../lib/raw-inserts.ts'
import { EvidenceLines, type MadeEntry } from './lines.ts'
import { appendEntries, countAsDescribed } from './seed.ts'
import { drawSample, type EvidenceSetup, openStore } from './setup.ts'

const BAR = 0.5
const PATH = '/evidence/execution'

/**
 * One authority process with the evidence store on; every response after its entry is durable. Each execution has its
 * own decision.
 */
export const evidenceHttp: Measurement = {
  says: `POST ${PATH} against the limit formula; at least ${BAR}`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { network, database, server, setup } = await openStore(options)
  const { sample } = await drawSample(setup, server.port)
  const authority = await seedSigner(network.authority.keyId, network.authority.seed)
  const lines = new EvidenceLines(sample, { authority, executor: setup.executor })
  const client = await connect(database.url, options.cleanup)
  await client.query('create table bare_entries (like evidence_entries including defaults including indexes)')

  const bodies = async (count: number): Promise<readonly string[]> => {
    const { rows } = await client.query<{ last_sequence: string; last_digest: string }>('select * from evidence_head')
    const { last_sequence = '0', last_digest = null } = rows[0] ?? {}
    lines.continueFrom({ store_sequence: Number(last_sequence), entry_digest: last_digest })
    const entries: MadeEntry[] = []
    const texts: string[] = []
    while (texts.length < count) {
      const { decision, entry } = await lines.nextDecision()
      entries.push(entry)
      texts.push(writeJson({ evidence: await setup.sign(decision) }))
    }
    await appendEntries(client, entries)
    await countAsDescribed(client)
    await awaitLog(client, setup)
    return texts
  }
  const work: NodeWork = {
    path: PATH,
    bodies,
    database,
    processes: [server],
    statement: executionRows(),
    batch: 50,
    verifications: 1,
    signatures: 0,
    perSecond: 4000,
  }
  return { bar: BAR, processes: 1, ...(await measureAgainstLimit(work, options)) }
}

/** Waits until the log has the seeded decisions, which are many times the appends of the load. */
async function awaitLog(client: pg.Client, setup: EvidenceSetup): Promise<void> {
  await setup.decide()
  for (;;) {
    const { rows } = await client.query<{ rest: number }>(
      'select ((select last_sequence from evidence_head) - coalesce(max(tree_size), 0))::int as rest from evidence_log_checkpoints',
    )
    if (rows[0]?.rest === 0) return
    await pause(20)
  }
}

/** Entry and audit event of an execution, in a table of the same columns and indexes. */
function executionRows(): BatchStatement {
  let sequence = 0
  return (rows) => {
    const ids = Array.from({ length: rows }, () => randomUUID())
    return {
      name: 'bare-execution',
      text:
        'with i as (select * from unnest($1::bigint[], $2::text[]) as t(s, id)), ' +
        'e as (insert into bare_entries (store_sequence, entry_kind, recorded_at, entry_digest, decision_id, vendor_id, attestation_id, capability, outcome, evidence_id, exec_sequence_no, record_digest, line) ' +
        "select s, 'execution', $3, repeat('d', 64), id, 'vendor-1', 'attestation', 'secret.rotate', 'success', id, 1, repeat('r', 64), repeat('x', 1400) from i) " +
        "insert into audit_events (event_id, event_type, event_json, created_at) select id, 'evidence_recorded', repeat('x', 400), $3 from i",
      values: [ids.map(() => (sequence += 1)), ids, '2099-01-01T00:00:00.000000Z'],
    }
  }
}
