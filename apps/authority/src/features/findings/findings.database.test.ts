import { DAY, HOUR, type Instant, type JsonObject, MINUTE, writeSortable } from '@chancery/protocol'
import { ManualClock, accepted, enroll, nodeCaller, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storeTime } from '../../database/database.ts'
import { rowsOf } from '../../testing/rows.suite.ts'
import { CONDITIONS } from '../health/index.ts'

interface Row {
  readonly check: string
  readonly status: string
  readonly found: string
  readonly fix: string
  readonly about: string | null
  readonly at: string | null
}
interface Answer {
  readonly count: number
  readonly findings: readonly Row[]
  readonly passed: readonly string[]
  readonly first_steps: JsonObject
}

let na: TestAuthority
let clock: ManualClock
const start = async (settings: Readonly<Record<string, string>> = {}): Promise<void> => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', ...settings } })
  accepted(await na.request('GET', '/crl'))
}
beforeEach(() => {
  clock = new ManualClock()
})
afterEach(() => na.stop())

/** After the second for which the report of the health is cached. */
const ask = async (): Promise<Answer> => {
  clock.advance(1)
  return accepted(await na.as('standard')('GET', '/admin/findings')) as unknown as Answer
}
const find = async (check: string): Promise<Row | undefined> =>
  (await ask()).findings.find((each) => each.check === check)
const post = async (path: string, body: JsonObject, status = 200): Promise<JsonObject> =>
  accepted(await na.as('privileged')('POST', path, body), status)
const node = async (seed: string) => nodeCaller(na.url, await testSigner('n', seed), () => clock.now())
const partnerKey = async (): Promise<string> => (await testSigner('p', 'partner')).publicKey

