import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Campaign } from '../campaigns/lib/campaign.ts'
import { runRaces } from '../campaigns/faults/races.ts'
import { CAMPAIGNS, lastLine, runCampaign, runCampaignCommand } from './campaign-run.ts'

/** Returns the files that export a default count: each of them is a campaign. */
async function campaignFiles(): Promise<string[]> {
  const files = globSync('**/*.ts', { cwd: CAMPAIGNS })
  const texts = await Promise.all(files.map((file) => readFile(join(CAMPAIGNS, file), 'utf8')))
  return files.filter((_, index) => /^export const defaultCount\b/m.test(texts[index] ?? '')).sort()
}

/** federation-model has its own file, and restore runs at night in one. All other campaigns run at night: campaigns.nightly.test.ts. */
describe('campaigns before each merge', () => {
  it.each<[string, number, () => Promise<Pick<Campaign, 'run'>>]>([
    // The races with one winner. The others run at night, and that of retention, which needs another clock.
    ['races', 1, async () => ({ run: (options) => runRaces({ ...options, callers: 10, isShort: true }) })],
    ['replay', 16, () => import('../campaigns/faults/replay.ts')],
    // The seed chooses the patterns. All 720 cases run at night.
    ['clock', 24, () => import('../campaigns/clock/clock.ts')],
    ['trusted-at', 25, () => import('../campaigns/history/trusted-at.ts')],
    ['witness', 25, () => import('../campaigns/evidence/witness.ts')],
  ])(
    '%s finds no violation in %i cases',
    async (name, count, load) => {
      expect(await runCampaign(name, await load(), { count })).toEqual({ cases: count, violations: 0 })
    },
    300_000,
  )
})

describe('campaign json-differential', () => {
  it('counts every disagreement and fails', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-campaign-'))
    try {
      // A reference that reads everything as 1.
      await writeFile(join(folder, 'python3'), '#!/bin/sh\nsed s/.*/=1/ "$2" > "$3"\n')
      await chmod(join(folder, 'python3'), 0o755)
      const path = [folder, process.env['PATH'] ?? ''].join(delimiter)
      const outcome = await runCampaignCommand(['json-differential', '--count', '500', '--seed', '1'], path)
      expect(lastLine(outcome).violations).toBeGreaterThan(400)
      expect(outcome.code).toBe(1)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('makes the same documents from the same seed', async () => {
    const [once, again] = await Promise.all(
      ['5', '5'].map((seed) => runCampaignCommand(['json-differential', '--count', '300', '--seed', seed])),
    )
    expect(once?.lines).toEqual(again?.lines)
  })
})

describe('campaign runner', () => {
  it('lists each campaign once', async () => {
    const { code, lines, problem } = await runCampaignCommand(['--list'])
    expect(code, problem).toBe(0)
    const names = lines.map((line) => line.split(':')[0])
    expect(new Set(names).size).toBe(names.length)
    expect(names.length).toBe((await campaignFiles()).length)
    const listed = await readFile(join(CAMPAIGNS, 'run.ts'), 'utf8')
    expect((await campaignFiles()).filter((file) => !listed.includes(`import('./${file}')`))).toEqual([])
  })

  it.each([
    [[]],
    [['unknown']],
    [['weak-keys', 'json-differential']],
    [['weak-keys', '--all']],
    [['weak-keys', '--count', '0']],
    [['weak-keys', '--what']],
  ])('refuses the call %j with code 2', async (args) => {
    const { code, problem } = await runCampaignCommand(args)
    expect(code).toBe(2)
    expect(problem).not.toBe('')
  })
})
