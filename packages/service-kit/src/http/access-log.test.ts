import { describe, expect, it } from 'vitest'
import { createLog } from '../log/log.ts'
import type { LogLevel } from '../log/fields.ts'
import { type AccessEntry, AccessLog, type AccessLogOptions, accessLogEvery } from './access-log.ts'

const ORDINARY: AccessEntry = {
  requestId: 'r-1',
  route: 'GET /crl',
  status: 200,
  milliseconds: 1.236,
  caller: 'anonymous',
  code: undefined,
  cause: undefined,
  isProbe: false,
}

function notes(
  entries: readonly Partial<AccessEntry>[],
  options: Partial<AccessLogOptions> = {},
  level: LogLevel = 'info',
) {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  const log = createLog({ level, format: 'json', destination })
  const access = new AccessLog({ log, instance: 'na-1', every: 1, ...options })
  for (const entry of entries) access.note({ ...ORDINARY, ...entry })
  return lines.map(({ time: _time, ...line }) => line)
}

describe('an access line', () => {
  it('contains caller, route, status, duration and request id', () => {
    expect(notes([{}, { status: 404, code: 'not_found', caller: 'known' }])).toEqual([
      {
        level: 'info',
        event: 'request',
        request_id: 'r-1',
        route: 'GET /crl',
        status: 200,
        duration_ms: 1.24,
        caller: 'anonymous',
        instance: 'na-1',
      },
      expect.objectContaining({ level: 'info', status: 404, code: 'not_found', caller: 'known' }),
    ])
  })

  it('of a failure has level error with message and cause, with any part of the others', () => {
    const cause = new Error('no answer\n{"level":"info"}', { cause: new Error('connect ECONNREFUSED') })
    const options = { every: 0 }
    const [line, ...more] = notes([{}, { status: 503, code: 'service_unavailable', cause }], options, 'error')
    expect(more).toEqual([])
    expect(line).toMatchObject({
      level: 'error',
      code: 'service_unavailable',
      message: 'Error: no answer\\u000a{"level":"info"}',
      cause: 'Error: connect ECONNREFUSED',
    })
  })

  it('is written for a sample of ordinary requests, and for every refusal and slow request', () => {
    const many = Array.from({ length: 30 }, (_, index) => ({ requestId: `r-${index + 1}` }))
    const ids = (lines: readonly Record<string, unknown>[]): unknown[] => lines.map((line) => line['request_id'])
    expect(ids(notes(many, { every: 10 }))).toEqual(['r-10', 'r-20', 'r-30'])
    const others = [{ status: 429 }, { milliseconds: 1000 }, { milliseconds: 999 }]
    expect(notes(others, { every: 10 })).toHaveLength(2)
  })

  it('is left out below the level, and of successful and failed probes unless the level is debug', () => {
    expect(notes([{}, { status: 404 }], {}, 'warn')).toEqual([])
    expect(notes([{}, { status: 404 }, { milliseconds: 1000 }], { every: 0 })).toEqual([])
    expect(notes([{ isProbe: true, status: 503 }])).toEqual([])
    expect(notes([{ isProbe: true, status: 503 }], {}, 'debug')).toMatchObject([{ level: 'debug', status: 503 }])
  })
})

describe('the setting', () => {
  it.each<[string, number]>([
    ['all', 1],
    ['failures', 0],
    ['1/1', 1],
    ['1/100', 100],
    ['1/1000000', 1_000_000],
  ])('reads %s', (text, every) => expect(accessLogEvery(text)).toBe(every))

  it.each(['', 'off', 'ALL', '0', '100', '1/0', '1/01', '2/100', '1/1000001', '1/ 10', '1/10 '])(
    'refuses "%s"',
    (text) => expect(() => accessLogEvery(text)).toThrow('must be all, failures, or a part such as 1/100'),
  )
})
