import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findSodium } from '../../packages/protocol/src/signing/sodium.ts'

const RUN = join(import.meta.dirname, '..', 'campaigns', 'run.ts')

interface Outcome {
  readonly code: number
  readonly lines: string[]
  readonly problem: string
}

/** The command of `npm run campaign`, without npm. */
function campaign(args: string[], path = process.env['PATH'] ?? ''): Promise<Outcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, PATH: path }
    execFile(process.execPath, ['--conditions=development', RUN, ...args], { env }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, lines: stdout.trimEnd().split('\n'), problem: stderr })
    })
  })
}

/** Whatever file says how often it runs by default is a campaign. */
async function campaignFiles(): Promise<string[]> {
  const folder = dirname(RUN)
  const names: string[] = []
  for (const file of await readdir(folder)) {
    const isCampaign =
      file.endsWith('.ts') && /^export const defaultCount\b/m.test(await readFile(join(folder, file), 'utf8'))
    if (isCampaign) names.push(basename(file, '.ts'))
  }
  return names.sort()
}

function lastLine({ lines }: Outcome): { name: string; cases: number; violations: number; seed: number } {
  return JSON.parse(lines.at(-1) ?? '') as ReturnType<typeof lastLine>
}

describe('campaign json-differential', () => {
  it('finds no document that our reader and the reference treat differently', async () => {
    const outcome = await campaign(['json-differential', '--count', '20000'])
    const { seed, ...result } = lastLine(outcome)
    // Printed always: with it the same documents can be made again.
    process.stdout.write(`json-differential seed ${seed}\n`)
    expect(outcome.lines[0]).toBe(`seed ${seed}`)
    expect({ ...result, lines: outcome.lines }).toMatchObject({
      name: 'json-differential',
      cases: 20_000,
      violations: 0,
    })
    expect(outcome.code).toBe(0)
  })

  it('counts every disagreement and fails', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-campaign-'))
    try {
      // A reference that reads everything as 1.
      await writeFile(join(folder, 'python3'), '#!/bin/sh\nsed s/.*/=1/ "$2" > "$3"\n')
      await chmod(join(folder, 'python3'), 0o755)
      const path = [folder, process.env['PATH'] ?? ''].join(delimiter)
      const outcome = await campaign(['json-differential', '--count', '500', '--seed', '1'], path)
      expect(lastLine(outcome).violations).toBeGreaterThan(400)
      expect(outcome.code).toBe(1)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('makes the same documents from the same seed', async () => {
    const [once, again] = await Promise.all(
      ['5', '5'].map((seed) => campaign(['json-differential', '--count', '300', '--seed', seed])),
    )
    expect(once?.lines).toEqual(again?.lines)
  })
})

describe('campaign weak-keys', () => {
  it('finds no forgery that either backend accepts', async () => {
    const outcome = await campaign(['weak-keys', '--seed', '0'])
    // 14 keys, 14 points and 64 messages under node:crypto and WebCrypto, and under libsodium where it is installed.
    const backends = findSodium() === undefined ? 2 : 3
    expect(lastLine(outcome)).toEqual({ name: 'weak-keys', cases: backends * 12_544, violations: 0, seed: 0 })
  })
})

describe('campaign discovery-model', () => {
  it('finds no life of an agent that the model does not know', async () => {
    const outcome = await campaign(['discovery-model', '--count', '300'])
    const { seed, ...result } = lastLine(outcome)
    process.stdout.write(`discovery-model seed ${seed}\n`)
    expect({ ...result, lines: outcome.lines }).toMatchObject({ name: 'discovery-model', cases: 300, violations: 0 })
    expect(outcome.code).toBe(0)
  }, 180_000)
})

describe('campaigns of the trust operations', () => {
  it.each([
    ['trust-mutation', 12_000],
    ['merkle', 2000],
    ['consensus-model', 1000],
  ])(
    '%s finds nothing in %i cases',
    async (name, count) => {
      const outcome = await campaign([name, '--count', String(count)])
      const { seed, ...result } = lastLine(outcome)
      process.stdout.write(`${name} seed ${seed}\n`)
      expect({ ...result, lines: outcome.lines }).toMatchObject({ name, cases: count, violations: 0 })
      expect(outcome.code).toBe(0)
    },
    120_000,
  )
})

describe('campaign runner', () => {
  it('lists the campaigns', async () => {
    const { code, lines } = await campaign(['--list'])
    expect(lines.map((line) => line.split(':')[0])).toEqual(await campaignFiles())
    expect(code).toBe(0)
  })

  it.each([
    [[]],
    [['unknown']],
    [['weak-keys', 'json-differential']],
    [['weak-keys', '--count', '0']],
    [['weak-keys', '--what']],
  ])('refuses the call %j with code 2', async (args) => {
    const { code, problem } = await campaign(args)
    expect(code).toBe(2)
    expect(problem).not.toBe('')
  })
})
