import { describe, expect, it } from 'vitest'
import { Router } from './router.ts'

const BINDINGS = [
  { route: { method: 'GET', path: '/verify' } },
  { route: { method: 'POST', path: '/verify' } },
  { route: { method: 'GET', path: '/nodes/{id}' } },
  { route: { method: 'GET', path: '/nodes/search' } },
  { route: { method: 'DELETE', path: '/nodes/{id}/keys/{key}' } },
  { route: { method: 'GET', path: '/agents/{id}', tail: true } },
]

function createRouter(isExact: boolean): Router<(typeof BINDINGS)[number]> {
  return new Router(BINDINGS, { isExact, servesHead: ({ route }) => route.path !== '/agents/{id}', maxLength: 16_384 })
}

describe.each([true, false])('the router (exact: %s)', (isExact) => {
  const router = createRouter(isExact)
  const find = (method: string, target: string) => {
    const found = router.find(method, target)
    return found === undefined ? undefined : [found.binding.route.path, found.params]
  }

  it('finds literal paths, before templates', () => {
    expect(find('GET', '/verify?x=1')).toEqual(['/verify', {}])
    expect(find('GET', '/nodes/search')).toEqual(['/nodes/search', {}])
    expect(find('GET', '/nodes/searching')).toEqual(['/nodes/{id}', { id: 'searching' }])
  })

  it('returns parameters as sent', () => {
    expect(find('GET', '/nodes/a%2Fb%20c%25?x=/y')).toEqual(['/nodes/{id}', { id: 'a%2Fb%20c%25' }])
    expect(find('DELETE', '/nodes/a/keys/%41')).toEqual(['/nodes/{id}/keys/{key}', { id: 'a', key: '%41' }])
    expect(find('GET', '/agents/a//b%2F/c')).toEqual(['/agents/{id}', { id: 'a//b%2F/c' }])
  })

  it('does not fold slashes, dots or case', () => {
    for (const target of ['//verify', '/verify/', '/./verify', '/Verify', '/nodes/a/', '/verify%2F', '/verify;x'])
      expect(find('GET', target)).toBeUndefined()
  })

  it('lists the methods of a path', () => {
    expect(router.methodsOf('/verify')).toEqual(['GET', 'HEAD', 'POST'])
    expect(router.methodsOf('/agents/a/b?c')).toEqual(['GET'])
    expect(router.methodsOf('/missing')).toEqual([])
  })
})

describe('another spelling of a literal segment', () => {
  it('is another path when matched exactly', () => {
    const router = createRouter(true)
    for (const target of ['/%76erify', '/nodes%2Fa', '/%6eodes/a', '/!76erify'])
      expect(router.methodsOf(target)).toEqual([])
    expect(router.find('GET', '/nodes/')).toBeUndefined()
    expect(router.find('GET', '/nodes/%ff%zz')?.params).toEqual({ id: '%ff%zz' })
  })

  it('is the same path when decoded, unless it is an encoded slash or not UTF-8', () => {
    const router = createRouter(false)
    expect(router.methodsOf('/%76erify')).toEqual(['GET', 'HEAD', 'POST'])
    expect(router.find('GET', '/%6eodes/%41')?.params).toEqual({ id: '%41' })
    expect(router.methodsOf('/nodes%2Fa')).toEqual([])
    expect(router.methodsOf('/nodes/%ff')).toEqual([])
  })
})
