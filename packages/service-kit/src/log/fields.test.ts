import { describe, expect, it } from 'vitest'
import { StartError } from '../settings/start-error.ts'
import { toError, toLogRecord } from './fields.ts'

describe('toLogRecord', () => {
  it.each<[string, unknown, unknown]>([
    ['a text', 'x', 'x'],
    ['a text with a line end', 'a\nb', 'a\\u000ab'],
    ['a long text', 'x'.repeat(257), `${'x'.repeat(256)}…`],
    ['a number', 1.5, 1.5],
    ['not a number', Number.NaN, 'NaN'],
    ['a big number', 2n ** 64n, '18446744073709551616'],
    ['a boolean', false, false],
    ['null', null, null],
    ['an object', { inner: 'hunter2' }, '[object]'],
    ['bytes', new Uint8Array([1]), '[object]'],
    ['a function', () => 1, '[function]'],
    ['an error under another name than error', new RangeError('hunter2'), 'RangeError'],
  ])('keeps %s', (_name, value, kept) => {
    expect(toLogRecord('error', { field: value })).toEqual({ field: kept })
  })

  it('leaves undefined out', () => {
    expect(toLogRecord('info', { a: undefined })).toEqual({})
  })

  it.each([
    'signature',
    'X-Request-Signature',
    'nonce',
    'session_token',
    'clientSecret',
    'password',
    'key_seed',
    'privateKey',
    'Authorization',
    'set-cookie',
    'request_body',
  ])('hides a field named %s', (name) => {
    expect(toLogRecord('error', { [name]: 'hunter2' })).toEqual({ [name]: '[redacted]' })
    expect(JSON.stringify(toLogRecord('error', { [name]: new Error('hunter2') }))).not.toContain('hunter2')
  })

  it('does not let a field replace a name that every event has', () => {
    expect(toLogRecord('info', { time: 1, level: 2, event: 3 })).toEqual({ time_: 1, level_: 2, event_: 3 })
  })

  it.each(['trace', 'debug', 'info', 'warn'] as const)('keeps only class and code of an error at %s', (level) => {
    const error = Object.assign(new TypeError('hunter2'), { code: 'ECONNREFUSED' })
    expect(toLogRecord(level, { error })).toEqual({ error: 'TypeError', error_code: 'ECONNREFUSED' })
  })

  it('says in one line why a database or Redis is not available', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { code: 'ECONNREFUSED' })
    class Unavailable extends Error {
      override readonly name = 'Unavailable'
    }
    const expected = { error_code: 'ECONNREFUSED', cause: 'connect ECONNREFUSED 10.0.0.5:5432' }
    expect(toLogRecord('warn', { error: new Unavailable('hunter2', { cause }) })).toEqual({
      error: 'Unavailable',
      ...expected,
    })
    const both = Object.assign(new AggregateError([cause]), { code: 'ECONNREFUSED' })
    expect(toLogRecord('warn', { error: both })).toEqual({ error: 'AggregateError', ...expected })
    expect(toLogRecord('warn', { error: new Error('Socket closed unexpectedly') })).toEqual({
      error: 'Error',
      cause: 'Socket closed unexpectedly',
    })
  })

  it.each(['error', 'fatal'] as const)('keeps message and frames of an error at %s', (level) => {
    const record = toLogRecord(level, { error: new TypeError('odd') })
    expect(record).toMatchObject({ error: 'TypeError', message: 'odd' })
    expect(record['stack']).toMatch(/^at .*fields\.test\.ts/)
  })

  it('logs the causes and their code, also when they form a circle', () => {
    const inner: Error = Object.assign(new RangeError('inner'), { code: '23505' })
    const outer = new Error('outer', { cause: inner })
    inner.cause = outer
    const record = toLogRecord('error', { error: outer })
    expect(record['error_code']).toBe('23505')
    expect(record['stack']).toContain('\ncaused by RangeError: inner\nat ')
  })

  it('does not let a message forge a frame', () => {
    class Named extends Error {
      override readonly name = 'Named'
    }
    for (const error of [new Error('x\n    at forged (evil.ts:1:1)'), new Named('x\n    at forged (evil.ts:1:1)')]) {
      const { stack, message } = toLogRecord('error', { error })
      expect(stack).not.toContain('forged')
      expect(stack).toMatch(/^at /)
      expect(message).toBe('x\\u000a    at forged (evil.ts:1:1)')
    }
  })

  it('shows an expected error with its causes and without frames', () => {
    const cause = new RangeError('address in use')
    expect(toLogRecord('fatal', { error: new StartError('PORT: in use', { cause }) })).toEqual({
      error: 'StartError',
      message: 'PORT: in use',
      stack: 'caused by RangeError: address in use',
    })
    expect(toLogRecord('fatal', { error: new StartError('alone') })).not.toHaveProperty('stack')
  })

  it('limits the stack', () => {
    const error = new Error('deep')
    error.stack = `Error: deep${'\n    at f (file.ts:1:1)'.repeat(10_000)}`
    expect(String(toLogRecord('error', { error })['stack'])).toHaveLength(4096)
  })
})

describe('toError', () => {
  it('keeps errors and wraps everything else', () => {
    const error = new Error('x')
    expect(toError(error)).toBe(error)
    expect(toError('text').message).toBe('thrown: text')
    expect(toError({ password: 'hunter2' }).message).toBe('thrown: object')
    expect(toError(undefined).message).toBe('thrown: undefined')
  })
})
