import type { JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignSovereign,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({
    clock,
    settings: { NA_CLOCK_CHECK: 'off', NA_ALLOWED_ROLES: 'role:client,role:reader' },
  })
})
afterAll(() => na.stop())

const KEY = foreignSovereign('PARTNER-NET').publicKey
async function issue(): Promise<string> {
  const body = {
    subject_sovereign_id: 'PARTNER-NET',
    subject_public_keys: [KEY],
    scope: { allowed_roles: ['role:client'] },
    validity_hours: 48,
    metadata: { note: 'first' },
  }
  return String(accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)['treaty_id'])
}
const renew = (id: string, body: JsonObject = {}, as = 'privileged', headers = {}): Promise<TestResponse> =>
  na.as(as)('POST', `/admin/recognition-treaties/${id}/renew`, body, { headers })
const find = async (id: string): Promise<JsonObject> => accepted(await na.request('GET', `/recognition-treaties/${id}`))
const count = async (): Promise<number> =>
  Number(accepted(await na.request('GET', '/recognition-treaties?limit=1000'))['count'])

describe('POST /admin/recognition-treaties/{treaty_id}/renew', () => {
  it('201: signs the same terms for the same time again and ends the old treaty, audited', async () => {
    const id = await issue()
    const { treaty: old } = (await find(id)) as { treaty: JsonObject }
    clock.advance(3600)
    const answer = await renew(id)
    const { treaty, previous } = accepted(answer, 201) as { treaty: JsonObject; previous: JsonObject }
    const next = String(treaty['treaty_id'])
    expect(previous).toEqual({ treaty_id: id, status: 'revoked', revocation_reason: `renewed_by:${next}` })
    for (const name of ['subject_sovereign_id', 'subject_public_keys', 'scope', 'metadata', 'issuer_sovereign_id'])
      expect(treaty[name], name).toEqual(old[name])
    expect(Date.parse(String(treaty['expires_at'])) - Date.parse(String(treaty['valid_from']))).toBe(48 * 3_600_000)
    expect(await find(next)).toMatchObject({ treaty, status: 'active' })
    expect(await find(id)).toMatchObject({
      treaty: old,
      status: 'revoked',
      lifecycle: { state: 'replaced', replacement_treaty_id: next },
    })
    const events = await eventsOf(na, answer)
    expect(events.map((event) => event['event_type'])).toEqual([
      'recognition_treaty_issued',
      'recognition_treaty_revoked',
    ])
    expect(detailsOf(events[1])).toMatchObject({ treaty_id: id, reason: `renewed_by:${next}`, key_id: 'op-privileged' })
  })

  it('201: with other terms it is a replacement', async () => {
    const id = await issue()
    const scope = { allowed_roles: ['role:reader'] }
    const answer = accepted(await renew(id, { scope, validity_hours: 24 }), 201) as Record<string, JsonObject>
    expect(answer['treaty']).toMatchObject({ scope: { allowed_roles: ['role:reader'] }, metadata: { note: 'first' } })
    expect(answer['previous']?.['revocation_reason']).toMatch(/^replaced_by:/)
  })

  it('201: an expired treaty can be renewed', async () => {
    const id = await issue()
    clock.advance(49 * 3600)
    accepted(await renew(id), 201)
  })

  it('201: a repeat with the same idempotency key gives the same treaty', async () => {
    const id = await issue()
    const headers = { 'Idempotency-Key': `renew-${id}` }
    const first = await renew(id, {}, 'privileged', headers)
    const before = await count()
    const second = await renew(id, {}, 'privileged', headers)
    expect([second.status, second.text]).toEqual([201, first.text])
    expect(await count()).toBe(before)
  })

  it('409: one of several renewals at a time wins, and the others leave no treaty', async () => {
    const id = await issue()
    const before = await count()
    const answers = await Promise.all(Array.from({ length: 5 }, () => renew(id)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409, 409])
    expect(await count()).toBe(before + 1)
  })

  it('409: a treaty that was revoked', async () => {
    const id = await issue()
    accepted(await na.as('privileged')('POST', `/admin/recognition-treaties/${id}/revoke`, {}))
    const before = await count()
    refused(await renew(id), 409, 'treaty_ended')
    expect(await count()).toBe(before)
  })

  it('404: an unknown treaty', async () => {
    refused(await renew('nothing'), 404, 'treaty_not_found')
  })

  it.each<[JsonObject, number, string]>([
    [{ validity_hours: 0 }, 400, 'invalid_validity_hours'],
    [{ validity_hours: 26_281 }, 400, 'invalid_validity_hours'],
    [{ subject_public_keys: [] }, 400, 'empty_subject_public_keys'],
    [{ subject_public_keys: ['x'] }, 400, 'invalid_public_keys'],
    [{ scope: { allowed_roles: ['role:admin'] } }, 400, 'invalid_role'],
    [{ scope: 1 }, 422, 'invalid_treaty_scope'],
    [{ subject_sovereign_id: 'OTHER' }, 400, 'unexpected_field'],
  ])('%j: nothing is changed', async (body, status, code) => {
    const id = await issue()
    const before = await count()
    const answer = await renew(id, body)
    refused(answer, status, code)
    expect(await count()).toBe(before)
    expect(await find(id)).toMatchObject({ status: 'active' })
  })

  it('403: the standard tier', async () => {
    refused(await renew(await issue(), {}, 'standard'), 403, 'insufficient_operator_tier')
  })

  it('503: a stored treaty that was edited in the database is not signed again', async () => {
    const id = await issue()
    await na.core.database.write(({ query }) =>
      query
        .updateTable('recognition_treaties')
        .set((eb) => ({
          treaty_json: eb.fn<string>('replace', ['treaty_json', eb.val('role:client'), eb.val('role:reader')]),
        }))
        .where('treaty_id', '=', id)
        .execute(),
    )
    const before = await count()
    expect((await renew(id)).status).toBe(503)
    expect(await count()).toBe(before)
  })
})
