import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

interface Explained {
  readonly settings: readonly { readonly name: string; readonly value: string | null; readonly origin: string }[]
  readonly problems: readonly string[]
}

describe('settings', () => {
  let setup: TestContext
  beforeAll(async () => {
    setup = await TestContext.make()
    const authority = ['GENESIS_FILE=/g', 'NA_PRIVATE_KEY_FILE=/k', 'DATABASE_URL=postgresql://u:canary@h/d']
    await writeFile(setup.path('authority.env'), `${authority.join('\n')}\nNA_KEY_ID=na-1\nNA_PORTS=1\n`)
    await writeFile(
      setup.path('gateway.env'),
      'GATEWAY_DRAIN_SECONDS=5\nGATEWAY_DEVELOPMENT=true\nGATEWAY_TOKEN=canary\n',
    )
  })
  afterAll(() => setup.remove())

  it('prints each setting of an authority, its origin, and no password', async () => {
    const ran = await setup.run(`settings --env-file ${setup.path('authority.env')} --db-path /flag.db --json`)
    const { settings, problems } = ran.json() as unknown as Explained
    const find = (name: string) => settings.find((row) => row.name === name)
    expect(find('NA_KEY_ID')).toMatchObject({ value: 'na-1', origin: 'file' })
    expect(find('DB_PATH')).toMatchObject({ value: '/flag.db', origin: 'flag' })
    expect(find('DATABASE_URL')).toMatchObject({ value: '«set»', origin: 'file' })
    expect(find('EVIDENCE_STORE')).toMatchObject({ value: 'off', origin: 'default' })
    expect(find('NA_RATE_LIMIT_JOIN_PER_MINUTE')).toMatchObject({ value: '10', origin: 'default' })
    expect(ran.stdout).not.toContain('canary')
    // The wrong name would stop the start.
    expect(problems).toEqual(['NA_PORTS: there is no such setting'])
    expect(ran.code).toBe(1)
  })

  it('prints with --changed only what differs from the default', async () => {
    const ran = await setup.run(`settings --env-file ${setup.path('authority.env')} --changed`)
    expect(ran.stdout).toMatch(/^\* +NA_KEY_ID +na-1 +file$/m)
    expect(ran.stdout).not.toContain('EVIDENCE_STORE')
    expect(ran.stdout).toMatch(/^4 of \d+ settings differ from their default\.$/m)
  })

  it('prints those of a gateway', async () => {
    const ran = await setup.run(`gateway settings --env-file ${setup.path('gateway.env')}`)
    expect(ran.stdout).toMatch(/^ +GATEWAY_DRAIN_SECONDS +5 +file$/m)
    expect(ran.stdout).toMatch(/^\* +GATEWAY_TOKEN +«set» +file$/m)
    expect(ran.stdout).not.toContain('canary')
    expect(ran.stdout).toContain('bad  GATEWAY_TOKEN: must be 32 to 1024 bytes')
    expect(ran.code).toBe(1)
  })
})
