import { chmod, rename, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PLAIN } from '../../output/screen.ts'
import { TestContext } from '../../testing/run-command.suite.ts'
import { report } from './report.ts'

/** Tests the output only; the authority tests its checks. */
describe('doctor', () => {
  let setup: TestContext
  beforeAll(async () => {
    setup = await TestContext.make()
    await writeFile(setup.path('broken.env'), 'NA_PROXY_HOP=1\n', { mode: 0o600 })
    await chmod(setup.path('broken.env'), 0o600)
  })
  afterAll(() => setup.remove())

  it('ends with 1 and gives each finding with its fix', async () => {
    const ran = await setup.run(`doctor --env-file ${setup.path('broken.env')} --json`)
    const { bad, findings } = ran.json() as unknown as { bad: number; findings: { check: string; fix?: string }[] }
    expect(ran.code).toBe(1)
    expect(bad).toBe(findings.length)
    expect(findings.every(({ check, fix }) => check === 'settings' && fix !== undefined)).toBe(true)
  })

  it('finds the settings of the authority of --config, of its folder or of its paths', async () => {
    await setup.run('init --home na --name NET', { now: () => BigInt(Date.now()) * 1000n })
    const inFolder = await setup.run('doctor --home na')
    expect(inFolder.stdout).not.toContain('GENESIS_FILE')
    expect(inFolder.stdout).toMatch(/genesis/)
    await rename(setup.path('na', 'authority.env'), setup.path('na', 'moved.env'))
    const byPaths = await setup.run('doctor --home na')
    expect(byPaths.stdout + byPaths.stderr).not.toMatch(/GENESIS_FILE: is required|NA_PRIVATE_KEY_FILE: is required/)
  })

  it('is readable, the worst first', async () => {
    const { stdout } = await setup.run(`doctor --env-file ${setup.path('broken.env')}`)
    expect(stdout).toMatch(/^bad {6}settings {12}NA_PROXY_HOP/m)
    expect(stdout).toMatch(/^ +fix: Fix this setting/m)
    expect(stdout.trimEnd()).toMatch(/\d+ bad, 0 to check\.$/)
  })

  it('names the checks that did not run, and then does not say that nothing is wrong', () => {
    const good = { check: 'key', status: 'good', found: 'x' } as const
    expect(report([good], PLAIN).text).toMatch(/\nNothing is wrong\.$/)
    const skipped = report([good, { check: 'clock', status: 'skipped', found: 'y' }], PLAIN)
    expect(skipped.text).toMatch(/\nNot checked: clock\.\nNothing that was checked is wrong\.$/)
    expect(skipped.data['skipped']).toBe(1)
  })

  it('ends with 2 for an address that is none', async () => {
    expect((await setup.run('doctor --public-url na.example.org')).code).toBe(2)
  })
})
