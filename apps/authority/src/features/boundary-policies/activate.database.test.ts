import { DAY, writeInstant } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { JsonFloat } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  createMigratedDatabase,
  currentBackend,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { activatePolicy, deactivatePolicy, intent, publishPolicy } from './intents.suite.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const act = (
  word: string,
  policy_id: string,
  version: JsonValue | undefined,
  as = 'privileged',
): Promise<TestResponse> =>
  na.as(as)('POST', `/admin/boundary-policies/${policy_id}/${word}`, version === undefined ? {} : { version })
const history = async (policy_id: string): Promise<JsonObject[]> =>
  accepted(await na.as('standard')('GET', `/admin/boundary-policies/${policy_id}/history`))['versions'] as JsonObject[]

async function publishTwice(): Promise<string> {
  const body = intent()
  for (const version of [1, 2])
    expect(accepted(await na.as('privileged')('POST', '/admin/boundary-policies', body), 201)['version']).toBe(version)
  return String(body['policy_id'])
}

describe('POST /admin/boundary-policies/{policy_id}/activate', () => {
  it('200: activates a version, replaces it, rolls back, and changes nothing the second time', async () => {
    const id = await publishTwice()
    const answers: JsonObject[] = []
    for (const version of [1, 2, 2, 1]) {
      answers.push(accepted(await act('activate', id, version)))
      const active = (await history(id)).filter((each) => each['active'] === true)
      expect(active.map((each) => each['version'])).toEqual([version])
    }
    expect(answers).toEqual([
      { policy_id: id, version: 1, previous_version: null, active: true },
      { policy_id: id, version: 2, previous_version: 1, active: true },
      { policy_id: id, version: 2, previous_version: 2, active: true },
      { policy_id: id, version: 1, previous_version: 2, active: true },
    ])
    const events = (await na.auditEvents('boundary_policy_activated')).map((event) => event['details'] as JsonObject)
    expect(
      events.filter((each) => each['policy_id'] === id).map((each) => [each['previous_version'], each['rollback']]),
    ).toEqual([
      [null, false],
      [1, false],
      [2, true],
    ])
    accepted(await act('deactivate', id, 1))
  })

  it.each([undefined, 0, -1, '1', new JsonFloat(1), true, null])('400: refuses the version %j', async (version) => {
    const id = await publishTwice()
    for (const word of ['activate', 'deactivate']) refused(await act(word, id, version), 400, 'invalid_policy_version')
  })

  it('404: an unknown version and an unknown policy', async () => {
    const id = await publishTwice()
    for (const word of ['activate', 'deactivate']) {
      refused(await act(word, id, 99), 404, 'boundary_policy_not_found')
      refused(await act(word, 'nobody', 1), 404, 'boundary_policy_not_found')
      refused(await act(word, '%C3%A9', 1), 404, 'boundary_policy_not_found')
    }
  })

  it('409: refuses an expired version', async () => {
    const window = { valid_from: '2020-01-01T00:00:00Z', valid_until: writeInstant(clock.now() - 1n) }
    const policy = await publishPolicy(na, window)
    const { details } = refused(
      await act('activate', String(policy['policy_id']), 1),
      409,
      'boundary_policy_activation_refused',
    ) as { details: JsonObject }
    expect(details).toEqual({ reason: 'policy_expired' })
  })

  it('409: refuses a version whose stored text was edited', async () => {
    const policy = await publishPolicy(na, { description: 'marker-a' })
    const policy_id = String(policy['policy_id'])
    const row = await na.core.database.read
      .selectFrom('boundary_policies')
      .select('policy_json')
      .where('policy_id', '=', policy_id)
      .executeTakeFirstOrThrow()
    await rowsOf(na.core.database)
      .updateTable('boundary_policies')
      .set({ policy_json: row.policy_json.replace('marker-a', 'marker-b') })
      .where('policy_id', '=', policy_id)
      .execute()
    refused(await act('activate', policy_id, 1), 409, 'boundary_policy_integrity_failed')
    const { policies } = accepted(await na.as('standard')('GET', '/admin/boundary-policies'))
    const listed = (policies as JsonObject[]).find((each) => each['policy_id'] === policy_id)
    expect(listed).toMatchObject({ integrity_ok: false, active: false })
    expect(listed).not.toHaveProperty('description')
    expect((await history(policy_id))[0]).toMatchObject({ policy: null })
  })

  it('401 and 403: only for privileged operators', async () => {
    for (const word of ['activate', 'deactivate']) {
      const target = `/admin/boundary-policies/x/${word}`
      refused(await na.request('POST', target, { body: { version: 1 } }), 401, 'admin_auth_failed')
      refused(await act(word, 'x', 1, 'standard'), 403, 'insufficient_operator_tier')
    }
  })
})

