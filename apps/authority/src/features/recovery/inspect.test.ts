import { accepted, createInvite, enroll, nodeCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inspectDatabase } from './inspect.ts'
import type { Inspection } from './inspect.ts'

/** What `chancery authority verify-db` looks at. */
describe('inspectDatabase', () => {
  let na: TestAuthority
  const inspect = (): Promise<Inspection> =>
    inspectDatabase(na.office.store.db, na.genesis.network_authority.public_key)
  beforeEach(async () => {
    na = await startTestAuthority()
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'one' }), 201)
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'two' }), 201)
    for (const name of ['a', 'b', 'c']) {
      const node = nodeCaller(na.url, await testSigner(name, name), () => na.office.clock.now())
      const { cert_id } = await enroll(na, node)
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
    }
    accepted(await na.request('GET', '/sovereign-revocation-feed'))
    await createInvite(na)
  })
  afterEach(() => na.stop())

  it('finds nothing wrong in what the authority wrote itself', async () => {
    const { counts, problems } = await inspect()
    expect(problems).toEqual([])
    expect(counts).toMatchObject({ crl: 3, feed: 1, certificate: 3, policy: 2 })
    expect(counts['audit event']).toBeGreaterThan(10)
  })

  it.each([
    [
      'an edited list',
      "update crl_versions set crl_json = replace(crl_json, 'unspecified', 'superseded') where sequence = 2",
      /^crl 2: its signature/,
    ],
    ['a missing list', 'delete from crl_versions where sequence = 2', /^crl 3: follows 1$/],
    [
      'a list under another number',
      'update crl_versions set sequence = 9 where sequence = 3',
      /^crl 9: says another number$/,
    ],
    [
      'a list that is cut',
      'update crl_versions set crl_json = substr(crl_json, 1, 50) where sequence = 1',
      /^crl 1: is not a record$/,
    ],
    [
      'an edited certificate',
      "update issued_certs set cert_json = replace(cert_json, 'role:client', 'role:anchor')",
      /^certificate \S+: its signature/,
    ],
    [
      'an edited policy',
      "update policy_versions set policy_json = replace(policy_json, 'two', 'six') where position = 2",
      /^policy 2: its signature/,
    ],
    ['no active policy', 'update policy_versions set active = 0', /^policy: 0 versions are active$/],
    [
      'an entry no list names',
      "insert into crl_entries (position, cert_id, entry_json, expires_at) values (99, 'stray', '{}', '2099')",
      /^crl: the entry stray/,
    ],
    [
      'an audit event under another id',
      'update audit_events set event_json = \'{"event_id":"x"}\' where event_type = \'invite_created\'',
      /^audit event \S+: is another one$/,
    ],
  ])('finds %s', async (_what, statement, problem) => {
    await sql.raw(statement).execute(na.office.store.db)
    const { problems } = await inspect()
    expect(
      problems.some((line) => problem.test(line)),
      problems.join('\n'),
    ).toBe(true)
  })
})
