import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openNetwork } from '../../real-authority.suite.ts'
import type { RealNetwork } from '../../real-authority.suite.ts'

const PAGE = join(import.meta.dirname, '../../../../../docs/tutorial/boundary-policies.md')
const shell = promisify(execFile)

let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork()
})
afterAll(() => network.close())

interface Step {
  readonly lines: readonly string[]
  readonly promised: readonly string[]
}

/** Every block of commands with the block of text that follows it. */
function readSteps(markdown: string): readonly Step[] {
  const blocks = [...markdown.matchAll(/^```(sh run|text)\n([\s\S]*?)^```$/gm)]
  return blocks.flatMap(([, kind, text = ''], index) => {
    if (kind !== 'sh run') return []
    const next = blocks[index + 1]
    const promised = next?.[1] === 'text' ? (next[2] ?? '').trimEnd().split('\n') : []
    return [{ lines: text.trimEnd().split('\n'), promised }]
  })
}

/** Commands of ours run in this process, others in a shell; both in the folder of the reader. */
async function runLine(line: string): Promise<string> {
  if (!line.startsWith('chancery ')) {
    await shell('sh', ['-c', line], { cwd: network.world.path('.') })
    return ''
  }
  const mayFail = line.endsWith(' || true')
  const { code, stdout, stderr } = await network.asOperator(line.slice('chancery '.length).replace(' || true', ''))
  if (code !== 0 && !mayFail) throw new Error(`${line} ended with ${code}: ${stderr}`)
  return `${stdout}\n${stderr}`
}

/** Promised lines stand in the output, in their order; … stands for anything. */
function missing(promised: readonly string[], output: string): string | undefined {
  const lines = output.split('\n')
  let at = 0
  for (const promise of promised.filter((line) => line.trim() !== '')) {
    const parts = promise
      .trim()
      .split('…')
      .map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    const pattern = new RegExp(`^\\s*${parts.join('.*').replaceAll(/ +/g, ' +')}\\s*$`)
    const found = lines.findIndex((line, index) => index >= at && pattern.test(line))
    if (found === -1) return promise
    at = found + 1
  }
  return undefined
}

describe('the walk through boundary policies', () => {
  it('shows what its page promises, step by step', async () => {
    const steps = readSteps(await readFile(PAGE, 'utf8'))
    expect(steps).toHaveLength(6)
    for (const { lines, promised } of steps) {
      let output = ''
      for (const line of lines) output += await runLine(line)
      expect(promised.length).toBeGreaterThan(0)
      expect(missing(promised, output), output).toBeUndefined()
    }
  })
})