describe('GET /admin/findings', () => {
  it('200: finds no problem in a new network, and names what it checked', async () => {
    await start({ EVIDENCE_STORE: 'on' })
    const { findings, passed, count } = await ask()
    expect(findings).toEqual([])
    expect(count).toBe(0)
    expect(passed).toEqual(
      expect.arrayContaining(['ready', 'crl', 'key-window', 'policies', 'nodes-silent', 'backup', 'evidence-anchors']),
    )
  })

  it('200: a treaty that ends and one that ended come and go', async () => {
    await start()
    const body = { subject_sovereign_id: 'FJORD', subject_public_keys: [await partnerKey()], validity_hours: 24 }
    const { treaty_id } = await post('/admin/recognition-treaties', body, 201)
    const ending = await find('treaty')
    expect(ending).toMatchObject({ status: 'warn', about: 'FJORD' })
    expect(ending?.found).toBe(`The treaty with FJORD ends ${ending?.at}`)
    // The feed was never imported.
    expect(await find('peer-feed')).toMatchObject({ status: 'bad', about: 'FJORD' })
    await post(`/admin/recognition-treaties/${String(treaty_id)}/renew`, { validity_hours: 2000 }, 201)
    expect(await find('treaty')).toBeUndefined()
    clock.advance(2001 * 3600)
    expect(await find('treaty')).toMatchObject({ status: 'bad', about: 'FJORD' })
    clock.advance(7 * 86_400)
    expect(await find('treaty')).toBeUndefined()
  })

  it('200: a silent node and a certificate that is not renewed', async () => {
    await start()
    await enroll(na, await node('a'), { max_validity_hours: 20 })
    const setHeartbeat = (at: Instant): Promise<unknown> =>
      rowsOf(na.core.database)
        .updateTable('node_liveness')
        .set({ last_heartbeat: writeSortable(at) })
        .execute()
    // The client library renews after 13 h 20 min to 15 h 20 min.
    clock.advance(16 * 3600 - 1)
    await setHeartbeat(clock.now())
    expect(await find('certificates-ending')).toBeUndefined()
    clock.advance(2)
    expect(await find('certificates-ending')).toMatchObject({
      found: '1 certificate ends within 24 hours and was not renewed',
    })
    expect(await find('nodes-silent')).toBeUndefined()
    await setHeartbeat(clock.now() - 10n * MINUTE)
    expect(await find('nodes-silent')).toMatchObject({ status: 'warn', found: '1 node is silent' })
    expect(await find('certificates-ending')).toBeUndefined()
  })

  it('200: a backup is missing after 36 hours, until one is recorded', async () => {
    await start()
    clock.advance(35 * 3600)
    expect(await find('backup')).toBeUndefined()
    clock.advance(3600)
    expect(await find('backup')).toMatchObject({ status: 'warn', found: 'No backup was made' })
    await na.core.database.write((tx) => storeTime(tx, 'backup', clock.now()))
    expect(await find('backup')).toBeUndefined()
    expect((await ask()).first_steps['backup_at']).not.toBeNull()
    clock.advance(40 * 3600)
    expect((await find('backup'))?.found).toBe('The last backup is 40 h old')
  })

  it('200: one usable operator key, after the other was revoked', async () => {
    await start()
    expect(await find('operator-keys')).toBeUndefined()
    await post('/admin/operator-keys/op-standard/revoke', {})
    clock.advance(1)
    const answer = accepted(await na.as('privileged')('GET', '/admin/findings')) as unknown as Answer
    expect(answer.findings.find(({ check }) => check === 'operator-keys')).toMatchObject({ about: 'op-privileged' })
    expect(answer.first_steps['usable_operator_keys']).toBe(1)
  })

  it('200: names the checks that could not run', async () => {
    await start()
    const { not_checked, passed } = (await ask()) as unknown as { not_checked: string[]; passed: string[] }
    expect(not_checked.filter((check) => passed.includes(check))).toEqual([])
    expect([...passed, ...not_checked]).toContain('disk-space')
  })

  it('200: bad when no usable operator key is privileged', async () => {
    await start()
    await post('/admin/operator-keys/op-privileged/revoke', { force: true, reason: 'lost' })
    clock.advance(1)
    const answer = accepted(await na.as('standard')('GET', '/admin/findings')) as unknown as Answer
    expect(answer.findings.find(({ check }) => check === 'operator-keys')).toMatchObject({
      status: 'bad',
      found: 'No usable operator key is privileged',
    })
  })

  it('200: more than 10 refused calls of operators in an hour', async () => {
    await start()
    for (let i = 0; i < 10; i += 1) refused(await na.request('GET', '/admin/whoami'), 401, 'admin_auth_failed')
    expect(await find('operator-refusals')).toBeUndefined()
    refused(await na.request('GET', '/admin/whoami'), 401, 'admin_auth_failed')
    expect((await find('operator-refusals'))?.found).toBe('11 calls of operators were refused in the last hour')
    clock.advance(3600)
    expect(await find('operator-refusals')).toBeUndefined()
  })

  it('200: a list that was not signed again, and a key window that ends', async () => {
    await start()
    const issued_at = writeSortable(clock.now() - 14n * HOUR)
    await rowsOf(na.core.database).updateTable('crl_versions').set({ issued_at }).execute()
    expect(await find('crl')).toMatchObject({ status: 'bad' })
    expect((await ask()).passed).not.toContain('crl')
    clock.advance(Number((70n * DAY) / 1_000_000n))
    expect(await find('key-window')).toMatchObject({ status: 'warn' })
  })

  it('200: the first steps, each ticked by what was done', async () => {
    await start()
    const steps = async (): Promise<JsonObject> => (await ask()).first_steps
    const nothing = {
      invite_made: false,
      node_joined: false,
      policy_active: false,
      partner_added: false,
      usable_operator_keys: 2,
      backup_at: null,
    }
    expect(await steps()).toEqual(nothing)
    await post('/admin/invite', { roles: ['role:client'] }, 201)
    expect(await steps()).toEqual({ ...nothing, invite_made: true })
    await enroll(na, await node('b'))
    expect(await steps()).toMatchObject({ node_joined: true, partner_added: false })
    const body = { subject_sovereign_id: 'FJORD', subject_public_keys: [await partnerKey()], validity_hours: 240 }
    await post('/admin/recognition-treaties', body, 201)
    expect(await steps()).toMatchObject({ partner_added: true, policy_active: false })
  })

  it('400 unexpected_field, 401 without a signature', async () => {
    await start()
    refused(await na.as('standard')('GET', '/admin/findings?all=1'), 400, 'unexpected_field')
    refused(await na.request('GET', '/admin/findings'), 401, 'admin_auth_failed')
  })
})

describe('reasons of GET /health', () => {
  it('each is a finding here, or belongs to a check with more facts', async () => {
    await start()
    const others = CONDITIONS.filter(({ words }) => words === undefined)
    expect(others.map(({ name }) => name)).toEqual([
      'not_ready',
      'signing_key_window_over',
      'boundary_policies_unhealthy',
      'signing_key_window_ending',
      'crl_overdue',
      'crl_large',
      'evidence_unanchored',
      'treaty_lapsed',
      'partner_alarm',
      'partner_stale',
      'operators_differ',
    ])
    na.core.metrics.auditWriteFailures.increase()
    expect(await find('audit-writes')).toMatchObject({ status: 'bad' })
  })
})
