import {
  accepted,
  currentBackend,
  enroll,
  fetchCrl,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LockTimeoutError } from '../../database/errors.ts'
import { translateDatabaseError } from '../../database/open.ts'

/** PostgreSQL only. SQLite has one writer at a time, and callers wait for the file. */
describe.skipIf(currentBackend() === 'sqlite')('the lock of the list, owned by another transaction', () => {
  let na: TestAuthority
  let holder: pg.Client
  beforeEach(async () => {
    na = await startTestAuthority()
    holder = new pg.Client({ connectionString: na.database.settings['DATABASE_URL'] })
    await holder.connect()
    await holder.query('begin')
    await holder.query("select name from heads where name = 'crl' for update")
  })
  afterEach(async () => {
    await holder.end()
    await na.stop()
  })

  it('ends a revocation and a first reader with 409 after the lock timeout, and neither changes anything', async () => {
    const node = nodeCaller(na.url, await testSigner('node', 'contention'), () => na.core.clock.now())
    const { cert_id } = await enroll(na, node)
    const [revocation, reader] = await Promise.all([
      na.as('privileged')('POST', '/admin/revoke', { cert_id }),
      na.request('GET', '/crl'),
    ])
    refused(revocation, 409, 'crl_publish_contention')
    refused(reader, 409, 'crl_publish_contention')
    accepted(await node.heartbeat(cert_id))
    expect(await na.auditEvents('certificate_revoked')).toEqual([])
    await holder.query('rollback')
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
    const crl = await fetchCrl(na.url, na.genesis.network_authority.public_key)
    expect(crl.revoked_certificates.map((entry) => entry.certificate_id)).toEqual([cert_id])
  }, 40_000)
  // A waiter behind another one waits for the time limit of a lock twice, which is the time limit of a statement.
  it('is a lock timeout also when the time limit of the statement ends the wait', async () => {
    const waited = na.core.database.write(async (tx) => {
      await sql`set local statement_timeout = 100`.execute(tx.query)
      await tx.lock('crl')
    })
    expect(translateDatabaseError(await waited.catch((error: unknown) => error))).toBeInstanceOf(LockTimeoutError)
  })
})
