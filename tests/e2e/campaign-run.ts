import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { COMPILE_CACHE } from '@chancery/testkit'
import { expect } from 'vitest'
import type { Campaign, CampaignOptions, CampaignResult } from '../campaigns/lib/campaign.ts'

export const CAMPAIGNS: string = join(import.meta.dirname, '..', 'campaigns')

export interface Outcome {
  readonly code: number
  readonly lines: string[]
  readonly problem: string
}

/** Runs the command of `npm run campaign`, without npm. */
export function runCampaignCommand(args: string[], path = process.env['PATH'] ?? ''): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...COMPILE_CACHE, PATH: path } }
    const run = join(CAMPAIGNS, 'run.ts')
    execFile(process.execPath, ['--conditions=development', run, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, lines: stdout.trimEnd().split('\n'), problem: stderr })
    })
  })
}

export function lastLine({ lines }: Outcome): { name: string; cases: number; violations: number; seed: number } {
  return JSON.parse(lines.at(-1) ?? '') as ReturnType<typeof lastLine>
}

/** Runs a campaign with a new seed and prints the seed, so that the same cases can be repeated. */
export async function runCampaign(
  name: string,
  campaign: Pick<Campaign, 'run'>,
  options: Omit<CampaignOptions, 'seed' | 'log'>,
): Promise<CampaignResult> {
  const seed = randomInt(2 ** 32)
  process.stdout.write(`${name} seed ${seed}\n`)
  const lines: string[] = []
  const result = await campaign.run({ ...options, seed, log: (line) => lines.push(line) })
  expect(result.violations === 0 ? [] : lines, `${name}, seed ${seed}`).toEqual([])
  expect(lines.filter((line) => line.startsWith('violation'))).toEqual([])
  return result
}
