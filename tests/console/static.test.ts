import { gzipSync } from 'node:zlib'
import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

describe('static files', () => {
  it.each([
    ['/favicon.ico', 'image/x-icon', 'image'],
    ['/favicon.svg', 'image/svg+xml', '<svg'],
    ['/operator-console-static/logo.svg', 'image/svg+xml', '<svg'],
    ['/operator-console-static/styles.css', 'text/css; charset=utf-8', ':root'],
    ['/operator-console-static/console.js', 'text/javascript; charset=utf-8', 'data-live'],
  ])('%s is served with an ETag', async (path, type, holds) => {
    const response = await na.request('GET', path)
    expect([response.status, response.headers['content-type'], response.headers['cache-control']]).toEqual([
      200,
      type,
      'max-age=300',
    ])
    if (holds !== 'image') expect(response.text).toContain(holds)
    const again = await na.request('GET', path, { headers: { 'If-None-Match': String(response.headers['etag']) } })
    expect(again.status).toBe(304)
  })

  it('are at most 300 KiB together, compressed by a proxy', async () => {
    const paths = ['/', '/operator-console-static/console.js', '/operator-console-static/styles.css', '/favicon.svg']
    const responses = await Promise.all(paths.map((path) => na.request('GET', path)))
    const size = responses.reduce((sum, response) => sum + gzipSync(response.text).length, 0)
    expect(size).toBeLessThan(300 * 1024)
  })
})
