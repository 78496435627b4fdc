import { ALL_ROUTES, queryNames } from '@chancery/contract'
import { type TestAuthority, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Routes that ignore other names: pages, a probe, a list that peers ask with other names, and one without filters. */
const IGNORE = ['GET /readyz', 'GET /connectome', 'GET /atlas', 'GET /agents', 'GET /crl/delta']
const WITH_QUERY = ALL_ROUTES.filter((route) => route.method === 'GET' && queryNames(route).length > 0)
const REFUSING = WITH_QUERY.filter(({ id }) => !IGNORE.includes(id))

describe('an unknown query parameter', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ settings: { EVIDENCE_STORE: 'on', NA_PARTNERS: 'on' } })
  })
  afterAll(() => na.stop())

  it.each(REFUSING.map(({ id, path }) => [id, path] as const))(
    'of %s is refused, in words about the query',
    async (id, path) => {
      const target = `${path.replaceAll(/\{[a-z_]+\}/g, 'x')}?colour=red`
      const answer = path.startsWith('/admin/')
        ? await na.as('privileged')('GET', target)
        : await na.request('GET', target)
      const { message, details } = refused(answer, 400, 'unexpected_field')
      expect([message, details]).toEqual([
        'The query has parameters this route does not take. See details.fields.',
        { fields: ['colour'] },
      ])
      expect(ALL_ROUTES.find((route) => route.id === id)?.errors).toContain('unexpected_field')
    },
  )

  it('is named where a public list ignores it for an operator', async () => {
    const target = '/attestations?status=active&x=a+b&x=&colour%0d%0a=red'
    const answer = await na.as('standard')('GET', target)
    expect(answer.headers['chancery-ignored-parameters']).toBe('colour%0D%0A, x')
    expect(accepted(answer)).toMatchObject({ count: 0 })
    const plain = await na.as('standard')('GET', '/attestations?status=active')
    expect(plain.headers).not.toHaveProperty('chancery-ignored-parameters')
  })

  it('is ignored where nothing can be filtered, and by the list that peers ask', async () => {
    for (const path of ['/agents?other=1', '/healthz?x=1', '/genesis?x=1', '/readyz?x=1'])
      accepted(await na.request('GET', path))
  })
})
