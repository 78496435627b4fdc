import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ConformanceCase, readCaseFiles, runCases } from './run-cases.ts'

const EXAMPLES = join(import.meta.dirname, '..', 'examples')
const LIBRARY = [
  process.execPath,
  '--conditions=development',
  join(import.meta.dirname, '../../../examples/conformance/library.mjs'),
]

describe('the conformance cases', () => {
  it('all hold for the library', async () => {
    const files = await readCaseFiles()
    // A missing case must be detected: the figures change only together with the golden values.
    expect(Object.fromEntries(files.map(({ group, cases }) => [group, cases.length]))).toEqual({
      canonical: 289,
      evidence: 13,
      policies: 65,
      records: 137,
      signatures: 934,
      verdicts: 67,
    })
    for (const { cases } of files) {
      const results = await runCases(cases, { command: LIBRARY })
      expect(results.filter(({ status }) => status !== 'passed')).toEqual([])
    }
  })

  it('run against a program in another language, which supports a part', async () => {
    for (const { group, cases } of await readCaseFiles()) {
      const results = await runCases(cases, { command: ['python3', join(EXAMPLES, 'python.py')] })
      const statuses = new Set(results.map(({ status }) => status))
      expect(statuses.has('failed')).toBe(false)
      if (group === 'canonical' || group === 'records') expect(statuses.has('passed')).toBe(true)
    }
  })
})

describe('runCases', () => {
  const cases: readonly ConformanceCase[] = [
    { id: 'a', operation: 'sha256', input: { text: '' }, expected: { sha256: 'x' } },
    { id: 'b', operation: 'sha256', input: { text: '' }, expected: { sha256: 'x' } },
  ]
  const program = (source: string): readonly string[] => [process.execPath, '--eval', source]
  const run = (source: string, timeoutMs = 20_000) => runCases(cases, { command: program(source), timeoutMs })

  it('fails a wrong answer and accepts answers in any order', async () => {
    const results = await run(
      `console.log('{"id":"b","output":{"sha256":"x"}}'); console.log('{"id":"a","output":{"sha256":"y"}}')`,
    )
    expect(results).toEqual([
      { id: 'a', status: 'failed', detail: 'gave {"sha256":"y"} instead of {"sha256":"x"}' },
      { id: 'b', status: 'passed', detail: null },
    ])
  })

  it.each([
    ['console.log("hello")', 'no JSON'],
    ['console.log("[]")', 'no id of a case'],
    [`for (const _ of [1, 2]) console.log('{"id":"b"}')`, 'a second answer to b'],
    ['process.exit(3)', 'exit code 3'],
  ])('says what is wrong with %s', async (source, detail) => {
    const [first] = await run(source)
    expect(first?.status).toBe('failed')
    expect(first?.detail).toContain(detail)
  })

  it('ends a program that gives no answer', async () => {
    const [first] = await run('setInterval(() => {}, 1000)', 300)
    expect(first?.detail).toContain('no answer for 300 ms')
  })

  // Before, each of them kept the runner as long as it ran, and the first two filled its memory.
  it.each([
    ['writes lines that are no answers', `setInterval(() => console.log('x'), 10)`, 'no answer for 1000 ms'],
    [
      'writes a line without an end',
      `process.stdout.write('x'.repeat(2e6)); setInterval(() => {}, 1000)`,
      'a line has more',
    ],
    [
      'leaves a process that holds its output',
      `require('node:child_process').spawn('sleep', ['20'], { stdio: 'inherit' }); setInterval(() => {}, 1000)`,
      'no answer for 1000 ms',
    ],
  ])('ends a program that %s', { timeout: 15_000 }, async (_, source, detail) => {
    const [first] = await run(source, 1000)
    expect(first?.detail).toContain(detail)
  })

  it('says that a program did not start', async () => {
    const [first] = await runCases(cases, { command: ['./no-such-program'] })
    expect(first?.detail).toContain('did not start')
  })
})
