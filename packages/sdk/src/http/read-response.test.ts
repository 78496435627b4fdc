import { readCrl, toUtf8 } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { json, refusalOf, text } from './read-response.ts'
import { type RefusedError, isRefused } from '../errors.ts'
import type { Incoming } from './transport.ts'

function incoming(body: string, more: Partial<Incoming> = {}): Incoming {
  return { status: 200, body: toUtf8(body), requestId: 'r-1', retryAfterSeconds: undefined, dateMs: undefined, ...more }
}

const NOW_MS = 1_000_000

describe('json', () => {
  it('reads what the strict reader reads', () => {
    expect(json((value) => value)(incoming('{"a":1}'))).toEqual({ a: 1 })
  })

  it.each(['', '<html>', '{"a":1,"a":2}', '{} x', '\ufeff{}'])('refuses %j', (body) => {
    expect(() => json((value) => value)(incoming(body))).toThrow('cannot be used')
  })

  it('names the place of a malformed record and none of its values', () => {
    const read = (): unknown => json(readCrl)(incoming('{"crl_id":"canary-value"}'))
    expect(read).toThrow('sequence: is missing')
    expect(read).toThrow(/^(?!.*canary)/)
  })

  it('takes lists far beyond the bounds of a request body', () => {
    const values = `[${Array.from({ length: 60_000 }, () => '0').join(',')}]`
    expect(json((value) => value)(incoming(values))).toHaveLength(60_000)
  })
})

describe('text', () => {
  it('refuses bytes that are not UTF-8', () => {
    expect(() => text(incoming('', { body: Uint8Array.of(0xff) }))).toThrow('not UTF-8')
  })
})

describe('refusalOf', () => {
  it('reads the envelope', () => {
    const body = '{"error":{"code":"conflict","message":"No.","details":{"a":1},"request_id":"r-2"}}'
    expect(refusalOf(incoming(body, { status: 409 }), NOW_MS)).toMatchObject({
      name: 'ConflictError',
      status: 409,
      code: 'conflict',
      message: 'No.',
      details: { a: 1 },
      requestId: 'r-1',
    })
  })

  it('shows no control characters of a server in what is printed', () => {
    const evil = '\u001b]52;c;eA==\u0007\u009b2J'
    const body = JSON.stringify({ error: { code: 'conflict', message: evil, details: {}, request_id: evil } })
    const error = refusalOf(incoming(body, { status: 409, requestId: undefined }), NOW_MS) as RefusedError
    expect([error.message, error.requestId]).toEqual(Array(2).fill(String.raw`\u001b]52;c;eA==\u0007\u009b2J`))
  })

  it('has a typed code, and that of a newer service as it came', () => {
    const codes = ['conflict', 'of_a_newer_release'].map((code) => {
      const body = JSON.stringify({ error: { code, message: 'm', details: {} } })
      return (refusalOf(incoming(body, { status: 409 }), NOW_MS) as RefusedError).code
    })
    expect(codes).toEqual(['conflict', 'of_a_newer_release'])
  })

  it('has the reason of a gateway as its code: the code there is the class of the status', () => {
    const body = '{"error":"Not yours.","code":"forbidden","reason":"network_scope"}'
    const error = refusalOf(incoming(body, { status: 403 }), NOW_MS)
    expect(error).toMatchObject({ code: 'network_scope', service: 'gateway', message: 'Not yours.' })
    expect(isRefused(error, 'network_scope')).toBe(true)
    expect(isRefused(error, 'service_scope')).toBe(false)
  })

  it.each(['', '<html>bad gateway</html>', '[]', '{"error":"no"}', '{"error":{"code":"X Y","message":"m"}}'])(
    'does not take %j for one',
    (body) => {
      expect(refusalOf(incoming(body, { status: 502 }), NOW_MS)).toMatchObject({ name: 'ResponseError', status: 502 })
    },
  )

  it.each([
    ['far ahead', 600_000, 400, true],
    ['far behind', 1_400_000, -400, true],
    ['30 s ahead', 970_000, 30, true],
    ['close', 980_000, 20, false],
    ['unknown', undefined, undefined, false],
  ])('measures the clock, and names it from 30 s on: %s', (_name, dateMs, offset, isNamed) => {
    const body = '{"error":{"code":"admin_auth_failed","message":"m","details":{}}}'
    const error = refusalOf(incoming(body, { status: 401, dateMs }), NOW_MS)
    expect(error).toHaveProperty('clockOffsetSeconds', offset)
    expect(error.message.includes('The clock of this machine')).toBe(isNamed)
  })
})
