import { describe, expect, it } from 'vitest'
import { type Log, type LogFormat, createLog, silentLog } from './log.ts'
import type { LogLevel } from './fields.ts'

function capture(format: LogFormat, level: LogLevel = 'trace') {
  const lines: string[] = []
  let flushes = 0
  const destination = { write: (line: string) => lines.push(line), flushSync: () => (flushes += 1) }
  const clock = { now: () => 1_767_323_045_678_000n, monotonicMs: () => 0 }
  return { log: createLog({ level, format, destination, clock }), lines, flushes: () => flushes }
}

describe('json', () => {
  it('writes one line per event with time, level as a word and the fields', () => {
    const { log, lines } = capture('json')
    log.info('started', { port: 8443, host: 'a\nb' })
    expect(lines).toEqual([
      '{"level":"info","time":"2026-01-02T03:04:05.678000Z","event":"started","port":8443,"host":"a\\\\u000ab"}\n',
    ])
  })

  it('writes one line for any field value', () => {
    const { log, lines } = capture('json')
    log.error('a\nb', { error: new Error('x\ny'), text: '\u2028"\\' })
    expect(lines).toHaveLength(1)
    expect(lines[0]?.indexOf('\n')).toBe((lines[0]?.length ?? 0) - 1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'a\\u000ab', error: 'Error', message: 'x\\u000ay' })
  })

  it('hides secrets, also in a child log', () => {
    const { log, lines } = capture('json')
    log.child({ session_token: 'hunter2' }).error('x', { password: 'hunter2', deep: { password: 'hunter2' } })
    expect(lines.join('')).not.toContain('hunter2')
  })
})

describe('text', () => {
  it('writes a readable line and quotes where needed', () => {
    const { log, lines } = capture('text')
    log.warn('slow answer', { route: 'a.b', note: 'two words', empty: '', ms: 12 })
    expect(lines).toEqual(['2026-01-02T03:04:05.678000Z WARN  slow answer route=a.b note="two words" empty="" ms=12\n'])
  })

  it('indents frames, so that no line of them looks like an event', () => {
    const { log, lines } = capture('text')
    log.error('failed', { error: new Error('x\n2026-01-02T03:04:05Z INFO  forged') })
    const [first, ...rest] = (lines[0] ?? '').trimEnd().split('\n')
    expect(first).toContain('ERROR failed error=Error message=')
    expect(rest.length).toBeGreaterThan(0)
    for (const line of rest) expect(line).toMatch(/^ {4}at /)
  })
})

describe('levels', () => {
  it.each<[LogLevel, string[]]>([
    ['trace', ['trace', 'debug', 'info', 'warn', 'error', 'fatal']],
    ['info', ['info', 'warn', 'error', 'fatal']],
    ['fatal', ['fatal']],
  ])('%s', (level, written) => {
    const { log, lines } = capture('json', level)
    for (const name of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) log[name](name)
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(written)
  })

  it('flushes after a fatal event and on demand', () => {
    const { log, flushes } = capture('text')
    log.error('x')
    expect(flushes()).toBe(0)
    log.fatal('x')
    expect(flushes()).toBe(1)
    log.flush()
    expect(flushes()).toBe(2)
  })
})

describe('child', () => {
  it('adds its fields to every event, each once; the field of the innermost log wins', () => {
    const { log, lines } = capture('text')
    const child: Log = log.child({ request_id: 'r1', route: 'x' }).child({ route: 'y' })
    child.info('a')
    child.info('b', { route: 'z' })
    log.info('c')
    expect(lines.map((line) => line.slice(34).trimEnd())).toEqual([
      'a request_id=r1 route=y',
      'b request_id=r1 route=z',
      'c',
    ])
  })
})

it('silentLog writes nothing and can have children', () => {
  expect(() => silentLog.child({ a: 1 }).fatal('x', { error: new Error('x') })).not.toThrow()
})

describe('an outage', () => {
  it('is written once a minute for each event and cause, in short, with the number of lines left out', () => {
    const lines: string[] = []
    let atMs = 0
    const log = createLog({
      level: 'info',
      format: 'json',
      destination: { write: (line) => lines.push(line) },
      clock: { now: () => 1_767_323_045_678_000n, monotonicMs: () => atMs },
      isOutage: (error) => error.message.startsWith('away'),
    })
    const away = new Error('away: db.example')
    for (const job of ['a', 'b', 'c']) log.child({ job }).error('job keeps failing', { alarm: true, error: away })
    log.warn('job keeps failing', { error: new Error('away: other.example') })
    log.warn('infrastructure failed', { error: away })
    log.error('job keeps failing', { error: new Error('a bug') })
    log.error('job keeps failing', { error: new Error('a bug') })
    atMs = 60_000
    log.error('job keeps failing', { error: away })
    atMs = 120_000
    log.error('job keeps failing', { error: away })
    const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(found.map(({ event, job, message, cause, left_out }) => [event, job, message ?? cause, left_out])).toEqual([
      ['job keeps failing', 'a', 'away: db.example', undefined],
      ['job keeps failing', undefined, 'away: other.example', undefined],
      ['infrastructure failed', undefined, 'away: db.example', undefined],
      ['job keeps failing', undefined, 'a bug', undefined],
      ['job keeps failing', undefined, 'a bug', undefined],
      ['job keeps failing', undefined, 'away: db.example', 2],
      ['job keeps failing', undefined, 'away: db.example', undefined],
    ])
    expect(found.map(({ stack }) => stack !== undefined)).toEqual([false, false, false, true, true, false, false])
  })

  it('of the start is written whole, because the process ends', () => {
    const lines: string[] = []
    const destination = { write: (line: string) => lines.push(line) }
    const log = createLog({ level: 'info', format: 'json', destination, isOutage: () => true })
    log.error('start failed', { error: new Error('away') })
    log.fatal('start failed', { error: new Error('away') })
    expect(lines.map((line) => line.includes('"stack"'))).toEqual([false, true])
  })
})
