import { setTimeout as pause } from 'node:timers/promises'
import { type TemporaryPostgres, currentBackend, startTemporaryPostgres } from '@chancery/testkit'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UnknownOutcomeError } from './errors.ts'
import { BEGIN, PostgresClient } from './postgres/client.ts'

const INSERT = 'insert into facts values (1)'

/**
 * A commit waits for its synchronous standby, as long as that takes. When the wait is cancelled, PostgreSQL warns and
 * reports success: the change is on this server only, and a failover would lose an acknowledged write.
 */
describe.runIf(currentBackend() === 'postgres')('a commit whose wait for the standby is cancelled', () => {
  let server: TemporaryPostgres
  let pool: pg.Pool
  let other: pg.Client
  /** As an administrator does who sees statements that hang. */
  const cancelWaiting = async (): Promise<void> => {
    const cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
    while ((await other.query(cancel)).rowCount === 0) await pause(10)
  }
  beforeAll(async () => {
    server = await startTemporaryPostgres()
    other = new pg.Client({ connectionString: server.url })
    await other.connect()
    await other.query('create table facts (id integer)')
    await other.query("alter system set synchronous_standby_names = 'absent'")
    await other.query('select pg_reload_conf()')
    pool = new pg.Pool({ connectionString: server.url, Client: PostgresClient })
  })
  afterAll(async () => {
    await pool.end()
    await other.end()
    await server.remove()
  })

  it('has an unknown outcome at the end of a transaction', async () => {
    const client = await pool.connect()
    await client.query(BEGIN)
    await client.query(INSERT)
    const [outcome] = await Promise.allSettled([client.query('commit'), cancelWaiting()])
    expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(UnknownOutcomeError) })
    client.release(true)
  })

  it('has an unknown outcome as a single statement, however it is sent', async () => {
    for (const query of [INSERT, { name: 'insert', text: INSERT, values: [] }]) {
      const [outcome] = await Promise.allSettled([pool.query(query), cancelWaiting()])
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(UnknownOutcomeError) })
    }
  })

  it('says nothing about the statements after it', async () => {
    const client = await pool.connect()
    const [outcome] = await Promise.allSettled([client.query(INSERT), cancelWaiting()])
    expect(outcome.status).toBe('rejected')
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    client.release()
  })
})
