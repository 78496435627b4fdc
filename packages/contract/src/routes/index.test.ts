import { describe, expect, it } from 'vitest'
import { ERRORS } from '../errors.ts'
import { type Route, queryNames } from '../route.ts'
import { ALL_ROUTES, featureOf, findRoute, ROUTES } from './index.ts'

/** Rules that hold for every route. What each route is, is in `surface.snapshot.json`, whose difference a reviewer reads. */
const each = (stored: (route: Route) => boolean): readonly Route[] => {
  const found = ALL_ROUTES.filter(stored)
  expect(found.length).toBeGreaterThan(0)
  return found
}

describe('the table of routes', () => {
  it('has each id once', () => {
    expect(new Set(ALL_ROUTES.map((route) => route.id)).size).toBe(ALL_ROUTES.length)
  })

  it('finds a route and its feature by id', () => {
    expect(findRoute('POST /admin/policy')).toBe(ROUTES.policy.publish)
    expect(findRoute('GET /admin/policy')).toBeUndefined()
    expect(featureOf(ROUTES.evidence.registerKey)).toBe('evidence')
    expect(featureOf(ROUTES.boundaryPolicies.verify)).toBe('boundaryPolicies')
    expect(() => featureOf({ id: 'GET /nowhere' })).toThrow('GET /nowhere')
  })

  it('writes titles of at most 60 characters and purposes of one sentence', () => {
    for (const route of ALL_ROUTES) {
      expect(route.summary, route.id).toMatch(/^[A-Z].{0,59}$/)
      expect(route.summary, route.id).not.toMatch(/\.$/)
      expect(route.purpose, route.id).toMatch(/^[A-Z][^.]*(\.json[^.]*)?\.$/)
    }
  })
})

describe('who may call', () => {
  it('lets only operators into /admin, each under a limit of operators', () => {
    const limits = ['admin', 'operator_read', 'operator_decision']
    for (const { id, path, access, limit } of ALL_ROUTES) {
      expect(access.startsWith('operator:'), `${id}: operator routes, and only these, are below /admin/`).toBe(
        path.startsWith('/admin/'),
      )
      expect(limits.includes(limit), id).toBe(path.startsWith('/admin/'))
    }
    for (const { id, method } of each(({ limit }) => limit === 'operator_read')) expect(method, id).toBe('GET')
  })

  // A mistyped filter must not return everything (protocol/trust-operations 6.8).
  it('lets new reads of operators refuse unknown query names', () => {
    for (const route of each((one) => one.limit === 'operator_read' && queryNames(one).length > 0))
      expect(route.errors ?? [], `errors of ${route.id}, which has a query`).toContain('unexpected_field')
  })

  it('lets the standard tier try a privileged route, and only where an answer to the trial is described', () => {
    for (const route of each(({ dryRun }) => dryRun !== undefined))
      expect([route.access, route.preview !== undefined], route.id).toEqual(['operator:privileged', true])
  })

  // A verify route and `prove` compute an answer from the body, and change nothing.
  it('asks for a signature where something may change', () => {
    for (const { id, limit } of each(({ access, method }) => method !== 'GET' && access.startsWith('public')))
      expect(limit, id).toBe('verify')
  })

  it('reads small bodies of callers that only a signature names', () => {
    for (const { id, bodyLimit } of each(({ access }) => access === 'node'))
      expect(['node', 'decision'], id).toContain(bodyLimit)
  })
})

describe('limits', () => {
  it('counts every verify route under verify, and lets every caller use it', () => {
    const verify = each(
      ({ method, path }) => method === 'POST' && /^\/(?!admin\/).*\/verify(-with-treaty)?$/.test(path),
    )
    for (const { id, access, limit } of verify) expect([access, limit], id).toEqual(['public', 'verify'])
  })

  it('keeps the reserve for withdrawals for operators', () => {
    for (const { id, access, method } of each(({ reserve }) => reserve !== undefined)) {
      expect(access, id).toMatch(/^operator:/)
      expect(method, id).toBe('POST')
    }
  })

  it('leaves only reads unlimited, and counts only reads under public', () => {
    for (const { id, method } of each(({ limit }) => limit === 'none' || limit === 'public'))
      expect(method, id).toBe('GET')
  })
})

describe('promises', () => {
  it('makes no promise about pages and static files', () => {
    for (const { id, stability } of each(({ response }) => response === 'html' || response === 'static'))
      expect(stability, id).toBe('internal')
  })

  it('answers 201 only to a call that creates something', () => {
    for (const { id, method } of each(({ success }) => success === 201)) expect(method, id).toBe('POST')
  })

  it('overrides statuses of codes that exist', () => {
    for (const { statuses = {} } of each((route) => route.statuses !== undefined))
      for (const code of Object.keys(statuses)) expect(ERRORS, code).toHaveProperty(code)
  })
})

describe('paths', () => {
  it('take the rest of the path only for a last parameter', () => {
    for (const { id, path } of each(({ tail }) => tail === true)) expect(path, id).toMatch(/\}$/)
  })
})
