import { readCrl, toUtf8 } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { json, refusalOf, text } from './read-response.ts'
import type { RefusedError } from '../errors.ts'
import type { Incoming } from './transport.ts'

function incoming(body: string, more: Partial<Incoming> = {}): Incoming {
  return { status: 200, body: toUtf8(body), requestId: 'r-1', retryAfterSeconds: undefined, dateMs: undefined, ...more }
}

const context = { nowMs: 1_000_000, signed: true }

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
    expect(refusalOf(incoming(body, { status: 409 }), context)).toMatchObject({
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
    const error = refusalOf(incoming(body, { status: 409, requestId: undefined }), context) as RefusedError
    expect([error.message, error.requestId]).toEqual(Array(2).fill(String.raw`\u001b]52;c;eA==\u0007\u009b2J`))
  })

  it('has a typed code, and says when it does not know the code of a newer service', () => {
    const codes = ['conflict', 'rate_limited', 'of_a_newer_release'].map((code) => {
      const body = JSON.stringify({ error: { code, message: 'm', details: {} } })
      const error = refusalOf(incoming(body, { status: 409 }), context) as RefusedError
      return [error.code, error.receivedCode]
    })
    expect(codes).toEqual([
      ['conflict', 'conflict'],
      ['rate_limited', 'rate_limited'],
      ['unknown_code', 'of_a_newer_release'],
    ])
    const error = refusalOf(incoming('{"error":{"code":"conflict","message":"m"}}', { status: 409 }), context)
    // @ts-expect-error -- no service has this code
    expect((error as RefusedError).code === 'conflikt').toBe(false)
  })

  it.each(['', '<html>bad gateway</html>', '[]', '{"error":"no"}', '{"error":{"code":"X Y","message":"m"}}'])(
    'does not take %j for one',
    (body) => {
      expect(refusalOf(incoming(body, { status: 502 }), context)).toMatchObject({ name: 'ResponseError', status: 502 })
    },
  )

  it.each([
    ['far ahead', 600_000, true, 400],
    ['far behind', 1_400_000, true, -400],
    ['close', 900_000, true, undefined],
    ['far, on an unsigned call', 600_000, false, undefined],
  ])('says when the clock may be the reason: %s', (_name, dateMs, signed, expected) => {
    const body = '{"error":{"code":"admin_auth_failed","message":"m","details":{}}}'
    const error = refusalOf(incoming(body, { status: 401, dateMs }), { ...context, signed })
    expect(error).toHaveProperty('clockSkewSeconds', expected)
  })
})
