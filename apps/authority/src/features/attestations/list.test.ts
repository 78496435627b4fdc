// oxlint-disable max-lines -- every status of one list with its pages and settings
import type { JsonObject } from '@chancery/protocol'
import { ManualClock, type TestAuthority, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

interface List {
  readonly count: number
  readonly attestations: readonly {
    readonly attestation: { readonly attestation_id: string; readonly subject_id: string }
  }[]
  readonly total?: number | null
  readonly next_offset?: number | null
  readonly next_cursor?: string | null
}

const clock = new ManualClock()
const settings = { NA_CLOCK_CHECK: 'off' }
/** In order of issue. Pairs share an instant, so that the id decides their order. */
const issued: { id: string; at: string; subject: string }[] = []
let na: TestAuthority

async function issueOn(authority: TestAuthority, subject_id: string): Promise<JsonObject> {
  const body = { subject_id, roles: ['role:client'] }
  return accepted(await authority.as('privileged')('POST', '/admin/attestations', body), 201)
}

beforeAll(async () => {
  na = await startTestAuthority({ clock, settings })
  for (let i = 0; i < 23; i += 1) {
    const subject = `zoë-${i % 3}`
    const attestation = await issueOn(na, subject)
    issued.push({ id: String(attestation['attestation_id']), at: String(attestation['issued_at']), subject })
    if (i % 2 === 1) clock.advance(0.5)
  }
  issued.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || (a.id < b.id ? -1 : 1))
  for (const { id } of issued.slice(0, 4))
    accepted(await na.as('privileged')('POST', `/admin/attestations/${id}/revoke`, {}))
})
afterAll(() => na.stop())

const list = async (query = ''): Promise<List> =>
  accepted(await na.request('GET', `/attestations${query}`)) as unknown as List
const ids = ({ attestations }: List): string[] => attestations.map((row) => row.attestation.attestation_id)
const all = (): string[] => issued.map(({ id }) => id)

