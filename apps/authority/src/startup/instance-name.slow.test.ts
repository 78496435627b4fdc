import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  type AuthorityProcess,
  createSqlite,
  createTestNetwork,
  freePort,
  startAuthorityProcess,
} from '@chancery/testkit'
import { expect, it } from 'vitest'
import { diagnose } from '../commands/doctor/diagnose.ts'

it('an authority on SQLite that was killed and starts again is one instance', async () => {
  const [network, database, port] = [await createTestNetwork('NAME-NET'), await createSqlite(), await freePort()]
  const settings = { ...database.settings, PORT: String(port), HOST: '127.0.0.1' }
  const nameOf = async ({ request }: AuthorityProcess): Promise<unknown> =>
    (JSON.parse((await request('GET', '/readyz')).text) as { instance: unknown }).instance
  const folder = dirname(network.settings['GENESIS_FILE'] ?? '')
  let authority = await startAuthorityProcess({ network, settings })
  try {
    const envFile = join(folder, 'authority.env')
    const lines = Object.entries({ ...network.settings, ...settings }).map(([name, value]) => `${name}=${value}`)
    await writeFile(envFile, lines.join('\n'), { mode: 0o600 })
    // An instance is counted soon after its start.
    const seen = async (): Promise<unknown> =>
      (await diagnose({ flags: {}, envFile })).find(({ check }) => check === 'instances')?.found
    const before = await nameOf(authority)
    await expect.poll(seen, { timeout: 90_000, interval: 1000 }).toBe('1 seen within three minutes')
    await authority.kill()
    authority = await startAuthorityProcess({ network, settings })
    expect(await nameOf(authority)).toBe(before)
    await expect.poll(seen, { timeout: 90_000, interval: 1000 }).toBe('1 seen within three minutes')
  } finally {
    await authority.kill()
    await database.drop()
    await network.remove()
  }
}, 240_000)
