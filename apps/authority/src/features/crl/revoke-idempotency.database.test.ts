import type { JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  eventsOf,
  seedCertificates,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({
    clock,
    settings: { NA_CLOCK_CHECK: 'off' },
    operators: { privileged: 'privileged', second: 'privileged' },
  })
})
afterAll(() => na.stop())

let counter = 0
async function seedOne(): Promise<string> {
  counter += 1
  const { publicKey } = await testSigner('node', `idempotent-${counter}`)
  const [seeded] = await seedCertificates(na.parts, { count: 1, node_public_key: publicKey })
  return seeded?.cert_id ?? ''
}

const revoke = (body: JsonObject, key: string, as = 'privileged'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/revoke', body, { headers: { 'Idempotency-Key': key } })

describe('POST /admin/revoke with Idempotency-Key', () => {
  it('returns the stored response to the same call, also after later lists', async () => {
    const cert_id = await seedOne()
    const first = await revoke({ cert_id }, 'k-1')
    accepted(await revoke({ cert_id: await seedOne() }, 'k-1-other'))
    const again = await revoke({ cert_id }, 'k-1')
    expect([again.status, again.text]).toEqual([first.status, first.text])
    expect(await eventsOf(na, again)).toEqual([])
    // Without the key the numbers are the current ones.
    const current = accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
    expect(Number(current['crl_sequence'])).toBe(Number(accepted(first)['crl_sequence']) + 1)
  })

  it('compares bodies by content: white space and member order do not matter', async () => {
    const cert_id = await seedOne()
    const first = await revoke({ cert_id, reason: 'superseded' }, 'k-2')
    const again = await revoke({ reason: 'superseded', cert_id }, 'k-2')
    expect(again.text).toBe(first.text)
  })

  it.each<[string, (cert_id: string) => JsonObject]>([
    ['another reason', (cert_id) => ({ cert_id, reason: 'superseded' })],
    ['the other form', (cert_id) => ({ cert_ids: [cert_id] })],
  ])('refuses %s under the same key with 409 and changes nothing', async (name, other) => {
    const cert_id = await seedOne()
    const key = `k-3-${name.replaceAll(' ', '-')}`
    const first = accepted(await revoke({ cert_id }, key))
    refused(await revoke(other(cert_id), key), 409, 'conflict')
    expect(accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))).toEqual(first)
  })

  it('refuses another certificate under the same key and does not revoke it', async () => {
    const [first, second] = [await seedOne(), await seedOne()]
    accepted(await revoke({ cert_id: first }, 'k-4'))
    refused(await revoke({ cert_id: second }, 'k-4'), 409, 'conflict')
    const db = na.core.database.read
    const row = await db.selectFrom('issued_certs').select('status').where('cert_id', '=', second).executeTakeFirst()
    expect(row?.status).toBe('issued')
  })

  it('separates keys of different operators, and stores them for a day', async () => {
    const cert_id = await seedOne()
    const first = accepted(await revoke({ cert_id }, 'k-5'))
    accepted(await revoke({ cert_id: await seedOne() }, 'k-5', 'second'))
    clock.advance(86_399)
    expect(accepted(await revoke({ cert_id }, 'k-5'))).toEqual(first)
    clock.advance(1)
    accepted(await revoke({ cert_id: await seedOne() }, 'k-5'))
  })

  it('does not store a refused call', async () => {
    refused(await revoke({ cert_id: 'unknown' }, 'k-6'), 404, 'certificate_not_found')
    accepted(await revoke({ cert_id: await seedOne() }, 'k-6'))
  })

  it('revokes once when many callers send the same call with one key at once', async () => {
    const cert_id = await seedOne()
    const answers = await Promise.all(Array.from({ length: 10 }, () => revoke({ cert_id }, 'k-7')))
    const served = answers.filter((answer) => answer.status === 200)
    expect(served.length).toBeGreaterThanOrEqual(1)
    expect(new Set(served.map((answer) => answer.text)).size).toBe(1)
    // Callers that arrived while the first was still running.
    for (const answer of answers) if (answer.status !== 200) refused(answer, 409, 'conflict')
    const events = await na.auditEvents('certificate_revoked')
    expect(events.filter((event) => JSON.stringify(event).includes(cert_id))).toHaveLength(1)
  })

  it.each(['', 'a b', 'a/b', 'a'.repeat(129)])('refuses the malformed key %j with 400', async (key) => {
    const cert_id = await seedOne()
    refused(await revoke({ cert_id }, key), 400, 'bad_request')
    const db = na.core.database.read
    const row = await db.selectFrom('issued_certs').select('status').where('cert_id', '=', cert_id).executeTakeFirst()
    expect(row?.status).toBe('issued')
  })
})