describe('GET /attestations', () => {
  it('returns every attestation by time of issue, then id, without paging members', async () => {
    const whole = await list()
    expect(ids(whole)).toEqual(all())
    expect(Object.keys(whole)).toEqual(['count', 'attestations'])
    expect(whole.count).toBe(23)
  })

  it('returns the same rows as GET of one attestation', async () => {
    for (const row of (await list()).attestations.slice(2, 6)) {
      const one = await na.request('GET', `/attestations/${row.attestation.attestation_id}`)
      expect(one.json).toEqual(row)
      expect(Object.keys(row)).toEqual(['attestation', 'revocation_reason', 'revoked_at', 'status'])
    }
  })

  it.each<[string, (each: { subject: string }, index: number) => boolean]>([
    ['?subject_id=zo%C3%AB-1', ({ subject }) => subject === 'zoë-1'],
    ['?status=revoked', (_each, index) => index < 4],
    ['?status=active', (_each, index) => index >= 4],
    ['?status=suspended', () => false],
    ['?status=nonsense', () => false],
    ['?status=', () => false],
    ['?issuer_sovereign_id=TEST-NET', () => true],
    ['?issuer_sovereign_id=OTHER-NET', () => false],
    ['?subject_id=zo%C3%AB-0&status=active', ({ subject }, index) => subject === 'zoë-0' && index >= 4],
    ['?subject_id=zo%25', () => false],
    ['?subject_id=', () => false],
    // Of a repeated parameter the first value counts.
    ['?status=revoked&status=active', (_each, index) => index < 4],
  ])('filters by %s', async (query, keeps) => {
    const found = await list(query)
    expect(ids(found)).toEqual(issued.filter(keeps).map(({ id }) => id))
    expect(found.count).toBe(ids(found).length)
  })

  describe('published=true', () => {
    it('filters by the claim public_mesh exactly true, page by page', async () => {
      const own = await startTestAuthority({ clock: new ManualClock(), settings })
      try {
        const issueWith = async (subject_id: string, claims: JsonObject): Promise<void> => {
          const body = { subject_id, roles: ['role:client'], claims }
          accepted(await own.as('privileged')('POST', '/admin/attestations', body), 201)
        }
        const said: readonly JsonObject[] = [
          { public_mesh: true },
          {},
          { public_mesh: 'true' },
          { public_mesh: 1 },
          { public_mesh: false },
          { inner: { public_mesh: true } },
          { public_mesh: true, demo: true },
        ]
        for (const [number, claims] of said.entries()) await issueWith(`member-${number}`, claims)
        const subjects = async (query: string): Promise<readonly string[]> => {
          const { attestations } = accepted(await own.request('GET', `/attestations${query}`)) as unknown as List
          return attestations.map((row) => row.attestation.subject_id).sort()
        }
        expect(await subjects('?published=true')).toEqual(['member-0', 'member-6'])
        expect(await subjects('?status=active&published=true')).toEqual(['member-0', 'member-6'])
        expect(await subjects('?status=revoked&published=true')).toEqual([])
        expect(await subjects('?published=false')).toHaveLength(said.length)
        const first = accepted(await own.request('GET', '/attestations?published=true&limit=1')) as unknown as List
        expect([first.count, first.total, typeof first.next_cursor]).toEqual([1, 2, 'string'])
        const rest = await subjects(`?published=true&limit=1000&cursor=${first.next_cursor ?? ''}`)
        expect([...rest, first.attestations[0]?.attestation.subject_id].sort()).toEqual(['member-0', 'member-6'])
      } finally {
        await own.stop()
      }
    })
  })

  describe('pages', () => {
    it.each([1, 2, 7, 22, 23, 24, 1000])(
      'of %i by cursor contain the whole list, each attestation once',
      async (limit) => {
        const seen: string[] = []
        let query = `?limit=${limit}`
        for (let pages = 0; pages < 30; pages += 1) {
          const page = await list(query)
          seen.push(...ids(page))
          expect(page.count).toBeLessThanOrEqual(limit)
          expect(page.total).toBe(23)
          if (page.next_cursor === null || page.next_cursor === undefined) break
          query = `?limit=${limit}&cursor=${page.next_cursor}`
        }
        expect(seen).toEqual(all())
      },
    )

    it.each([1, 5, 23])('of %i by offset contain the whole list', async (limit) => {
      const seen: string[] = []
      let offset: number | null | undefined = 0
      while (typeof offset === 'number') {
        const page: List = await list(`?limit=${limit}&offset=${offset}`)
        seen.push(...ids(page))
        offset = page.next_offset
      }
      expect(seen).toEqual(all())
    })

    it('apply their filter and count only matches', async () => {
      const first = await list('?status=active&limit=10')
      expect([first.total, first.count, first.next_offset]).toEqual([19, 10, 10])
      const second = await list(`?status=active&limit=10&cursor=${first.next_cursor ?? ''}`)
      expect([second.total, second.count, second.next_offset, second.next_cursor]).toEqual([19, 9, null, null])
      expect([...ids(first), ...ids(second)]).toEqual(all().slice(4))
    })

    it('have paging members on request, also when everything fits', async () => {
      expect(await list('?limit=1000')).toMatchObject({ count: 23, total: 23, next_offset: null, next_cursor: null })
      expect(await list('?offset=23')).toMatchObject({
        count: 0,
        attestations: [],
        total: 23,
        next_offset: null,
        next_cursor: null,
      })
      expect(await list('?offset=10000')).toMatchObject({ count: 0, total: 23 })
    })

    it('a cursor does not move when attestations are issued after it', async () => {
      const own = await startTestAuthority({ clock: new ManualClock(), settings })
      try {
        const listed = async (query: string): Promise<List> =>
          accepted(await own.request('GET', `/attestations${query}`)) as unknown as List
        for (let i = 0; i < 4; i += 1) await issueOn(own, `s${i}`)
        const first = await listed('?limit=2')
        await issueOn(own, 'late')
        const rest = await listed(`?limit=1000&cursor=${first.next_cursor ?? ''}`)
        const seen = [...ids(first), ...ids(rest)]
        expect(new Set(seen).size).toBe(seen.length)
        const everything = ids(await listed(''))
        expect(ids(rest)).toEqual(everything.slice(everything.indexOf(ids(first)[1] ?? '') + 1))
      } finally {
        await own.stop()
      }
    })

    it.each([
      'limit=0',
      'limit=1001',
      'limit=-1',
      'limit=',
      'limit=1.0',
      'limit=01',
      'limit=+1',
      'limit=1e2',
      'limit=x',
      'limit=10000000000',
      'offset=-1',
      'offset=10001',
      'offset=',
      'offset=x',
      'offset=1.5',
      'cursor=',
      'cursor=x',
      'cursor=MXw',
      'cursor=Mnx4',
      'cursor=%F0%9F%98%80',
      'offset=0&cursor=MXw',
      `cursor=${Buffer.from('1|2026-01-02T03:04:05.000000Z').toString('base64url')}`,
      `cursor=${Buffer.from('1|2026-01-02T03:04:05Z|x').toString('base64url')}`,
      `cursor=${Buffer.from('1|2026-01-02T03:04:05.000000Z|x').toString('base64')}=`,
    ])('refuse %s', async (query) => {
      refused(await na.request('GET', `/attestations?${query}`), 400, 'invalid_page')
    })
  })

  describe('with operator headers', () => {
    it('is the list for a standard operator', async () => {
      expect(accepted(await na.as('standard')('GET', '/attestations?limit=3'))['count']).toBe(3)
    })

    it('that do not verify is refused, and does not get the public response', async () => {
      refused(
        await na.request('GET', '/attestations', { headers: { 'X-Admin-Key-Id': 'op-standard' } }),
        401,
        'admin_auth_failed',
      )
      refused(
        await na.as('standard')('GET', '/attestations', undefined, { signedPath: '/nodes' }),
        401,
        'admin_auth_failed',
      )
    })
  })
})

