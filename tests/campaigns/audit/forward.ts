import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '@chancery/service-kit'
import { COMPILE_CACHE, createTestDatabase, startTemporaryNats } from '@chancery/testkit'
import type { TemporaryNats, TestDatabase } from '@chancery/testkit'
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import pg from 'pg'
import { migrate } from '../../../apps/authority/src/database/migrate.ts'
import { openDatabase } from '../../../apps/authority/src/database/open.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { CLI } from '../lib/command.ts'
import { type Random, seededRandom } from '../lib/random.ts'

interface RecordedStream {
  readonly messages: number
  /** Content by Nats-Msg-Id. */
  readonly byId: ReadonlyMap<string, string>
  /** Ids with two contents, or an id that is not that of its event. */
  readonly contradictions: number
}

/** Reads the whole stream like any other consumer. */
export async function readStream(url: string, stream: string): Promise<RecordedStream> {
  const connection = await connect({ servers: url })
  try {
    const manager = await jetstreamManager(connection)
    const { messages } = (await manager.streams.info(stream)).state
    await manager.consumers.add(stream, { name: 'checker', ack_policy: AckPolicy.None })
    const consumer = await jetstream(connection).consumers.get(stream, 'checker')
    const byId = new Map<string, string>()
    let [seen, contradictions] = [0, 0]
    while (seen < messages) {
      const batch = await consumer.fetch({ max_messages: Math.min(1000, messages - seen), expires: 5000 })
      for await (const message of batch) {
        seen += 1
        const [id, text] = [message.headers?.get('Nats-Msg-Id') ?? '', message.string()]
        const isSame = (byId.get(id) ?? text) === text
        if (!isSame || (JSON.parse(text) as { event_id?: string }).event_id !== id) contradictions += 1
        byId.set(id, text)
      }
    }
    return { messages, byId, contradictions }
  } finally {
    await connection.close()
  }
}

export const summary =
  'audit events forwarded to NATS while forwarder and broker are killed: none lost, none under two ids'
export const defaultCount = 100_000

const STREAM = 'CAMPAIGN'

/** Where events come from and go to. */
interface Forward {
  readonly settings: Readonly<Record<string, string>>
  readonly url: string
}

const WRITERS = 4
/** Long enough that the writers still run when most kills happen. */
const EVENTS_PER_KILL = 4000

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const [testDatabase, nats] = [await createTestDatabase('postgres'), await startTemporaryNats()]
  try {
    await prepare(testDatabase)
    const forward = { settings: testDatabase.settings, url: nats.url }
    const kills = Math.max(2, Math.floor(count / EVENTS_PER_KILL))
    const written = new Set<string>()
    const writing = writeEvents(testDatabase, count, written, random)
    const killed = await forwardThroughKills(forward, nats, kills, random)
    await writing
    const ending = await endOf(startForwarder(forward, '--once'))
    const stream = await readStream(nats.url, STREAM)
    const lost = [...written].filter((id) => !stream.byId.has(id)).length
    const strange = [...stream.byId.keys()].filter((id) => !written.has(id)).length
    const found = {
      events: written.size,
      messages: stream.messages,
      duplicates: stream.messages - stream.byId.size,
      ...killed,
    }
    log(JSON.stringify({ ...found, lost, strange, contradictions: stream.contradictions, last_run: ending }))
    const violations = lost + strange + stream.contradictions + (ending === 0 ? 0 : 1)
    if (violations > 0) log(`violation: lost ${lost}, strange ${strange}, contradictions ${stream.contradictions}`)
    return { cases: count, violations }
  } finally {
    await nats.remove()
    await testDatabase.drop()
  }
}

async function prepare(testDatabase: TestDatabase): Promise<void> {
  const database = openDatabase({ kind: 'postgres', url: testDatabase.settings['DATABASE_URL'] ?? '' })
  await migrate(database, () => systemClock.now())
  await database.close()
}

/** Runs transactions of different length at once, so that many commit in another order than they inserted. */
async function writeEvents(
  testDatabase: TestDatabase,
  count: number,
  written: Set<string>,
  random: Random,
): Promise<void> {
  let left = count
  const writer = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: testDatabase.settings['DATABASE_URL'] })
    await client.connect()
    while (left > 0) {
      const size = Math.min(left, 1 + random.below(40))
      left -= size
      const ids = Array.from({ length: size }, () => randomUUID())
      await client.query('begin')
      await client.query(
        `insert into audit_events (event_id, event_type, event_json, created_at)
         select id, 'certificate_issued', json_build_object('event_id', id, 'event_type', 'certificate_issued', 'details', json_build_object('cert_id', id), 'created_at', $2::text)::text, $2 from unnest($1::text[]) as t(id)`,
        [ids, '2026-01-01T00:00:00.000000Z'],
      )
      if (random.chance(30)) await pause(random.below(60))
      // An aborted transaction leaves a gap in the sequence. The forwarder must not wait for it.
      const isKept = !random.chance(3)
      await client.query(isKept ? 'commit' : 'rollback')
      if (isKept) for (const id of ids) written.add(id)
      else left += size
    }
    await client.end()
  }
  await Promise.all(Array.from({ length: WRITERS }, writer))
}

async function forwardThroughKills(
  forward: Forward,
  nats: TemporaryNats,
  kills: number,
  random: Random,
): Promise<{ readonly forwarder_kills: number; readonly broker_kills: number }> {
  let [forwarder_kills, broker_kills] = [0, 0]
  let forwarder = startForwarder(forward)
  for (let kill = 0; kill < kills; kill += 1) {
    await pause(500 + random.below(1500))
    if (kill % 2 === 1) {
      await nats.kill()
      await pause(random.below(400))
      await nats.start()
      broker_kills += 1
      continue
    }
    const ended = endOf(forwarder)
    forwarder.kill('SIGKILL')
    await ended
    forwarder_kills += 1
    forwarder = startForwarder(forward)
  }
  const ended = endOf(forwarder)
  forwarder.kill('SIGKILL')
  await ended
  return { forwarder_kills: forwarder_kills + 1, broker_kills }
}

/** Runs the command from sources. */
function startForwarder({ settings, url }: Forward, ...words: readonly string[]): ChildProcess {
  const place = ['--to', url, '--stream', STREAM, '--subject', 'campaign.audit']
  return spawn(process.execPath, ['--conditions=development', CLI, 'authority', 'audit', ...place, ...words], {
    env: { ...COMPILE_CACHE, PATH: process.env['PATH'], ...settings },
    stdio: 'ignore',
  })
}

async function endOf(child: ChildProcess): Promise<string | number> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  return code ?? signal ?? ''
}
