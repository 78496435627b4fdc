import type { JsonObject, TreatyLifecycle } from '@chancery/protocol'
import { ManualClock, accepted, foreignSovereign, seedTreaties, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

interface Row {
  readonly treaty: { readonly treaty_id: string }
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly lifecycle: TreatyLifecycle
}
interface List {
  readonly count: number
  readonly recognition_treaties: readonly Row[]
  readonly total?: number | null
  readonly next_offset?: number | null
  readonly next_cursor?: string | null
}

const clock = new ManualClock('2026-01-02T03:04:05Z')
const settings = { NA_CLOCK_CHECK: 'off' }
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings })
  await seedTreaties(na.parts, [
    { treaty_id: 'long', from: 'A', to: 'B', validityHours: 73 },
    { treaty_id: 'soon', from: 'A', to: 'Zoë', validityHours: 72 },
    { treaty_id: 'high', from: 'B', to: 'C', validityHours: 24 },
    { treaty_id: 'past', from: 'B', to: 'A', issuedAt: clock.now() - 3_600_000_000n, validityHours: 1 },
    { treaty_id: 'over', from: 'A', to: 'B', revokedBecause: 'over' },
    { treaty_id: 'next', from: 'A', to: 'B', issuedAt: clock.now() + 1n, revokedBecause: 'renewed_by:long' },
  ])
})
afterAll(() => na.stop())

const list = async (query = '', authority = na): Promise<List> =>
  accepted(await authority.request('GET', `/recognition-treaties${query}`)) as unknown as List
const ids = ({ recognition_treaties }: List): string[] => recognition_treaties.map((row) => row.treaty.treaty_id)
const ORDER = ['past', 'high', 'long', 'over', 'soon', 'next']

describe('GET /recognition-treaties', () => {
  it('returns every treaty by time of issue, then id, with its lifecycle', async () => {
    const whole = await list()
    expect(ids(whole)).toEqual(ORDER)
    expect(Object.keys(whole)).toEqual(['count', 'recognition_treaties'])
    const states = whole.recognition_treaties.map(({ status, lifecycle }) => [
      status,
      lifecycle.state,
      lifecycle.expiry_risk,
      lifecycle.seconds_until_expiry,
    ])
    expect(states).toEqual([
      ['active', 'expired', 'expired', 0],
      ['active', 'expiring_soon', 'high', 86_400],
      ['active', 'active', 'low', 262_800],
      ['revoked', 'revoked', 'none', null],
      ['active', 'expiring_soon', 'medium', 259_200],
      ['revoked', 'replaced', 'none', null],
    ])
    expect(whole.recognition_treaties[5]).toMatchObject({
      status: 'revoked',
      revoked_at: '2026-01-02T04:04:05.000001Z',
      revocation_reason: 'renewed_by:long',
      lifecycle: {
        revoked_at: '2026-01-02T04:04:05.000001Z',
        revocation_reason: 'renewed_by:long',
        replacement_treaty_id: 'long',
      },
    })
  })

  it('returns the same rows as GET of one treaty', async () => {
    for (const row of (await list()).recognition_treaties) {
      const one = accepted(await na.request('GET', `/recognition-treaties/${row.treaty.treaty_id}`))
      expect(one).toEqual(row)
      expect(Object.keys(one).sort()).toEqual(['lifecycle', 'revocation_reason', 'revoked_at', 'status', 'treaty'])
    }
  })

  it.each<[string, readonly string[]]>([
    ['?issuer_sovereign_id=A', ['long', 'over', 'soon', 'next']],
    ['?subject_sovereign_id=Zo%C3%AB', ['soon']],
    ['?subject_sovereign_id=B&issuer_sovereign_id=A&status=active', ['long']],
    // The stored status, not the lifecycle: an expired treaty was never revoked.
    ['?status=active', ['past', 'high', 'long', 'soon']],
    ['?status=revoked', ['over', 'next']],
    ['?status=expired', []],
    ['?status=', []],
    ['?subject_sovereign_id=B%25', []],
  ])('filters by %s', async (query, expected) => {
    expect(ids(await list(query))).toEqual(expected)
  })

  it.each([1, 2, 5, 6, 7])('pages of %i by cursor and by offset contain the whole list', async (limit) => {
    const byCursor: string[] = []
    for (let query: string | undefined = `?limit=${limit}`; query !== undefined;) {
      const page: List = await list(query)
      byCursor.push(...ids(page))
      query = typeof page.next_cursor === 'string' ? `?limit=${limit}&cursor=${page.next_cursor}` : undefined
    }
    expect(byCursor).toEqual(ORDER)
    const byOffset: string[] = []
    for (let offset: number | null | undefined = 0; typeof offset === 'number';) {
      const page: List = await list(`?limit=${limit}&offset=${offset}`)
      byOffset.push(...ids(page))
      offset = page.next_offset
    }
    expect(byOffset).toEqual(ORDER)
  })

  it.each(['limit=0', 'limit=1001', 'offset=10001', 'cursor=x', 'offset=1&cursor=MXw', 'limit=abc'])(
    'refuses %s',
    async (query) => {
      refused(await na.request('GET', `/recognition-treaties?${query}`), 400, 'invalid_page')
    },
  )

  describe('of more than a page', () => {
    let large: TestAuthority
    const names: string[] = []
    beforeAll(async () => {
      large = await startTestAuthority({ clock: new ManualClock(), settings })
      for (let i = 0; i < 2300; i += 1) names.push(`t${String(i).padStart(5, '0')}`)
      await seedTreaties(
        large.parts,
        names.map((treaty_id) => ({ treaty_id, from: 'A', to: 'B' })),
      )
    })
    afterAll(() => large.stop())

    it('returns 1000 rows and the next cursor, also to a client that did not ask for pages', async () => {
      const seen: string[] = []
      let page = await list('', large)
      expect(page).toMatchObject({ count: 1000, total: 2300, next_offset: 1000 })
      seen.push(...ids(page))
      while (typeof page.next_cursor === 'string') {
        page = await list(`?cursor=${page.next_cursor}`, large)
        // An offset makes no sense after a cursor.
        expect([page.total, page.next_offset]).toEqual([2300, null])
        seen.push(...ids(page))
      }
      expect(seen).toEqual(names)
    })
  })

  it('counts exactly up to 10,000 and returns null above; offsets end at 10,000, cursors do not', async () => {
    const large = await startTestAuthority({ clock: new ManualClock(), settings })
    try {
      const seed = (from: number, to: number): Promise<void> =>
        seedTreaties(
          large.parts,
          Array.from({ length: to - from }, (_, i) => ({
            treaty_id: `t${String(from + i).padStart(6, '0')}`,
            from: 'A',
            to: 'B',
          })),
        )
      await seed(0, 10_000)
      expect(await list('?limit=1', large)).toMatchObject({ total: 10_000 })
      await seed(10_000, 10_003)
      expect(await list('?limit=1', large)).toMatchObject({ total: null })
      const last = await list('?limit=2&offset=9998', large)
      expect(last).toMatchObject({ next_offset: 10_000 })
      const end = await list('?limit=2&offset=10000', large)
      expect(ids(end)).toEqual(['t010000', 't010001'])
      expect(end.next_offset).toBeNull()
      expect(ids(await list(`?limit=2&cursor=${end.next_cursor ?? ''}`, large))).toEqual(['t010002'])
    } finally {
      await large.stop()
    }
  })
})

