import { chmod, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { World } from '../../world.suite.ts'

/** What is found is tested where it is looked for, in the authority; here is how it is told. */
describe('doctor', () => {
  let world: World
  beforeAll(async () => {
    world = await World.make()
    await writeFile(world.path('broken.env'), 'NA_PROXY_HOP=1\n', { mode: 0o600 })
    await chmod(world.path('broken.env'), 0o600)
  })
  afterAll(() => world.remove())

  it('ends with 1 and gives each finding with its fix', async () => {
    const ran = await world.run(`doctor --env-file ${world.path('broken.env')} --json`)
    const { bad, findings } = ran.json() as unknown as { bad: number; findings: { check: string; fix?: string }[] }
    expect(ran.code).toBe(1)
    expect(bad).toBe(findings.length)
    expect(findings.every(({ check, fix }) => check === 'settings' && fix !== undefined)).toBe(true)
  })

  it('is readable, the worst first', async () => {
    const { stdout } = await world.run(`doctor --env-file ${world.path('broken.env')}`)
    expect(stdout).toMatch(/^bad {6}settings {12}NA_PROXY_HOP/m)
    expect(stdout).toMatch(/^ +fix: Mend this setting/m)
    expect(stdout.trimEnd()).toMatch(/\d+ bad, 0 to look at\.$/)
  })

  it('ends with 2 for an address that is none', async () => {
    expect((await world.run('doctor --public-url na.example.org')).code).toBe(2)
  })
})
