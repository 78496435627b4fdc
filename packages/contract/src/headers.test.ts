import { describe, expect, it } from 'vitest'
import { CACHE_CONTROL, OPERATOR_HEADERS, REQUEST_ID_PATTERN, SECURITY_HEADERS } from './headers.ts'

describe('headers', () => {
  it('name the four operator headers', () => {
    expect(Object.values(OPERATOR_HEADERS)).toEqual([
      'X-Admin-Key-Id',
      'X-Admin-Timestamp',
      'X-Admin-Nonce',
      'X-Admin-Signature',
    ])
  })

  it('forbid inline script and style, framing, sniffing and storing', () => {
    const directives = SECURITY_HEADERS['Content-Security-Policy'].split('; ')
    expect(directives).toEqual([
      "default-src 'self'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "object-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'self'",
      "form-action 'self'",
    ])
    expect(SECURITY_HEADERS).toMatchObject({
      'X-Frame-Options': 'DENY',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    })
  })

  it('let public material be cached for half a minute and the genesis block for five', () => {
    expect(CACHE_CONTROL.publishedDocuments).toBe('public, max-age=30, must-revalidate')
    expect(CACHE_CONTROL.genesis).toBe('public, max-age=300, must-revalidate')
    expect(CACHE_CONTROL.staticFile).toBe('max-age=300')
    expect(CACHE_CONTROL.fileWithDigest).toBe('public, max-age=31536000, immutable')
  })

  it.each([
    ['req-1.a_b:C', true],
    ['a'.repeat(128), true],
    ['a'.repeat(129), false],
    ['', false],
    ['two words', false],
    ['line\nbreak', false],
    ['tail\n', false],
    ['ünicode', false],
  ])('accepts the request id %j: %s', (id, echoed) => {
    expect(REQUEST_ID_PATTERN.test(id)).toBe(echoed)
  })
})