describe('GET /recognition-treaties/{treaty_id}', () => {
  it('is 404 for one that is not stored', async () => {
    for (const id of ['unknown', 'zo%C3%AB', '%2e%2e', 'a'.repeat(500)])
      refused(await na.request('GET', `/recognition-treaties/${id}`), 404, 'treaty_not_found')
  })

  it('changes with the clock, without a write', async () => {
    const own = new ManualClock()
    const alone = await startTestAuthority({ clock: own, settings })
    try {
      const body = {
        subject_sovereign_id: 'P',
        subject_public_keys: [foreignSovereign('P').publicKey],
        validity_hours: 73,
      }
      const { treaty_id } = accepted(await alone.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
      const state = async (): Promise<string> => {
        const { lifecycle } = accepted(
          await alone.request('GET', `/recognition-treaties/${String(treaty_id)}`),
        ) as unknown as Row
        return `${lifecycle.state} ${lifecycle.expiry_risk}`
      }
      expect(await state()).toBe('active low')
      own.advance(3600)
      expect(await state()).toBe('expiring_soon medium')
      own.advance(48 * 3600)
      expect(await state()).toBe('expiring_soon high')
      own.advance(24 * 3600)
      expect(await state()).toBe('expired expired')
    } finally {
      await alone.stop()
    }
  })

  it('returns the signed record byte for byte, number forms included', async () => {
    const rawMetadata = { limit: 1 } satisfies JsonObject
    const body = {
      subject_sovereign_id: 'P',
      subject_public_keys: [foreignSovereign('P').publicKey],
      metadata: rawMetadata,
    }
    const issued = await na.as('privileged')('POST', '/admin/recognition-treaties', body)
    const { treaty_id } = accepted(issued, 201)
    const found = await na.request('GET', `/recognition-treaties/${String(treaty_id)}`)
    expect(found.text.startsWith(`{"treaty":${issued.text},`)).toBe(true)
  })
})