describe('GET /attestations with NA_PUBLIC_ATTESTATION_LIST=off', () => {
  let closed: TestAuthority
  beforeAll(async () => {
    closed = await startTestAuthority({ settings: { NA_PUBLIC_ATTESTATION_LIST: 'off' } })
    for (const name of ['a', 'b', 'c']) await issueOn(closed, name)
    const { attestations } = accepted(await closed.as('standard')('GET', '/attestations')) as unknown as List
    const id = attestations[0]?.attestation.attestation_id ?? ''
    accepted(await closed.as('privileged')('POST', `/admin/attestations/${id}/revoke`, {}))
  })
  afterAll(() => closed.stop())

  it.each([
    ['', 3],
    ['?status=active', 2],
    ['?status=revoked', 1],
    ['?status=nonsense', 0],
    ['?limit=1', 3],
    ['?published=true', 0],
  ])('shows unauthenticated callers a number: %s', async (query, count) => {
    expect(accepted(await closed.request('GET', `/attestations${query}`))).toEqual({ count })
  })

  it.each(['?subject_id=a', '?issuer_sovereign_id=TEST-NET', '?status=active&subject_id=a', '?subject_id='])(
    'refuses the filter %s to unauthenticated callers, who could query members one by one',
    async (query) => {
      refused(await closed.request('GET', `/attestations${query}`), 401, 'admin_auth_failed')
    },
  )

  it('shows operators the list, filters and pages', async () => {
    const { attestations, count } = accepted(
      await closed.as('standard')('GET', '/attestations?subject_id=b'),
    ) as unknown as List
    expect([count, attestations[0]?.attestation.subject_id]).toEqual([1, 'b'])
    expect(accepted(await closed.as('privileged')('GET', '/attestations?limit=2'))).toMatchObject({
      count: 2,
      total: 3,
    })
  })

  it('refuses bad headers with 401 and does not return the number', async () => {
    const stale = { timestamp: '2001-01-01T00:00:00Z' }
    refused(await closed.as('standard')('GET', '/attestations', undefined, stale), 401, 'admin_auth_failed')
  })
})

describe('GET /attestations/{attestation_id} with NA_PUBLIC_ATTESTATION_LIST=off', () => {
  it('is for operators: an unauthenticated caller gets the same refusal for every id, also for one in the public feed', async () => {
    const closed = await startTestAuthority({ settings: { NA_PUBLIC_ATTESTATION_LIST: 'off' } })
    try {
      await issueOn(closed, 'hidden-member')
      const { attestations } = accepted(await closed.as('standard')('GET', '/attestations')) as unknown as List
      const id = attestations[0]?.attestation.attestation_id ?? ''
      accepted(await closed.as('privileged')('POST', `/admin/attestations/${id}/revoke`, {}))
      expect((await closed.request('GET', '/sovereign-revocation-feed')).text).toContain(id)
      for (const asked of [id, 'unknown'])
        refused(await closed.request('GET', `/attestations/${asked}`), 401, 'admin_auth_failed')
      const stale = { timestamp: '2001-01-01T00:00:00Z' }
      refused(await closed.as('standard')('GET', `/attestations/${id}`, undefined, stale), 401, 'admin_auth_failed')
      expect((await closed.as('standard')('GET', `/attestations/${id}`)).text).toContain('hidden-member')
      refused(await closed.as('standard')('GET', '/attestations/unknown'), 404, 'attestation_not_found')
    } finally {
      await closed.stop()
    }
  })
})

describe('GET /attestations/{attestation_id}', () => {
  it.each(['unknown', 'zo%C3%AB', 'a'.repeat(500), '..', '%2F'])('%s is 404 attestation_not_found', async (id) => {
    refused(await na.request('GET', `/attestations/${id}`), 404, 'attestation_not_found')
  })
})
