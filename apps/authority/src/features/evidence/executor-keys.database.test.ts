import { accepted, detailsOf, eventsOf, refused, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestStore } from './evidence.suite.ts'

let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
let publicKey: string
beforeAll(async () => {
  evidenceStore = await openTestStore()
  publicKey = (await testSigner('another')).publicKey
})
afterAll(() => evidenceStore.stop())

const PATH = '/admin/evidence/executor-keys'
const body = (more: object = {}) => ({ key_id: 'k-1', public_key: publicKey, executor_sovereign_id: 'robot', ...more })

describe('POST /admin/evidence/executor-keys', () => {
  it('201: registers a key for one executor and audits it', async () => {
    const answer = await evidenceStore.post(PATH, body())
    expect(accepted(answer, 201)).toEqual({ key_id: 'k-1', executor_sovereign_id: 'robot', active: true })
    const [event] = await eventsOf(evidenceStore.na, answer)
    expect(event?.['event_type']).toBe('executor_key_registered')
    expect(detailsOf(event)).toMatchObject({ executor_key_id: 'k-1', executor_sovereign_id: 'robot' })
  })

  it.each(['key_id', 'public_key', 'executor_sovereign_id'])('400: %s is required', async (name) => {
    for (const value of [null, '', 5, 'x\u0000y'.repeat(name === 'public_key' ? 0 : 1)])
      refused(await evidenceStore.post(PATH, body({ [name]: value })), 400, 'missing_executor_key_fields')
  })

  it.each([
    ['too short', 'AAAA'],
    ['not base64', '!'.repeat(44)],
    ['of small order', Buffer.alloc(32).toString('base64')],
  ])('400: a public key that is %s', async (_name, public_key) => {
    refused(await evidenceStore.post(PATH, body({ key_id: 'k-2', public_key })), 400, 'invalid_public_key')
  })

  it('401 and 403: only privileged operators', async () => {
    refused(await evidenceStore.na.request('POST', PATH, { body: body() }), 401, 'admin_auth_failed')
    refused(await evidenceStore.post(PATH, body(), 'standard'), 403, 'insufficient_operator_tier')
  })

  it('409: an id names one key permanently', async () => {
    refused(await evidenceStore.post(PATH, body()), 409, 'executor_key_exists')
    accepted(await evidenceStore.post(PATH, body({ key_id: 'k-3' })), 201)
    accepted(await evidenceStore.post(`${PATH}/k-3/retire`, {}))
    refused(await evidenceStore.post(PATH, body({ key_id: 'k-3' })), 409, 'executor_key_exists')
  })

  it('201 exactly once when many callers register one id concurrently', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => evidenceStore.post(PATH, body({ key_id: 'race' }))),
    )
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409, 409, 409])
  })
})

describe('POST /admin/evidence/executor-keys/{key_id}/retire', () => {
  it('200 once, then 409; 404 for an unregistered key', async () => {
    accepted(await evidenceStore.post(PATH, body({ key_id: 'k/4' })), 201)
    const answer = await evidenceStore.post(`${PATH}/k%2F4/retire`, {})
    expect(accepted(answer)).toEqual({ key_id: 'k/4', active: false })
    const [event] = await eventsOf(evidenceStore.na, answer)
    expect(event?.['event_type']).toBe('executor_key_retired')
    expect(detailsOf(event)).toMatchObject({ executor_key_id: 'k/4', executor_sovereign_id: 'robot' })
    refused(await evidenceStore.post(`${PATH}/k%2F4/retire`, {}), 409, 'executor_key_retired')
    refused(await evidenceStore.post(`${PATH}/nobody/retire`, {}), 404, 'executor_key_not_found')
    refused(await evidenceStore.post(`${PATH}/k-1/retire`, {}, 'standard'), 403, 'insufficient_operator_tier')
  })
})

describe('GET /admin/evidence/executor-keys', () => {
  it('200: lists every key in order of registration, retired ones included', async () => {
    evidenceStore.clock.advance(10)
    accepted(await evidenceStore.post(PATH, body({ key_id: 'a-late-one' })), 201)
    const { executor_keys } = accepted(await evidenceStore.get(PATH)) as {
      executor_keys: readonly { key_id: string }[]
    }
    expect(executor_keys.at(-1)).toEqual({
      key_id: 'a-late-one',
      public_key: publicKey,
      executor_sovereign_id: 'robot',
      registered_at: '2026-01-02T03:04:15.678000Z',
      retired_at: null,
    })
    expect(executor_keys.find((key) => key.key_id === 'k-3')).toMatchObject({
      retired_at: '2026-01-02T03:04:05.678000Z',
    })
    refused(await evidenceStore.na.request('GET', PATH), 401, 'admin_auth_failed')
  })
})
