import { GatewayRefusal } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { readPattern } from '../../policy/read-check.ts'
import type { CheckRoute } from '../../policy/policy.ts'
import { matchRoute } from './match-route.ts'

/** Holds: a path has one reading here, and a path that a service could read as another route is refused. */
const route = (method: string, path: string): CheckRoute => {
  const segments = readPattern(path)
  if (segments === undefined) throw new Error(`no pattern: ${path}`)
  return { method, path, segments, asks: undefined, body: 'here', bindsBody: false }
}

const ROUTES = [
  route('GET', '/'),
  route('POST', '/printers/{printer}/jobs'),
  route('*', '/admin/{rest*}'),
  route('GET', '/files/{path*}'),
  route('*', '/docs/'),
  route('GET', '/{page}'),
]

function outcome(method: string, target: string): unknown {
  try {
    const { route: found, params } = matchRoute(ROUTES, method, target)
    return [found.path, params]
  } catch (error) {
    if (error instanceof GatewayRefusal) return error.error
    throw error
  }
}

describe('matchRoute', () => {
  it('finds the first route of the method, and decodes its parameters', () => {
    expect(outcome('GET', '/')).toEqual(['/', {}])
    expect(outcome('GET', '/?a=/../b')).toEqual(['/', {}])
    expect(outcome('POST', '/printers/p%201/jobs?x=%2e%2e')).toEqual(['/printers/{printer}/jobs', { printer: 'p 1' }])
    expect(outcome('DELETE', '/admin/a/b')).toEqual(['/admin/{rest*}', { rest: 'a/b' }])
    expect(outcome('GET', '/files/a/b.txt')).toEqual(['/files/{path*}', { path: 'a/b.txt' }])
    expect(outcome('GET', '/files/a/')).toEqual(['/files/{path*}', { path: 'a/' }])
    expect(outcome('PUT', '/docs/')).toEqual(['/docs/', {}])
    expect(outcome('GET', '/caf%C3%A9')).toEqual(['/{page}', { page: 'café' }])
  })

  it('denies without a route of this method', () => {
    for (const [method, target] of [
      ['POST', '/'],
      ['HEAD', '/'],
      ['GET', '/printers/p1/jobs'],
      ['POST', '/printers//jobs/x'],
      ['POST', '/printers/p1/jobs/x'],
    ] as const)
      expect([target, outcome(method, target)]).toEqual([
        target,
        target.includes('//') ? 'path_ambiguous' : 'route_denied',
      ])
  })

  it('refuses a path that ignores case or a trailing slash into another route', () => {
    for (const target of ['/ADMIN', '/admin', '/admin/', '/docs', '/docs/', '/Docs', '/FILES'])
      expect([target, outcome('GET', target)]).toEqual([target, 'path_ambiguous'])
    // The same route in every reading.
    expect(outcome('GET', '/About')).toEqual(['/{page}', { page: 'About' }])
    expect(outcome('PUT', '/admin/')).toEqual(['/admin/{rest*}', { rest: '' }])
  })

  it('refuses every path with a second reading', () => {
    const paths = [
      '//',
      '/a//b',
      '/files/../admin/x',
      '/files/./x',
      '/files/..',
      '/files/%2e%2e/admin/x',
      '/files/.%2E/x',
      '/files/a%2fb',
      '/files/a%2Fb',
      '/files/a%5cb',
      '/files/a\\b',
      '/files/a%00',
      '/files/a%0d%0a',
      '/files/a%7f',
      '/files/%252e%252e',
      '/files/a%25',
      '/files/a%3fb',
      '/files/a%23b',
      '/files/..;/x',
      '/files/a;x=1',
      '/files/a%3bx',
      '/files/%61',
      '/%61dmin/x',
      '/files/%',
      '/files/%4',
      '/files/%zz',
      '/files/%ff',
      '/files/%c0%af',
      '/files/%ef%bc%8f',
      '/files/%c2%85',
      '/files/e%CC%81',
      '/files/..%20/x',
      '/files/%20..',
      '/files/a b',
      '/files/é',
      'files/a',
    ]
    for (const path of paths) expect([path, outcome('GET', path)]).toEqual([path, 'path_ambiguous'])
  })
})

describe('readPattern', () => {
  it('reads no pattern with a second reading', () => {
    const bad = ['', 'a', '//', '/a//b', '/./a', '/a/..', '/{a*}/b', '/{a}/{a}', '/{A}', '/a%20', '/a;b', '/a?b', '/{a']
    for (const text of bad) expect([text, readPattern(text)]).toEqual([text, undefined])
  })
})