describe('POST /admin/boundary-policies/{policy_id}/deactivate', () => {
  it('200 once, then 409: deactivates the active version and no other', async () => {
    const id = await publishTwice()
    accepted(await act('activate', id, 1))
    refused(await act('deactivate', id, 2), 409, 'boundary_policy_not_active')
    expect(accepted(await act('deactivate', id, 1))).toEqual({ policy_id: id, version: 1, active: false })
    refused(await act('deactivate', id, 1), 409, 'boundary_policy_not_active')
    expect((await history(id))[1]).toMatchObject({ active: false, deactivated_at: expect.any(String) })
    const events = (await na.auditEvents('boundary_policy_deactivated')).map((event) => event['details'] as JsonObject)
    expect(events.filter((each) => each['policy_id'] === id)).toMatchObject([{ version: 1 }])
  })
})

describe('the active set', () => {
  it('shows the active policies with their health, and survives a restart', async () => {
    const database = await createMigratedDatabase()
    const first = await startTestAuthority({ database })
    const policy = await publishPolicy(first, { selector: { capabilities: ['never.x'] } })
    await activatePolicy(first, policy)
    await first.stop()
    const second = await startTestAuthority({ database, settings: { BOUNDARY_POLICY_ENFORCEMENT: 'required' } })
    const active = accepted(await second.as('standard')('GET', '/admin/boundary-policies/active'))
    expect(active).toMatchObject({
      enforcement: 'required',
      policy_set_healthy: true,
      problems: [],
      active: [{ policy_id: policy['policy_id'], version: 1, gate_count: 1, policy }],
    })
    expect(active['registry_gate_types']).toHaveLength(13)
    const { boundary_policies } = accepted(await second.request('GET', '/dashboard.json'))
    expect(boundary_policies).toMatchObject({
      enforcement: 'required',
      healthy: true,
      active: [{ policy_id: policy['policy_id'], gate_count: 1, scope: 'selected' }],
    })
    expect(JSON.stringify(boundary_policies)).not.toContain('never.x')
    await second.stop()
    await database.drop()
  })

  it('is unhealthy after a policy in it has expired, until the policy is deactivated', async () => {
    const policy = await publishPolicy(na, { valid_until: writeInstant(clock.now() + DAY) })
    await activatePolicy(na, policy)
    expect(accepted(await na.request('GET', '/health'))['boundary_policies']).toBe('healthy')
    clock.advance(86_401)
    const active = accepted(await na.as('standard')('GET', '/admin/boundary-policies/active'))
    const name = `${String(policy['policy_id'])}@1`
    expect(active).toMatchObject({
      policy_set_healthy: false,
      problems: [{ policy: name, reason: 'policy_expired' }],
    })
    expect(accepted(await na.request('GET', '/health'))['boundary_policies']).toBe('unhealthy')
    await deactivatePolicy(na, policy)
    expect(accepted(await na.request('GET', '/health'))['boundary_policies']).toBe('healthy')
  })

  it.runIf(currentBackend() === 'postgres')('refuses a second active version from any writer', async () => {
    const id = await publishTwice()
    accepted(await act('activate', id, 1))
    const second = rowsOf(na.core.database)
      .updateTable('boundary_policies')
      .set({ active: 1 })
      .where('policy_id', '=', id)
    await expect(second.execute()).rejects.toThrow(/boundary_policies_one_active/)
    accepted(await act('deactivate', id, 1))
  })
})

describe('GET /admin/boundary-policies', () => {
  it('lists by policy, newest version first, in pages', async () => {
    await publishTwice()
    const read = async (query: string): Promise<JsonObject> =>
      accepted(await na.as('standard')('GET', `/admin/boundary-policies${query}`))
    const keysOf = (answer: JsonObject): string[] =>
      (answer['policies'] as JsonObject[]).map((each) => `${String(each['policy_id'])}@${String(each['version'])}`)
    const all = keysOf(await read(''))
    expect(all).toEqual(
      all.toSorted((a, b) => {
        const [[idA = '', versionA], [idB = '', versionB]] = [a.split('@'), b.split('@')]
        return idA === idB ? Number(versionB) - Number(versionA) : idA < idB ? -1 : 1
      }),
    )
    const paged: string[] = []
    for (let query = '?limit=2'; ;) {
      const page = await read(query)
      expect(page['total']).toBe(all.length)
      paged.push(...keysOf(page))
      if (page['next_cursor'] === null) break
      query = `?limit=2&cursor=${String(page['next_cursor'])}`
    }
    expect(paged).toEqual(all)
    refused(await na.as('standard')('GET', '/admin/boundary-policies?limit=x'), 400, 'invalid_page')
  })

  it('401: only for operators; 404 for the history of an unknown policy', async () => {
    for (const target of ['', '/active', '/x/history'])
      refused(await na.request('GET', `/admin/boundary-policies${target}`), 401, 'admin_auth_failed')
    refused(await na.as('standard')('GET', '/admin/boundary-policies/x/history'), 404, 'boundary_policy_not_found')
  })
})
