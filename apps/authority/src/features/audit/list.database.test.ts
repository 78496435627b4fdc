import type { JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, foreignSovereign, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assignSequences } from '../../audit/sequence.ts'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
let na: TestAuthority
let treaties: readonly string[]
let last: TestResponse
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  const made: string[] = []
  for (const subject of ['ONE', 'TWO', 'THREE']) {
    clock.advance(60)
    const body = { subject_sovereign_id: subject, subject_public_keys: [foreignSovereign(subject).publicKey] }
    const answer = await na.as('privileged')('POST', '/admin/recognition-treaties', body)
    made.push(String(accepted(answer, 201)['treaty_id']))
  }
  clock.advance(60)
  last = await na.as('privileged')('POST', `/admin/recognition-treaties/${made[0]}/revoke`, { reason: 'over' })
  clock.advance(60)
  accepted(await na.as('standard')('POST', '/admin/invite', { roles: ['role:client'] }), 201)
  treaties = made
})
afterAll(() => na.stop())

const get = (query: string): Promise<TestResponse> => na.as('standard')('GET', `/admin/audit?${query}`)
const list = async (query: string): Promise<readonly JsonObject[]> =>
  accepted(await get(query))['events'] as readonly JsonObject[]
const typesOf = (events: readonly JsonObject[]): readonly unknown[] => events.map((event) => event['event_type'])
const [ISSUED, REVOKED] = ['recognition_treaty_issued', 'recognition_treaty_revoked']

describe('GET /admin/audit', () => {
  it('200: newest first, with numbers that have no gap', async () => {
    await assignSequences(na.core.database)
    const events = await list('limit=100')
    // Jobs record events at any time after the start, without an operator.
    const asked = typesOf(events.filter(({ details }) => (details as JsonObject)['key_id'] !== undefined))
    expect(asked.slice(0, 2)).toEqual(['invite_created', REVOKED])
    const times = events.map((event) => String(event['created_at']))
    expect(times[0]).toMatch(/^2\d{3}-/)
    expect(times).toEqual(times.toSorted().toReversed())
    // An event of a job may get its number after a later one.
    const numbers = events.map((event) => Number(event['number'])).toSorted((a, b) => b - a)
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => numbers.length - at))
    const { last_number } = accepted(await get('limit=1'))
    expect(last_number).toBe(numbers[0])
  })

  it.each<[string, () => string, readonly unknown[]]>([
    ['an event', () => `event=${ISSUED}`, [ISSUED, ISSUED, ISSUED]],
    ['two events', () => `event=${ISSUED},${REVOKED}`, [REVOKED, ISSUED, ISSUED, ISSUED]],
    ['the oldest first', () => `event=${ISSUED},${REVOKED}&order=oldest`, [ISSUED, ISSUED, ISSUED, REVOKED]],
    ['a subject', () => `subject=${treaties[0]}`, [REVOKED, ISSUED]],
    ['a subject, oldest first', () => `subject=${treaties[0]}&order=oldest`, [ISSUED, REVOKED]],
    ['a subject and an event', () => `subject=${treaties[0]}&event=${REVOKED}`, [REVOKED]],
    ['an operator', () => 'key_id=op-standard', ['invite_created']],
    ['a request', () => `request_id=${String(last.headers['x-request-id'])}`, [REVOKED]],
    ['a time', () => `event=${ISSUED}&since=2026-01-02T03:06:00Z`, [ISSUED, ISSUED]],
    ['a time that ends', () => `event=${ISSUED}&until=2026-01-02T03:06:00Z`, [ISSUED]],
    ['nothing', () => 'subject=no-such-subject', []],
    ['another request', () => 'request_id=nothing', []],
  ])('200: finds by %s', async (_name, query, expected) => {
    expect(typesOf(await list(query()))).toEqual(expected)
  })

  it.each(['newest', 'oldest'])('200: pages follow each other, %s first', async (order) => {
    const filter = `event=${ISSUED},${REVOKED}&order=${order}`
    const all = (await list(`${filter}&limit=100`)).map((event) => event['event_id'])
    const seen: unknown[] = []
    let cursor: unknown = null
    do {
      const page = accepted(await get(`${filter}&limit=1${cursor === null ? '' : `&cursor=${String(cursor)}`}`))
      seen.push(...(page['events'] as readonly JsonObject[]).map((event) => event['event_id']))
      cursor = page['next_cursor'] ?? null
    } while (cursor !== null)
    expect([seen.length, seen]).toEqual([4, all])
  })

  it('200: secrets are redacted', async () => {
    const [event] = await list('event=invite_created')
    expect(JSON.stringify(event)).toMatch(/fingerprint/)
    expect(JSON.stringify(event)).not.toMatch(/"(?:token|nonce|signature)":"(?!<redacted>)/)
  })

  it.each([
    ['event=nonsense', 'event'],
    ['event=', 'event'],
    [`event=${Array.from({ length: 11 }, () => ISSUED).join(',')},x`, 'event'],
    ['order=random', 'order'],
    ['key_id=', 'key_id'],
    [`subject=${'a'.repeat(257)}`, 'subject'],
    ['request_id=%0A', 'request_id'],
  ])('400: %s', async (query, field) => {
    expect(refused(await get(query), 400, 'invalid_input')['details']).toEqual({ field })
  })

  it('400: bounds, times, cursors and unknown parameters', async () => {
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=x',
      'cursor=x',
      `cursor=${Buffer.from('1|x|y').toString('base64url')}`,
    ])
      refused(await get(query), 400, 'invalid_page')
    refused(await get('since=yesterday'), 400, 'invalid_timestamps')
    refused(await get('type=x'), 400, 'unexpected_field')
  })

  it('401: without a signature, whatever the query says', async () => {
    refused(await na.request('GET', '/admin/audit?event=nonsense'), 401, 'admin_auth_failed')
  })
})
