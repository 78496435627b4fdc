import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog, systemClock } from '@chancery/service-kit'
import {
  FIRST_KEY,
  TestToken,
  accepted,
  fetchCrl,
  findTokenObstacle,
  signSuccession,
  startTestAuthority,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadCryptoki } from '../signing/token-session.ts'
import { runRotation } from './rotate-key.ts'

describe.skipIf(findTokenObstacle() !== undefined)('authority rotate-key with keys in a token', () => {
  let token: TestToken
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-rotate-token-'))
    token = new TestToken()
    process.env['SOFTHSM2_CONF'] = token.configFile
    token.import('na-1', testSeed('na'), '01')
  })
  afterAll(async () => {
    token.remove()
    await rm(folder, { recursive: true, force: true })
  })

  it('switches to the key with the label of its id, and both sign after the token was away', async () => {
    const na = await startTestAuthority({ settings: token.settings('na-1') })
    try {
      accepted(await na.request('GET', '/crl'))
      const { genesis } = na
      const two = { keyId: 'na-2', seed: 'na-2' }
      const { settings } = await signSuccession(folder, { genesis, key: FIRST_KEY }, two, systemClock.now())
      const [genesisFile, historyFile] = [settings['GENESIS_FILE'] ?? '', settings['NA_KEY_HISTORY_FILE'] ?? '']
      const lines: string[] = []
      const rotate = (next?: { keyId: string; genesisFile: string; historyFile: string }): Promise<number> =>
        runRotation(na.settings, next === undefined ? {} : { next }, {
          parts: { log: silentLog },
          print: (line) => lines.push(line),
          confirm: () => Promise.resolve(true),
        })
      const next = { keyId: 'na-2', genesisFile, historyFile }
      await expect(rotate(next)).rejects.toThrow('the next key na-2 cannot be used')
      token.import('na-2', testSeed('na-2'), '02')
      await rotate(next)
      expect(lines.join('\n')).toContain('na-2 has taken over from na-test')
      await expect.poll(() => na.core.signing.keyId).toBe('na-2')
      const [old, heir] = [await testSigner('na-test', 'na'), await testSigner('na-2', 'na-2')]
      const send = na.as('privileged')
      accepted(await send('POST', '/admin/policy', { policy_id: 'after' }), 201)
      expect((await fetchCrl(na.url, heir.publicKey)).issuer).toBe('na-2')
      expect((await fetchCrl(na.url, old.publicKey, '/crl/keys/na-test')).issuer).toBe('na-test')
      token.unplug()
      const { module } = await loadCryptoki(token.modulePath)
      for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
      expect((await send('POST', '/admin/policy', { policy_id: 'away' })).status).toBe(503)
      token.plugIn()
      await expect
        .poll(async () => (await send('POST', '/admin/policy', { policy_id: 'back' })).status, { timeout: 30_000 })
        .toBe(201)
    } finally {
      await na.stop()
    }
  }, 120_000)
})
