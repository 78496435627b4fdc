import { readFile } from 'node:fs/promises'
import { readPublicKeyFile } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { refused, startFakeAuthority } from '../../testing/fake-authority.suite.ts'
import type { FakeAuthority } from '../../testing/fake-authority.suite.ts'
import { TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
let server: FakeAuthority
let [newStatus, revokeFails] = ['active', false]

const TREATY = {
  issuer_sovereign_id: 'EXAMPLE-NET',
  subject_sovereign_id: 'PARTNER-NET',
  subject_public_keys: ['FWxV5KPAG28PqQ20lCvRmUsOjMVzadpN56I1bkBPX1o='],
  scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: {} },
  issued_at: '2030-01-01T00:00:00Z',
  valid_from: '2030-01-01T00:00:00Z',
  expires_at: '2030-01-08T00:00:00Z',
  issued_by: 'na-local',
}

function row(treaty_id: string, status: string): JsonObject {
  const lifecycle = {
    state: status,
    expiry_risk: 'low',
    seconds_until_expiry: 1,
    expires_at: TREATY.expires_at,
    revoked_at: null,
    revocation_reason: null,
    replacement_treaty_id: null,
  }
  return { treaty: { ...TREATY, treaty_id }, status, revoked_at: null, revocation_reason: null, lifecycle }
}

beforeEach(async () => {
  setup = await TestContext.make()
  await setup.run('init --home na --network EXAMPLE-NET')
  const key = async (name: string): Promise<string> =>
    readPublicKeyFile(await readFile(setup.path('na', 'keys', name), 'utf8'))?.value ?? ''
  const keys = { audience: await key('network-authority.pub'), operator: await key('operator.pub') }
  server = await startFakeAuthority(keys, ({ route }) => {
    if (route === 'GET /recognition-treaties/old') return { json: row('old', 'active') }
    if (route === 'GET /recognition-treaties/new') return { json: row('new', newStatus) }
    if (route === 'POST /admin/recognition-treaties') return { status: 201, json: { ...TREATY, treaty_id: 'new' } }
    return revokeFails ? refused('insufficient_operator_tier') : { json: { treaty_id: 'old', status: 'revoked' } }
  })
})
afterEach(async () => {
  await server.close()
  await setup.remove()
})

function renew(): ReturnType<TestContext['run']> {
  return setup.run(`treaty renew old --config na/chancery.toml --url ${server.url}`)
}

it('issues first and ends the old treaty last', async () => {
  ;[newStatus, revokeFails] = ['active', false]
  expect((await renew()).code).toBe(0)
  expect(server.asked.map(({ route }) => route)).toEqual([
    'GET /recognition-treaties/old',
    'POST /admin/recognition-treaties',
    'GET /recognition-treaties/new',
    'POST /admin/recognition-treaties/old/revoke',
  ])
  expect(server.asked[1]?.body).toMatchObject({ validity_hours: 168, scope: TREATY.scope })
  expect(server.asked[3]?.body).toEqual({ reason: 'renewed_by:new' })
})

it('says what is left to do when the old one could not be ended', async () => {
  ;[newStatus, revokeFails] = ['active', true]
  const { code, stderr } = await renew()
  expect(code).toBe(1)
  expect(stderr).toContain('Treaty new is issued, but the old one was not ended')
  expect(stderr).toContain('chancery treaty revoke old --reason renewed_by:new')
})

it('does not end the old one for a new one that is revoked itself', async () => {
  ;[newStatus, revokeFails] = ['revoked', false]
  expect((await renew()).code).toBe(1)
  expect(server.asked.some(({ route }) => route.endsWith('/revoke'))).toBe(false)
})
