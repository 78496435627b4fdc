import { readFile } from 'node:fs/promises'
import { type JsonObject, readPublicKeyFile } from '@chancery/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type FakeAuthority, refused, startFakeAuthority } from '../../testing/fake-authority.suite.ts'
import { TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
let server: FakeAuthority
let [newStatus, renewFails] = ['active', false]

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
  await setup.run('init --home na --name EXAMPLE-NET')
  const key = async (name: string): Promise<string> =>
    readPublicKeyFile(await readFile(setup.path('na', 'keys', name), 'utf8'))?.value ?? ''
  const keys = {
    audience: await key('network-authority.pub'),
    operator: await key('operator.pub'),
    genesis: setup.path('na', 'genesis.json'),
  }
  server = await startFakeAuthority(keys, ({ route }) => {
    if (route === 'GET /recognition-treaties/old') return { json: row('old', 'active') }
    if (route === 'GET /recognition-treaties/new') return { json: row('new', newStatus) }
    if (renewFails) return refused('insufficient_operator_tier')
    const previous = { treaty_id: 'old', status: 'revoked', revocation_reason: 'renewed_by:new' }
    return { status: 201, json: { treaty: { ...TREATY, treaty_id: 'new' }, previous } }
  })
})
afterEach(async () => {
  await server.close()
  await setup.remove()
})

function renew(): ReturnType<TestContext['run']> {
  return setup.run(`treaty renew old --home na --url ${server.url}`)
}

it('renews in one request, with the lifetime of the old treaty', async () => {
  ;[newStatus, renewFails] = ['active', false]
  expect((await renew()).code).toBe(0)
  expect(server.asked.map(({ route }) => route)).toEqual([
    'GET /recognition-treaties/old',
    'POST /admin/recognition-treaties/old/renew',
    'GET /recognition-treaties/new',
  ])
  expect(server.asked[1]?.body).toEqual({ validity_hours: 168 })
})

it('fails when the authority refuses, and asks for nothing else', async () => {
  ;[newStatus, renewFails] = ['active', true]
  expect((await renew()).code).toBe(1)
  expect(server.asked).toHaveLength(2)
})

it('fails when the new treaty was revoked since', async () => {
  ;[newStatus, renewFails] = ['revoked', false]
  const { code, stderr } = await renew()
  expect(code).toBe(1)
  expect(stderr).toContain('was revoked since')
})
