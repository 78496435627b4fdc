import { createPublicKey, verify } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { exitCodeOf, silentLog } from '@chancery/service-kit'
import { TestToken, accepted, currentBackend, findTokenObstacle, startTestAuthority, testSeed } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyFinder } from './find-key.ts'
import { type KeySource, openSigner } from './key-providers.ts'
import { loadCryptoki } from './token-session.ts'

/** With the platform alone, not with our own verifier. */
function verifies(publicKey: string, message: Uint8Array, signature: Uint8Array): boolean {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(publicKey, 'base64')])
  return verify(null, message, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature)
}

// The engine matters only in the test that starts an authority. That one runs on both.
const once = currentBackend() === 'sqlite'

describe.skipIf(findTokenObstacle() !== undefined)('a key in a PKCS#11 token', () => {
  let token: TestToken
  beforeAll(() => {
    token = new TestToken()
    process.env['SOFTHSM2_CONF'] = token.configFile
    token.import('na-known', testSeed('na'), '01')
    token.generate('na-made', '--id', '02')
  })
  afterAll(() => token.remove())

  const place = (change: Partial<Extract<KeySource, { provider: 'pkcs11' }>> = {}): KeySource => ({
    provider: 'pkcs11',
    setting: 'NA_KEY_URI',
    modulePath: token.modulePath,
    tokenLabel: 'chancery-test',
    keyLabel: 'na-made',
    pin: { setting: 'NA_KEY_TOKEN_FILE', file: token.pinFile },
    sessions: 4,
    ...change,
  })
  const open = (change = {}): ReturnType<typeof openSigner> => openSigner(place(change), 'na-hsm', silentLog)

  it('signs for an authority without leaving the token', async () => {
    const na = await startTestAuthority({ settings: token.settings('na-known') })
    try {
      accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'from-the-token' }), 201)
      const ready = accepted(await na.request('GET', '/readyz'))
      expect(ready['signing_key']).toMatchObject({ provider: 'pkcs11', key_id: 'na-test' })
    } finally {
      await na.stop()
    }
  })

  it.runIf(once)('makes signatures that verify, also five hundred at once and over megabytes', async () => {
    const signer = await open()
    const messages = Array.from({ length: 500 }, (_, i) => Buffer.from(`message ${i}`))
    messages.push(Buffer.alloc(5_000_000, 7))
    const signatures = await Promise.all(messages.map((message) => signer.sign(message)))
    for (const [i, message] of messages.entries())
      expect(verifies(signer.publicKey, message, signatures[i] ?? new Uint8Array())).toBe(true)
    expect(verifies(signer.publicKey, Buffer.from('other'), signatures[0] ?? new Uint8Array())).toBe(false)
  })

  it.runIf(once)('returns the same bytes as the same key in a file: Ed25519 is deterministic', async () => {
    const [inToken, inFile] = [
      await open({ keyLabel: 'na-known' }),
      await openSigner({ provider: 'env', setting: 'S', seed: testSeed('na') }, 'na-hsm', silentLog),
    ]
    expect(inToken.publicKey).toBe(inFile.publicKey)
    expect(Buffer.from(await inToken.sign(Buffer.from('m')))).toEqual(Buffer.from(await inFile.sign(Buffer.from('m'))))
  })

  it.runIf(once)('cannot be read out of the token: the token refuses', async () => {
    const { names, module } = await loadCryptoki(token.modulePath)
    const slot = module.C_GetSlotList(true).find((one) => module.C_GetTokenInfo(one).label.trim() === 'chancery-test')
    if (slot === undefined) throw new Error('no token')
    await open()
    const session = module.C_OpenSession(slot, names.CKF_SERIAL_SESSION)
    module.C_FindObjectsInit(session, [{ type: names.CKA_CLASS, value: names.CKO_PRIVATE_KEY }])
    const keys = module.C_FindObjects(session, 10)
    module.C_FindObjectsFinal(session)
    expect(keys.length).toBeGreaterThanOrEqual(2)
    for (const key of keys) {
      const read = (type: number): Buffer => module.C_GetAttributeValue(session, key, [{ type }])[0]?.value as Buffer
      expect(read(names.CKA_SENSITIVE)).toEqual(Buffer.from([1]))
      expect(read(names.CKA_EXTRACTABLE)).toEqual(Buffer.from([0]))
      expect(() => read(names.CKA_VALUE)).toThrow('CKR_ATTRIBUTE_SENSITIVE')
    }
    module.C_CloseSession(session)
  })

  it.runIf(once)('signs again after the token has lost its sessions, as after a replug', async () => {
    const signer = await open()
    await Promise.all([1, 2, 3].map((n) => signer.sign(Buffer.from([n]))))
    const { module } = await loadCryptoki(token.modulePath)
    for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
    const message = Buffer.from('after')
    expect(verifies(signer.publicKey, message, await signer.sign(message))).toBe(true)
  })

  it.runIf(once)('leaves no session open when another key is looked for and is not there', async () => {
    const signer = await open()
    const { module } = await loadCryptoki(token.modulePath)
    const { C_OpenSession, C_CloseSession } = module
    let sessions = 0
    module.C_OpenSession = (...args) => {
      sessions += 1
      return C_OpenSession.apply(module, args)
    }
    module.C_CloseSession = (...args) => {
      sessions -= 1
      C_CloseSession.apply(module, args)
    }
    try {
      const find = keyFinder([place()], silentLog)
      // As an instance looks for an announced key every two seconds.
      for (let time = 0; time < 3; time += 1) expect(await find('na-next', 'no such key')).toBeUndefined()
      expect(sessions).toBe(0)
      expect(await find('na-made', signer.publicKey)).toMatchObject({ publicKey: signer.publicKey })
      expect(sessions).toBe(1)
    } finally {
      Object.assign(module, { C_OpenSession, C_CloseSession })
    }
    expect((await signer.sign(Buffer.from('m'))).length).toBe(64)
  })

  describe.runIf(once)('is refused at the start', () => {
    it('when it could leave the token', async () => {
      token.generate('loose', '--id', '05', '--extractable')
      await expect(open({ keyLabel: 'loose' })).rejects.toThrow(/^NA_KEY_URI: the key loose is marked extractable/)
    })

    it('when it is not an Ed25519 key', async () => {
      token.tool('--keypairgen', '--key-type', 'EC:prime256v1', '--label', 'other-curve', '--id', '06')
      await expect(open({ keyLabel: 'other-curve' })).rejects.toThrow(/^NA_KEY_URI: .*is not an Ed25519 key/)
    })

    it('when two have its label', async () => {
      token.generate('twin', '--id', '07')
      token.generate('twin', '--id', '08')
      await expect(open({ keyLabel: 'twin' })).rejects.toThrow(/^NA_KEY_URI: .*several private keys/)
    })

    it.each([
      ['NA_KEY_URI: the token holds no private key', { keyLabel: 'missing' }],
      ['NA_KEY_URI: no token with the label elsewhere', { tokenLabel: 'elsewhere' }],
      ['NA_KEY_URI: /nowhere/lib.so cannot be loaded', { modulePath: '/nowhere/lib.so' }],
      ['NA_KEY_TOKEN_FILE: the file /nowhere/pin', { pin: { setting: 'NA_KEY_TOKEN_FILE', file: '/nowhere/pin' } }],
    ])('and %s is named', async (name, change) => {
      await expect(open(change)).rejects.toThrow(new RegExp(`^${name}`))
    })

    it('with a wrong PIN, which is never shown', async () => {
      // Logins belong to the process: the valid one must end first.
      const { module } = await loadCryptoki(token.modulePath)
      for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
      const pinFile = join(dirname(token.configFile), 'changed-pin')
      await writeFile(pinFile, '1111\n', { mode: 0o600 })
      const failure = open({ pin: { setting: 'NA_KEY_TOKEN_FILE', file: pinFile } })
      await expect(failure).rejects.toThrow(/^NA_KEY_TOKEN_FILE: the token refuses the login$/)
      // A service manager that starts the authority again and again would lock the token.
      expect(exitCodeOf(await failure.catch((error: unknown) => error))).toBe(78)
      await writeFile(pinFile, `${token.pin}\n`)
      expect((await open({ pin: { setting: 'NA_KEY_TOKEN_FILE', file: pinFile } })).provider).toBe('pkcs11')
    })
  })
})
