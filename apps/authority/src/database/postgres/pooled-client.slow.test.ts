import { createLog } from '@chancery/service-kit'
import {
  ManualClock,
  accepted,
  enroll,
  hasPgBouncer,
  newNodeCaller,
  nodeCaller,
  refused,
  startTemporaryPgBouncer,
  startTemporaryPostgres,
} from '@chancery/testkit'
import type { TemporaryPgBouncer, TemporaryPostgres, TestAuthority, TestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { DatabaseUnavailableError } from '../errors.ts'
import type { Database, Statement } from '../database.ts'
import { START, failuresOf, openTestStore } from '../../features/evidence/evidence.suite.ts'
import { readVersions } from '../locks/versions.ts'
import { openPostgres } from './open.ts'
import { readServerSettings } from './server-settings.ts'

const RAISE_POLICY: Statement<undefined, { readonly version: number }> = {
  name: 'test-raise-policy',
  postgres: {
    text: "update heads set version = version + 1 where name = 'policy' returning version",
    values: () => [],
  },
  sqlite: () => [],
}

const LIMIT = { timeout: 5000, interval: 20 }

describe.runIf(hasPgBouncer())('through PgBouncer in transaction mode', () => {
  let server: TemporaryPostgres
  let bouncer: TemporaryPgBouncer
  let place: TestDatabase
  let url: string
  const clock = new ManualClock(START)
  const instances: Awaited<ReturnType<typeof openTestStore>>[] = []
  let lines = ''
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => (lines += line) } })
  beforeAll(async () => {
    server = await startTemporaryPostgres()
    bouncer = await startTemporaryPgBouncer(server)
    url = bouncer.through(server.url)
    const settings = { DATABASE_URL: `${url}?pooler=transaction` }
    place = { settings, drop: async () => undefined }
    // The first one migrates the empty database.
    for (let index = 0; index < 2; index += 1) instances.push(await openTestStore({ database: place, clock, log }))
    const [first] = instances
    if (first !== undefined) accepted(await first.register(first.executor), 201)
  })
  afterAll(async () => {
    for (const { stop } of instances) await stop()
    await bouncer.stop()
    await server.remove()
  })
  const both = () => {
    const [first, second] = instances
    if (first === undefined || second === undefined) throw new Error('two instances are needed')
    return [first, second] as const
  }
  const opened = async (work: (database: Database) => Promise<void>): Promise<void> => {
    const database = openPostgres(url, 'transaction')
    try {
      await work(database)
    } finally {
      await database.close()
    }
  }

  it('joins, beats and revokes: the other instance refuses the node at once', async () => {
    const [{ na }, other] = both()
    for (let round = 0; round < 5; round += 1) {
      const node = await newNodeCaller(na.url, 'pooled', clock)
      const { cert_id } = await enroll(na, node)
      accepted(await node.heartbeat(cert_id))
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
      const elsewhere = nodeCaller(other.na.url, node.signer, () => clock.now())
      refused(await elsewhere.heartbeat(cert_id), 403, 'certificate_revoked')
      expect((await other.na.request('GET', '/crl')).text).toContain(cert_id)
    }
  })

  it('appends evidence from two instances into one chain', async () => {
    const stores = both()
    const work = Array.from({ length: 40 }, async (_, index) => {
      const store = stores[index % 2 === 0 ? 0 : 1]
      const { decision } = await store.decide()
      accepted(await store.submit(await store.evidence(decision)), 201)
    })
    await Promise.all(work)
    expect(await stores[0].lines()).toEqual(await stores[1].lines())
    expect(failuresOf(await stores[1].report())).toEqual([])
  })

  it('has one winner of many joins with one invite', async () => {
    const [{ na }, other] = both()
    const invite = String(accepted(await na.as('standard')('POST', '/admin/invite', {}), 201)['token_id'])
    const nodes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => newNodeCaller((index % 2 === 0 ? na : other.na).url, 'rival', clock)),
    )
    const answers = await Promise.all(nodes.map((node) => node.join(invite)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  })

  it('sets its limits in every transaction, and leaves nothing on the connection', async () => {
    await opened(async (database) => {
      const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
      const expected = {
        statement_timeout: '10000',
        lock_timeout: '5000',
        idle_in_transaction_session_timeout: '10000',
      }
      expect(Object.fromEntries(await readServerSettings(database, names))).toEqual(expected)
    })
    const outside = new pg.Client({ connectionString: url })
    await outside.connect()
    for (let round = 0; round < 20; round += 1) {
      expect((await outside.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '0' }])
      expect((await outside.query('select name from pg_prepared_statements')).rows).toEqual([])
    }
    await outside.end()
  })

  it('pipelines a transaction, and rolls it back when a statement fails', async () => {
    await opened(async (database) => {
      const before = Number((await readVersions(database)).versions.get('policy'))
      const failing = database.write(
        async (tx) => {
          const broken = { ...RAISE_POLICY, postgres: { text: 'select 1 / (select 0)', values: () => [] } }
          await Promise.all([RAISE_POLICY, broken].map((statement) => tx.run(statement, undefined)))
        },
        { cachedPlans: true, pipelined: true },
      )
      await expect(failing).rejects.toThrow('division by zero')
      expect(await database.run(RAISE_POLICY, undefined)).toEqual([{ version: before + 1 }])
      await database.write((tx) => tx.run(RAISE_POLICY, undefined), { cachedPlans: true, pipelined: true })
      await database.write((tx) => tx.raiseVersion('policy'))
      expect((await readVersions(database)).versions.get('policy')).toBe(before + 3)
    })
  })

  it('refuses a write outside a transaction', async () => {
    await opened(async (database) => {
      const write = sql`update heads set version = version + 1`.execute(database.read)
      await expect(write).rejects.toThrow('read-only transaction')
    })
  })

  it('is refused without its parameter, which the message names', async () => {
    const start = openTestStore({ database: { ...place, settings: { DATABASE_URL: url } }, clock, log })
    await expect(start).rejects.toThrow(/^DATABASE_URL: .*\?pooler=transaction/)
  })

  it('detects another run of the server before a change is committed, and compares it', async () => {
    await opened(async (database) => {
      let losses = 0
      database.onConnectionLost(() => (losses += 1))
      const before = (await readVersions(database)).versions.get('policy')
      await server.stop('immediate')
      await server.start()
      // PgBouncer may first find out that its own connections are gone.
      const outcomes: unknown[] = []
      await vi.waitFor(async () => {
        outcomes.push(await database.run(RAISE_POLICY, undefined).catch((error: unknown) => error))
        expect(outcomes.at(-1)).toEqual([{ version: Number(before) + 1 }])
      }, LIMIT)
      const causes = outcomes
        .slice(0, -1)
        .map((error) => (error instanceof DatabaseUnavailableError ? error.cause : error))
      expect(causes.map(String).join('; ')).toContain('another server or database answers')
      expect(losses).toBeGreaterThan(0)
    })
  })

  it('begins no transaction that may write on another server until it is confirmed', async () => {
    await opened(async (database) => {
      const before = Number((await readVersions(database)).versions.get('policy'))
      database.confirmServer()
      expect(await database.run(RAISE_POLICY, undefined)).toEqual([{ version: before + 1 }])
      await server.stop('immediate')
      await server.start()
      // The reads of a comparison pass before the confirmation.
      await vi.waitFor(() => readVersions(database), LIMIT)
      const writes = [
        () => database.run(RAISE_POLICY, undefined),
        () => database.write((tx) => tx.raiseVersion('policy')),
        () => database.write((tx) => tx.run(RAISE_POLICY, undefined), { cachedPlans: true, pipelined: true }),
        () => database.checkWritable(),
      ]
      for (const write of writes) {
        const error: unknown = await write().catch((reason: unknown) => reason)
        expect(error).toBeInstanceOf(DatabaseUnavailableError)
        expect(String((error as Error).cause)).toContain('not compared yet')
      }
      expect((await readVersions(database)).versions.get('policy')).toBe(before + 1)
      database.confirmServer()
      expect(await database.run(RAISE_POLICY, undefined)).toEqual([{ version: before + 2 }])
    })
  })

  it('commits nothing of requests that were admitted before a failover until the mark is compared', async () => {
    const { core } = both()[0].na
    const raise = (): Promise<unknown> => core.database.write((tx) => tx.raiseVersion('policy')).then(() => 'committed')
    // Other tests restarted the server.
    await vi.waitFor(async () => {
      await core.rollback.recheck()
      expect(await raise()).toBe('committed')
    }, LIMIT)
    await server.stop('immediate')
    await server.start()
    // These writes ask for no comparison, as those of requests that passed the admission already.
    await vi.waitFor(async () => {
      expect(await raise().catch((error: unknown) => error)).not.toBe('committed')
      expect(core.rollback.needsRecheck).toBe(true)
    }, LIMIT)
    let refusals = 0
    for (let round = 0; round < 20 && core.rollback.needsRecheck; round += 1) {
      const outcome = await raise().catch((error: unknown) => error)
      // The job of the high-water mark may have compared meanwhile.
      if (!core.rollback.needsRecheck) break
      expect(outcome).toBeInstanceOf(DatabaseUnavailableError)
      refusals += 1
    }
    expect(refusals).toBeGreaterThan(0)
    // A connection that is lost during a comparison makes another one necessary.
    await vi.waitFor(async () => {
      await core.rollback.recheck()
      expect(await raise()).toBe('committed')
    }, LIMIT)
  })

  describe.each(['through PgBouncer', 'directly'])('%s', (how) => {
    let na: TestAuthority
    beforeAll(async () => {
      const database = how === 'directly' ? { ...place, settings: { DATABASE_URL: server.url } } : place
      na = (await openTestStore({ database, clock, log })).na
    })
    afterAll(() => na.stop())
    const invites = async (): Promise<void> => void accepted(await na.as('standard')('POST', '/admin/invite', {}), 201)

    it('serves changes within 5 s after a restart of PostgreSQL', async () => {
      await invites()
      await server.stop('immediate')
      await vi.waitFor(async () => expect((await na.request('GET', '/readyz')).status).toBe(503), LIMIT)
      await server.start()
      await vi.waitFor(invites, LIMIT)
      await vi.waitFor(async () => expect((await na.request('GET', '/readyz')).status).toBe(200), LIMIT)
    })

    it('serves changes within 5 s after the server ended every connection', async () => {
      await invites()
      const outside = new pg.Client({ connectionString: server.url })
      await outside.connect()
      const ended = await outside.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      )
      expect(ended.rowCount).toBeGreaterThan(0)
      await outside.end()
      await vi.waitFor(invites, LIMIT)
    })
  })

  it('takes no restart for a rolled back database', () => {
    expect(lines).not.toContain('rolled back')
  })
})
