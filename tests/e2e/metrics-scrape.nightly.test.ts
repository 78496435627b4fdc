import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAY, writeSortable } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Cleanup } from '../../bench/lib/cleanup.ts'
import { HOST } from '../../bench/lib/conditions.ts'
import { createPostgres, createSqlite, type Database, numbersFrom, onDatabase } from '../../bench/lib/databases.ts'
import { openAuthority } from '../../bench/lib/servers.ts'
import { median } from '../../bench/lib/statistics.ts'

const CERTIFICATES = 200_000
const REVOKED = 20_000
const ACTIVE_NODES = 4000
/** Small enough that the jobs of the authority can write in between. */
const AT_ONCE = 2000
const SCRAPES = 40
/** A scrape that reads all rows takes 150 ms with so many. */
const FACTOR = 3
const NOISE_MS = 20

const cleanup = new Cleanup()
let directory = ''
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'chancery-metrics-'))
})
afterAll(async () => {
  await cleanup.run()
  await rm(directory, { recursive: true, force: true })
})

it.each([
  ['PostgreSQL', () => createPostgres(cleanup)],
  ['SQLite', async () => createSqlite(directory)],
])(
  'GET /metrics takes no longer with many certificates on %s',
  async (_engine, create) => {
    const database = await create()
    const { server } = await openAuthority({ cleanup, directory, profileDirectory: undefined }, { database })
    const before = await scrapeOften(server.port)
    await fill(database)
    const after = await scrapeOften(server.port)
    expect(after.text).toMatch(new RegExp(`^chancery_issued_certs ${CERTIFICATES}$`, 'm'))
    expect(after.text).toMatch(new RegExp(`^chancery_revoked_certs ${REVOKED}$`, 'm'))
    expect(after.ms).toBeLessThan(before.ms * FACTOR + NOISE_MS)
  },
  300_000,
)

/** Returns the median. */
async function scrapeOften(port: number): Promise<{ readonly ms: number; readonly text: string }> {
  const times: number[] = []
  let text = ''
  for (let count = 0; count < SCRAPES; count += 1) {
    const started = performance.now()
    const answer = await fetch(`http://${HOST}:${port}/metrics`)
    text = await answer.text()
    expect(answer.status).toBe(200)
    times.push(performance.now() - started)
  }
  return { ms: median(times), text }
}

const COLUMNS = '(cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status)'

/** Rows like those of joins, without signatures: the first ones are revoked, others are of active nodes. */
async function fill(database: Database): Promise<void> {
  const now = systemClock.now()
  const [issued, ends] = [writeSortable(now), writeSortable(now + 7n * DAY)]
  await onDatabase(database, async (execute) => {
    for (let from = 1; from <= CERTIFICATES; from += AT_ONCE)
      await execute(
        `insert into issued_certs ${COLUMNS} select 'cert-' || n, 'key-' || n, '${'x'.repeat(600)}', '[]', '${issued}', '${ends}', 168, case when n <= ${REVOKED} then 'revoked' else 'issued' end from ${numbersFrom(database, from, from + AT_ONCE - 1)}`,
      )
    await execute(
      `insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr) select cert_id, node_public_key, '${issued}', 'ok', '192.0.2.1' from issued_certs where status = 'issued' limit ${ACTIVE_NODES}`,
    )
    await execute('analyze')
  })
}
