import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { DescriptorOutput } from './output.ts'

function openFile(): { path: string; descriptor: number } {
  const path = join(mkdtempSync(join(tmpdir(), 'log-output-')), 'log')
  return { path, descriptor: openSync(path, 'w') }
}

describe('DescriptorOutput', () => {
  it('writes every line in order', async () => {
    const { path, descriptor } = openFile()
    const output = new DescriptorOutput(descriptor)
    const lines = Array.from({ length: 2000 }, (_, index) => `line ${index} ü\n`)
    for (const [index, line] of lines.entries()) {
      output.write(line)
      if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await vi.waitFor(() => expect(readFileSync(path, 'utf8')).toBe(lines.join('')), { timeout: 10_000 })
    expect(output.lostLines).toBe(0)
    closeSync(descriptor)
  })

  it('has written everything after flushSync', () => {
    const { path, descriptor } = openFile()
    const output = new DescriptorOutput(descriptor)
    for (let index = 0; index < 100; index += 1) output.write(`${index}\n`)
    output.flushSync()
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(101)
  })

  it('drops lines on a full disk, and nothing else fails', async () => {
    const output = new DescriptorOutput(openSync('/dev/full', 'w'))
    output.write('a\n')
    output.write('b\n')
    await vi.waitFor(() => expect(output.lostLines).toBe(2), { timeout: 10_000 })
    output.write('c\n')
    output.write('d\n')
    const started = performance.now()
    expect(() => output.flushSync()).not.toThrow()
    expect(performance.now() - started).toBeLessThan(500)
  })

  it('does not collect lines without a limit while the reader is stuck', () => {
    const { descriptor } = openFile()
    const output = new DescriptorOutput(descriptor)
    const line = 'x'.repeat(1024 * 1024)
    for (let index = 0; index < 20; index += 1) output.write(line)
    // Eight lines of 1 MiB are queued until the end of this loop turn; the rest is counted.
    expect(output.lostLines).toBe(12)
  })
})
