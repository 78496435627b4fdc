import { silentLog } from '@chancery/service-kit'
import { TestToken, currentBackend, findTokenObstacle, testSeed, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { keyFinder } from './find-key.ts'
import type { KeySource } from './key-providers.ts'
import { loadCryptoki } from './token-session.ts'

const once = currentBackend() === 'sqlite'

describe.skipIf(!once || findTokenObstacle() !== undefined)('the next key in a token', () => {
  let token: TestToken
  beforeAll(() => {
    token = new TestToken()
    process.env['SOFTHSM2_CONF'] = token.configFile
    token.import('na-1', testSeed('na'), '01')
  })
  afterAll(() => token.remove())

  const source = (): KeySource => ({
    provider: 'pkcs11',
    setting: 'NA_KEY_URI',
    modulePath: token.modulePath,
    tokenLabel: 'chancery-test',
    keyLabel: 'na-1',
    pin: { setting: 'NA_KEY_TOKEN_FILE', file: token.pinFile },
    sessions: 4,
  })
  /** Sessions of this process that are open. A token has few, and SoftHSM does not count them. */
  let open = 0
  beforeAll(async () => {
    const { module } = await loadCryptoki(token.modulePath)
    const { C_OpenSession, C_CloseSession } = module
    vi.spyOn(module, 'C_OpenSession').mockImplementation((...words) => {
      open += 1
      return C_OpenSession.apply(module, words)
    })
    vi.spyOn(module, 'C_CloseSession').mockImplementation((handle) => {
      open -= 1
      C_CloseSession.call(module, handle)
    })
  })
  afterAll(() => vi.restoreAllMocks())

  it('is looked for again and again without a session more, and found when it is there', async () => {
    const { publicKey } = await testSigner('na-2', 'next')
    const find = keyFinder([source()], silentLog)
    expect(await find('na-2', publicKey)).toBeUndefined()
    const before = open
    // Under the right label, and another key than the root signed for.
    token.generate('na-3', '--id', '03')
    for (let turn = 0; turn < 5; turn += 1) {
      expect(await find('na-2', publicKey)).toBeUndefined()
      expect(await find('na-3', publicKey)).toBeUndefined()
    }
    expect(open).toBe(before)
    token.import('na-2', testSeed('next'), '02')
    const found = await find('na-2', publicKey)
    expect([found?.keyId, found?.publicKey]).toEqual(['na-2', publicKey])
    expect((await found?.sign(Buffer.from('m')))?.length).toBe(64)
    expect(await find('na-2', publicKey)).toMatchObject({ publicKey })
    expect(open).toBe(before + 1)
  })
})
