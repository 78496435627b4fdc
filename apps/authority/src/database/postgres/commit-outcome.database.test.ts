import { systemClock } from '@chancery/service-kit'
import type { JsonObject } from '@chancery/protocol'
import {
  accepted,
  createTestDatabase,
  currentBackend,
  refused,
  startFaultProxy,
  startTestAuthority,
  startTemporaryPostgres,
} from '@chancery/testkit'
import type { FaultProxy, FaultAction, TestDatabase, TemporaryPostgres } from '@chancery/testkit'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { DatabaseUnavailableError, UnknownOutcomeError } from '../errors.ts'
import type { Database, Statement } from '../database.ts'
import { migrate } from '../migrate.ts'
import { openPostgres } from './open.ts'
import { readVersions } from '../locks/versions.ts'

const RAISE_POLICY: Statement<undefined, never> = {
  name: 'raise-policy',
  postgres: { text: "update heads set version = version + 1 where name = 'policy'", values: () => [] },
  sqlite: () => [],
}

/** How a connection dies at its COMMIT: before the server receives it, after it was sent on, or with the response. */
const DEATHS = ['before', 'after', 'answer'] as const
type Death = (typeof DEATHS)[number]

interface Fault {
  /** Only the COMMIT of a connection that sent this text before: jobs commit, too. */
  readonly marker?: string
  /** Runs when the connection dies. */
  readonly also?: () => void
}

/** Lets exactly one COMMIT die; the numbers of the links keep other connections out of it. */
function breakNextCommit(proxy: FaultProxy, death: Death, { marker, also = () => undefined }: Fault = {}): void {
  const marked = new Set<number>()
  let doomed: number | undefined
  let isDone = false
  const die = (fate: FaultAction): FaultAction => {
    isDone = true
    also()
    return fate
  }
  proxy.decide = (direction, piece, link) => {
    if (isDone) return 'pass'
    if (direction === 'to-client') return link === doomed ? die('cut') : 'pass'
    if (marker === undefined || piece.includes(marker)) marked.add(link)
    if (doomed !== undefined || !marked.has(link) || !piece.includes('commit\0')) return 'pass'
    doomed = link
    if (death === 'before') return die('cut')
    return death === 'after' ? die('pass-then-cut') : 'pass'
  }
}

/** Reliability 5.4: the outcome of a cut COMMIT is found out, never guessed. */
describe.runIf(currentBackend() === 'postgres')('a COMMIT whose connection dies', () => {
  let testDatabase: TestDatabase
  let proxy: FaultProxy
  let database: Database
  let outside: pg.Client
  let proxied: string

  beforeAll(async () => {
    testDatabase = await createTestDatabase('postgres')
    const url = new URL(testDatabase.settings['DATABASE_URL'] ?? '')
    proxy = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
    outside = new pg.Client({ connectionString: url.href })
    await outside.connect()
    url.port = String(proxy.port)
    proxied = url.href
    database = openPostgres(proxied)
    await migrate(database, () => systemClock.now())
  })
  afterEach(() => {
    proxy.decide = () => 'pass'
    proxy.isolate(false)
  })
  afterAll(async () => {
    await database.close()
    await proxy.close()
    await outside.end()
    await testDatabase.drop()
  })
  const stamp = async (): Promise<number> =>
    Number((await outside.query("select version from heads where name = 'policy'")).rows[0].version)
  const settled = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'committed',
      (error: unknown) => error,
    )

  it.each(DEATHS)('%s: 25 times, the caller gets exactly what the database did', async (death) => {
    for (let round = 0; round < 25; round += 1) {
      const before = await stamp()
      breakNextCommit(proxy, death)
      const named = round % 2 === 0
      const outcome = await settled(
        named
          ? database.write((tx) => tx.run(RAISE_POLICY, undefined), { cachedPlans: true })
          : database.write((tx) => tx.raiseVersion('policy')),
      )
      const kept = (await stamp()) - before
      if (death === 'before') expect(outcome).toBeInstanceOf(DatabaseUnavailableError)
      if (death === 'answer') expect(outcome).toBe('committed')
      expect(outcome, `round ${round}`).not.toBeInstanceOf(UnknownOutcomeError)
      expect(kept, `round ${round}`).toBe(outcome === 'committed' ? 1 : 0)
    }
    // Every dead connection was given back and replaced.
    await Promise.all(Array.from({ length: 20 }, () => readVersions(database)))
  })

  it('stays unknown while the server cannot be asked, and the caller gets that', async () => {
    const na = await startTestAuthority({
      database: { settings: { DATABASE_URL: proxied }, drop: async () => undefined },
    })
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'before' }), 201)
    const also = (): void => void setImmediate(() => proxy.isolate(true))
    breakNextCommit(proxy, 'answer', { marker: '"policy_id":"cut"', also })
    const answer = await na.as('privileged')('POST', '/admin/policy', { policy_id: 'cut' })
    expect((refused(answer, 503, 'service_unavailable')['details'] as JsonObject)['outcome']).toBe('unknown')
    proxy.isolate(false)
    // It had been committed: a caller that checks, as the response requests, finds it.
    expect((await na.request('GET', '/policy')).text).toContain('"policy_id":"cut"')
    await na.stop()
  }, 30_000)

  it('an answer that was cut is still given, with what was stored', async () => {
    const na = await startTestAuthority({
      database: { settings: { DATABASE_URL: proxied }, drop: async () => undefined },
    })
    breakNextCommit(proxy, 'answer', { marker: '"policy_id":"heard"' })
    const published = await na.as('privileged')('POST', '/admin/policy', { policy_id: 'heard' })
    accepted(published, 201)
    expect((await na.request('GET', '/policy')).text).toBe(published.text)
    await na.stop()
  })
})

describe.runIf(currentBackend() === 'postgres')('a COMMIT during which the server crashes', () => {
  let server: TemporaryPostgres
  let proxy: FaultProxy
  beforeAll(async () => {
    server = await startTemporaryPostgres()
    proxy = await startFaultProxy({ host: '127.0.0.1', port: server.port })
  })
  afterAll(async () => {
    await proxy.close()
    await server.remove()
  })

  it.each(DEATHS)(
    '%s: only the server run that assigned the transaction reports success',
    async (death) => {
      const database = openPostgres(`postgresql://postgres@127.0.0.1:${proxy.port}/postgres`)
      await migrate(database, () => systemClock.now())
      const before = (await readVersions(database)).versions.get('policy') ?? 0
      const restarted = Promise.withResolvers<void>()
      const also = (): void => {
        server
          .stop('immediate')
          .then(() => server.start())
          .then(restarted.resolve, restarted.reject)
      }
      breakNextCommit(proxy, death, { also })
      const outcome = await database
        .write((tx) => tx.raiseVersion('policy'))
        .then(
          () => 'committed',
          (error: unknown) => error,
        )
      await restarted.promise
      const kept = ((await readVersions(database)).versions.get('policy') ?? 0) - before
      if (outcome === 'committed') expect(kept).toBe(1)
      else if (outcome instanceof DatabaseUnavailableError) expect(kept).toBe(0)
      else expect(outcome).toBeInstanceOf(UnknownOutcomeError)
      await database.close()
    },
    40_000,
  )
})
