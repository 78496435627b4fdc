import { PassThrough } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { drain } from '../testing/run-command.suite.ts'
import { printError, printResult } from './print.ts'
import { PLAIN, chooseStyle, fields, screen, table, withProgress } from './screen.ts'
import { shellWord } from './shell-word.ts'

describe('shellWord', () => {
  it.each([
    ['./na/authority.env', './na/authority.env'],
    ['my folder', "'my folder'"],
    ["it's $(x)", "'it'\\''s $(x)'"],
  ])('%s', (given, word) => {
    expect(shellWord(given)).toBe(word)
  })
})

describe('table', () => {
  it('aligns columns and keeps rows on one line each', () => {
    const shown = table(
      ['', 'ID'],
      [
        ['active', 'p-1'],
        ['', 'a\nb'],
      ],
    )
    expect(shown.split('\n')).toEqual(['        ID', 'active  p-1', '        a\\u000ab'])
  })

  it('aligns fields', () => {
    expect(
      fields([
        ['a', '1'],
        ['long name', '2'],
      ]),
    ).toBe('  a          1\n  long name  2')
  })
})

describe('chooseStyle', () => {
  it.each([
    ['a terminal', { isTTY: true }, {}, false, true],
    ['a file', {}, {}, false, false],
    ['NO_COLOR', { isTTY: true }, { NO_COLOR: '1' }, false, false],
    ['an empty NO_COLOR', { isTTY: true }, { NO_COLOR: '' }, false, true],
    ['--no-color', { isTTY: true }, {}, true, false],
    ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false, false],
  ])('%s', (_name, output, env, isRefused, isColored) => {
    expect(chooseStyle(output, env, isRefused) !== PLAIN).toBe(isColored)
  })
})

const FORM = { json: false, quiet: false }

describe('print', () => {
  it('gives data or text, never both', () => {
    const [json, text] = [new PassThrough(), new PassThrough()]
    printResult(screen(json), { data: { a: 1 }, text: 'one' }, { ...FORM, json: true, quiet: true })
    printResult(screen(text), { data: { a: 1 }, text: 'one\n' }, FORM)
    expect([drain(json), drain(text)]).toEqual(['{"a":1}\n', 'one\n'])
  })

  it('gives only ids when asked to be quiet, and the text of a result without ids', () => {
    const [ids, none, text] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const quiet = { ...FORM, quiet: true }
    printResult(screen(ids), { text: 'two', ids: ['a-1', 'a-2'] }, quiet)
    printResult(screen(none), { text: 'nothing found', ids: [] }, quiet)
    printResult(screen(text), { text: 'one' }, quiet)
    expect([drain(ids), drain(none), drain(text)]).toEqual(['a-1\na-2\n', '', 'one\n'])
  })

  it('gives times to the second, except in JSON documents', () => {
    const text = 'until 2030-01-02T03:04:05.123456Z, {"at":"2030-01-02T03:04:05.123456Z"}'
    const short = new PassThrough()
    printResult(screen(short), { text }, FORM)
    expect(drain(short)).toBe('until 2030-01-02T03:04:05Z, {"at":"2030-01-02T03:04:05.123456Z"}\n')
  })

  it('keeps the columns of a table with times aligned', () => {
    const rows = [
      ['2030-01-02T03:04:05.123456Z', 'a'],
      ['-', 'b'],
    ]
    const short = new PassThrough()
    printResult(screen(short), { text: table(['AT', 'NAME'], rows) }, FORM)
    const lines = drain(short).trimEnd().split('\n')
    const [head = -1, ...others] = lines.map((line) => line.search(/(NAME|a|b)$/))
    expect(head).toBeGreaterThan(0)
    expect(others).toEqual([head, head])
  })

  it('gives an error with everything needed to follow it up', () => {
    const error = {
      code: 'conflict',
      message: 'No.',
      hint: 'Do this.',
      requestId: 'r-1',
      details: { a: 1 },
      exitCode: 4 as const,
    }
    const [json, text] = [new PassThrough(), new PassThrough()]
    printError(screen(json), error, true, PLAIN)
    printError(screen(text), error, false, PLAIN)
    expect(drain(json)).toBe(
      '{"error":{"code":"conflict","message":"No.","fix":"Do this.","exit_code":4,"details":{"a":1},"request_id":"r-1"}}\n',
    )
    expect(drain(text)).toBe('error: No. [conflict]\n  a: 1\n  Do this.\n  request r-1\n')
  })

  it('prints one problem per line, and escapes line breaks inside a problem', () => {
    const error = { code: 'invalid', message: 'No.', problems: ['a', 'b\nc'], hint: 'Do this.', exitCode: 1 as const }
    const text = new PassThrough()
    printError(screen(text), error, false, PLAIN)
    expect(drain(text)).toBe('error: No.\n  a\n  b\\u000ac\n  Do this.\n')
  })
})

describe('withProgress', () => {
  async function shown(ms: number, showProgress: boolean): Promise<string> {
    vi.useFakeTimers()
    try {
      const stderr = new PassThrough()
      const work = withProgress({ stderr: screen(stderr), showProgress }, 'Waiting', async ({ update }) => {
        await new Promise((resolve) => setTimeout(resolve, ms))
        update('Still waiting')
      })
      await vi.advanceTimersByTimeAsync(ms)
      await work
      return drain(stderr)
    } finally {
      vi.useRealTimers()
    }
  }

  it('is silent for a second and off a terminal', async () => {
    expect(await shown(900, true)).toBe('')
    expect(await shown(5000, false)).toBe('')
  })

  it('shows a line and removes it', async () => {
    expect(await shown(1500, true)).toBe('\r\u001b[2KWaiting …\r\u001b[2KStill waiting …\r\u001b[2K')
  })
})
