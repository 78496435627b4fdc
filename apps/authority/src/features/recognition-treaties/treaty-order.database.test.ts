import type { JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, foreignSovereign, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  const issue = async (subject: string, validity_hours: number): Promise<string> => {
    clock.advance(1)
    const body = {
      subject_sovereign_id: subject,
      subject_public_keys: [foreignSovereign(subject).publicKey],
      validity_hours,
    }
    return String(accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)['treaty_id'])
  }
  const end = async (id: string, reason: string): Promise<void> => {
    accepted(await na.as('privileged')('POST', `/admin/recognition-treaties/${id}/revoke`, { reason }))
  }
  await issue('EXPIRED', 1)
  clock.advance(7200)
  await issue('LATER', 1000)
  await issue('LAST', 2000)
  await issue('SOON', 48)
  await end(await issue('REVOKED', 500), 'over')
  await end(await issue('REPLACED', 600), 'renewed_by:x')
  await end(await issue('REPLACED-NOT', 700), 'renewed_by:')
})
afterAll(() => na.stop())

const list = async (query: string): Promise<JsonObject> =>
  accepted(await na.request('GET', `/recognition-treaties?${query}`))
const subjects = (answer: JsonObject): readonly string[] =>
  (answer['recognition_treaties'] as readonly { treaty: { subject_sovereign_id: string } }[]).map(
    ({ treaty }) => treaty.subject_sovereign_id,
  )

describe('GET /recognition-treaties, sorted and filtered', () => {
  it.each<[string, readonly string[]]>([
    ['sort=expires_at', ['EXPIRED', 'SOON', 'REVOKED', 'REPLACED', 'REPLACED-NOT', 'LATER', 'LAST']],
    ['sort=issued_at', ['EXPIRED', 'LATER', 'LAST', 'SOON', 'REVOKED', 'REPLACED', 'REPLACED-NOT']],
    ['lifecycle=active&sort=expires_at', ['LATER', 'LAST']],
    ['lifecycle=expiring_soon', ['SOON']],
    ['lifecycle=expired', ['EXPIRED']],
    ['lifecycle=revoked', ['REVOKED', 'REPLACED-NOT']],
    ['lifecycle=replaced', ['REPLACED']],
    ['q=LA', ['LATER', 'LAST']],
    ['q=LAST', ['LAST']],
    ['q=LA&sort=expires_at&lifecycle=expired', []],
    ['q=la', []],
    ['q=%25', []],
    ['q=_', []],
    ['sort=expires_at&status=active&subject_sovereign_id=SOON', ['SOON']],
  ])('200: %s', async (query, expected) => {
    const answer = await list(query)
    expect([...subjects(answer)].toSorted()).toEqual([...expected].toSorted())
    if (query.includes('sort')) expect(subjects(answer)).toEqual(expected)
  })

  it('200: every state that is asked for is the state of the rows', async () => {
    for (const state of ['active', 'expiring_soon', 'expired', 'revoked', 'replaced']) {
      const rows = (await list(`lifecycle=${state}`))['recognition_treaties'] as readonly JsonObject[]
      for (const row of rows) expect(row['lifecycle']).toMatchObject({ state })
    }
  })

  it('200: pages by the end follow each other', async () => {
    const seen: string[] = []
    let cursor: unknown = null
    do {
      const page: JsonObject = await list(
        `sort=expires_at&limit=2${cursor === null ? '' : `&cursor=${String(cursor)}`}`,
      )
      expect(page['total']).toBe(7)
      seen.push(...subjects(page))
      cursor = page['next_cursor'] ?? null
    } while (cursor !== null)
    expect(seen).toEqual(['EXPIRED', 'SOON', 'REVOKED', 'REPLACED', 'REPLACED-NOT', 'LATER', 'LAST'])
  })

  it('400: a cursor of the other order', async () => {
    const { next_cursor } = await list('limit=2')
    refused(
      await na.request('GET', `/recognition-treaties?sort=expires_at&cursor=${String(next_cursor)}`),
      400,
      'invalid_page',
    )
    const { next_cursor: byEnd } = await list('limit=2&sort=expires_at')
    refused(await na.request('GET', `/recognition-treaties?cursor=${String(byEnd)}`), 400, 'invalid_page')
  })

  it.each([
    ['sort=subject', 'sort'],
    ['sort=', 'sort'],
    ['lifecycle=suspended', 'lifecycle'],
    ['lifecycle=', 'lifecycle'],
    ['q=', 'q'],
    [`q=${'a'.repeat(129)}`, 'q'],
    ['q=%0A', 'q'],
  ])('400: %s', async (query, field) => {
    const error = refused(await na.request('GET', `/recognition-treaties?${query}`), 400, 'invalid_input')
    expect(error['details']).toEqual({ field })
  })
})
