import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { silentLog } from '@chancery/service-kit'
import {
  ManualClock,
  TestToken,
  accepted,
  enroll,
  findTokenObstacle,
  nodeCaller,
  refused,
  startTestAuthority,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import type { JsonObject } from '@chancery/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openSigner } from './key-providers.ts'
import { loadCryptoki } from './token-session.ts'

const ATTESTATION = { subject_id: 'clerk', roles: ['role:client'] }

describe.skipIf(findTokenObstacle() !== undefined)('a token that is lost', () => {
  let token: TestToken
  let na: TestAuthority
  let clock: ManualClock
  beforeAll(async () => {
    token = new TestToken()
    process.env['SOFTHSM2_CONF'] = token.configFile
    token.import('na-known', testSeed('na'))
    clock = new ManualClock()
    na = await startTestAuthority({ settings: token.settings('na-known'), clock })
    accepted(await na.request('GET', '/crl'))
  })
  afterAll(async () => {
    await na.stop()
    token.remove()
  })
  const open = async (pin: string): Promise<unknown> => {
    const file = join(dirname(token.configFile), 'other-pin')
    await writeFile(file, pin, { mode: 0o600 })
    return openSigner(
      {
        provider: 'pkcs11',
        setting: 'NA_KEY_URI',
        modulePath: token.modulePath,
        tokenLabel: 'chancery-test',
        keyLabel: 'na-known',
        pin: { setting: 'NA_KEY_TOKEN_FILE', file },
        sessions: 1,
      },
      'na-test',
      silentLog,
    )
  }
  const probe = async (): Promise<void> => {
    clock.advance(10)
    await na.core.keyCheck.check()
  }
  const metric = async (): Promise<string | undefined> =>
    /^chancery_signing_unavailable (\S+)$/m.exec((await na.request('GET', '/metrics')).text)?.[1]
  /** Calls that sign, one of each kind of signature. */
  const signing = async (): Promise<readonly JsonObject[]> => {
    const send = na.as('privileged')
    const answers = [
      await send('POST', '/admin/policy', { policy_id: 'p' }),
      await send('POST', '/admin/attestations', ATTESTATION),
      await send('POST', '/admin/recognition-treaties', {
        subject_sovereign_id: 'FJORD',
        subject_public_keys: [(await testSigner('p', 'partner')).publicKey],
      }),
    ]
    return answers.map((answer) => refused(answer, 503, 'signing_unavailable'))
  }
  afterEach(() => clock.advance(1))

  it('refuses every call that signs with a separate code, is shown everywhere, and signs again when it is back', async () => {
    const node = nodeCaller(na.url, await testSigner('node', 'lost'), () => clock.now())
    const { cert_id } = await enroll(na, node)
    expect([await metric(), (await na.request('GET', '/readyz')).status]).toEqual(['0', 200])
    token.unplug()
    const { module } = await loadCryptoki(token.modulePath)
    for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
    await signing()
    const revoked = await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'superseded' })
    refused(revoked, 503, 'signing_unavailable')
    refused(await node.renew(cert_id), 503, 'signing_unavailable')
    const unready = await na.request('GET', '/readyz')
    expect([unready.status, unready.text]).toEqual([503, expect.stringContaining('signing_key_unavailable')])
    expect(await metric()).toBe('1')
    clock.advance(1)
    expect((await na.request('GET', '/health')).text).toContain('signing_key_unavailable')
    const findings = accepted(await na.as('standard')('GET', '/admin/findings'))['findings'] as readonly JsonObject[]
    expect(findings.map(({ check }) => check)).toContain('signing-key')
    // What is signed already is served.
    accepted(await na.request('GET', '/crl'))
    accepted(await node.heartbeat(cert_id))
    await probe()
    expect(await metric()).toBe('1')
    token.plugIn()
    await new Promise((resolve) => setTimeout(resolve, 5100))
    await probe()
    expect([await metric(), (await na.request('GET', '/readyz')).status]).toEqual(['0', 200])
    accepted(await node.renew(cert_id), 201)
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'superseded' }))
  }, 30_000)

  it('is found by the probe without a caller', async () => {
    token.unplug()
    try {
      const { module } = await loadCryptoki(token.modulePath)
      for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
      await probe()
      expect(await metric()).toBe('1')
    } finally {
      token.plugIn()
    }
    await new Promise((resolve) => setTimeout(resolve, 5100))
    await probe()
    expect(await metric()).toBe('0')
  }, 30_000)

  it('signs after all sessions were lost, without a refusal', async () => {
    const { module } = await loadCryptoki(token.modulePath)
    for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'after' }), 201)
  })

  it('is asked once with a wrong PIN, and a locked one is named', async () => {
    const cryptoki = await loadCryptoki(token.modulePath)
    const { module, names } = cryptoki
    const login = module.C_Login
    let logins = 0
    try {
      module.C_Login = () => {
        logins += 1
        throw Object.assign(new Error('locked'), { code: names.CKR_PIN_LOCKED })
      }
      await expect(open('0000')).rejects.toThrow('NA_KEY_TOKEN_FILE: the PIN of the token is locked')
      await expect(open('0000')).rejects.toThrow('NA_KEY_TOKEN_FILE: the token refused this PIN before')
      expect(logins).toBe(1)
    } finally {
      module.C_Login = login
    }
  })

  it('is not asked when one attempt is left before the token locks', async () => {
    const { module, names } = await loadCryptoki(token.modulePath)
    const { C_Login: login, C_GetTokenInfo: read } = module
    let logins = 0
    try {
      module.C_Login = () => void (logins += 1)
      module.C_GetTokenInfo = (slot) => {
        const info = read.call(module, slot)
        return { ...info, flags: info.flags | names.CKF_USER_PIN_FINAL_TRY }
      }
      for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
      // The units of systemd do not start the authority again after 78.
      await expect(open('1111')).rejects.toMatchObject({
        message: expect.stringContaining('allows one more attempt'),
        exitCode: 78,
      })
      expect(logins).toBe(0)
    } finally {
      Object.assign(module, { C_Login: login, C_GetTokenInfo: read })
    }
  })

  it('is asked once when its PIN is locked while the authority runs, and every place names the PIN', async () => {
    const { module, names } = await loadCryptoki(token.modulePath)
    const login = module.C_Login
    let logins = 0
    try {
      module.C_Login = () => {
        logins += 1
        throw Object.assign(new Error('locked'), { code: names.CKR_PIN_LOCKED })
      }
      for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
      await signing()
      await probe()
      expect([logins, await metric()]).toEqual([1, '1'])
    } finally {
      module.C_Login = login
    }
    // Another attempt may lock a token permanently, so a person restarts the authority.
    await probe()
    await signing()
    const { status, text } = await na.request('GET', '/readyz')
    expect([status, text]).toEqual([503, expect.stringContaining('token_pin_refused')])
    const findings = accepted(await na.as('standard')('GET', '/admin/findings'))['findings'] as readonly JsonObject[]
    expect(findings.map(({ check }) => check)).toContain('signing-key')
    accepted(await na.request('GET', '/crl'))
  })
})
