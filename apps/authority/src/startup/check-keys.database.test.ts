import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAY, type JsonObject, signList, writeInstant, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import { WEAK_POINTS } from '@chancery/protocol/vectors/weak-keys.ts'
import { createLog, requireValues, systemClock } from '@chancery/service-kit'
import { ManualClock, createTestDatabase, currentBackend, testSeed, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningAuthority, startAuthority } from '../app.ts'
import { readAuthoritySettings } from '../settings/authority-settings.ts'

interface Situation {
  /** Members of the block that differ; undefined removes one. */
  readonly genesis?: Readonly<Record<string, unknown>>
  /** The complete file, instead. */
  readonly genesisText?: string
  /** The signers of the block; no signature when empty. */
  readonly signedBy?: readonly string[]
  readonly keyText?: string
  readonly keyMode?: number
  readonly settings?: Readonly<Record<string, string | undefined>>
  readonly clock?: ManualClock
}

describe('the start of an authority', () => {
  let folder: string
  let counter = 0
  const lines: JsonObject[] = []
  const log = createLog({
    level: 'trace',
    format: 'json',
    destination: { write: (line) => lines.push(JSON.parse(line) as JsonObject) },
  })
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-start-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function start(situation: Situation = {}): Promise<RunningAuthority> {
    const home = await mkdtemp(join(folder, `case-${(counter += 1)}-`))
    const clock = situation.clock ?? systemClock
    const [root, na] = [await testSigner('rs-test', 'root'), await testSigner('na-test', 'na')]
    let block: JsonObject = {
      network_name: 'START-NET',
      network_version: 'v0.1',
      root_public_key: root.publicKey,
      network_authority: {
        public_key: na.publicKey,
        valid_from: writeInstant(clock.now() - DAY),
        valid_to: writeInstant(clock.now() + 90n * DAY),
      },
      allowed_crypto_suites: ['ed25519', 'x25519'],
      allowed_transports: ['quic', 'wireguard'],
      policy_manifest: { hash: 'sha256:placeholder', url: null },
      bootstrap_anchors: [],
      signatures: [],
      ...(situation.genesis as JsonObject | undefined),
    }
    for (const name of situation.signedBy ?? ['root']) block = await signList(block, await testSigner('rs-test', name))
    await writeFile(join(home, 'genesis.json'), situation.genesisText ?? writeJson(block))
    await writeFile(join(home, 'na.key'), situation.keyText ?? writePrivateKeyFile(testSeed('na'), 'na-test'), {
      mode: situation.keyMode ?? 0o600,
    })
    const values = {
      GENESIS_FILE: join(home, 'genesis.json'),
      NA_PRIVATE_KEY_FILE: join(home, 'na.key'),
      NA_KEY_ID: 'na-test',
      PORT: '0',
      DB_PATH: join(home, 'authority.db'),
      ...situation.settings,
    }
    const text = Object.entries(values)
      .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
      .join('\n')
    const settings = requireValues(readAuthoritySettings({ flags: {}, env: {}, envFile: { path: 'f', text } }))
    return startAuthority(settings, { log, clock })
  }

  async function stop(authority: RunningAuthority): Promise<void> {
    await authority.stopAccepting()
    await authority.close()
  }

  /** The one line that an operator sees. */
  async function refusal(situation: Situation): Promise<string> {
    const outcome = await start(situation).then(
      (authority) => authority,
      (error: unknown) => error,
    )
    if (!(outcome instanceof Error)) {
      await stop(outcome as RunningAuthority)
      throw new Error('it started')
    }
    expect(outcome.message).not.toContain('\n')
    return outcome.message
  }

  // All but the last test are decided before a database is opened, so they run once.
  const once = currentBackend() === 'sqlite'

  it.runIf(once)('succeeds with valid files, and with several valid root signatures', async () => {
    await stop(await start())
    await stop(await start({ signedBy: ['root', 'root'] }))
  })

  describe.runIf(once)('is refused for the genesis block', () => {
    it.each<[string, Situation]>([
      ['that is not there', { settings: { GENESIS_FILE: '/nowhere/genesis.json' } }],
      ['that is a folder', { settings: { GENESIS_FILE: tmpdir() } }],
      ['that is empty', { genesisText: '' }],
      ['that is not JSON', { genesisText: 'genesis' }],
      ['that is a list', { genesisText: '[]' }],
      ['with a byte order mark', { genesisText: '\ufeff{}' }],
      ['with a repeated member', { genesisText: '{"network_name":"a","network_name":"a"}' }],
      ['without a signature', { signedBy: [] }],
      ['signed by another key', { signedBy: ['stranger'] }],
      ['with one valid and one invalid signature', { signedBy: ['root', 'stranger'] }],
      ['signed by the authority instead of the root', { signedBy: ['na'] }],
      ['with an unknown member', { genesis: { extra: 1 } }],
      ['with an empty name', { genesis: { network_name: '' } }],
      ['with a name of 129 characters', { genesis: { network_name: 'n'.repeat(129) } }],
      ['with a control character in its name', { genesis: { network_name: 'a\nb' } }],
      ['with a version of 33 characters', { genesis: { network_version: 'v'.repeat(33) } }],
      ['with an invalid root key', { genesis: { root_public_key: 'AAAA' } }],
      ['with anchors that are not a list', { genesis: { bootstrap_anchors: {} } }],
      ['without a policy manifest', { genesis: { policy_manifest: null } }],
    ])('%s', async (_what, situation) => {
      expect(await refusal(situation)).toMatch(/^GENESIS_FILE:/)
    })

    it('that was changed after it was signed', async () => {
      const root = await testSigner('rs-test', 'root')
      const na = await testSigner('na-test', 'na')
      const window = {
        valid_from: writeInstant(systemClock.now() - DAY),
        valid_to: writeInstant(systemClock.now() + DAY),
      }
      const block = {
        network_name: 'A',
        network_version: 'v0.1',
        root_public_key: root.publicKey,
        network_authority: { public_key: na.publicKey, ...window },
        allowed_crypto_suites: [],
        allowed_transports: [],
        policy_manifest: { hash: 'h', url: null },
        bootstrap_anchors: [],
      }
      const signed = await signList(block, root)
      expect(await refusal({ genesisText: writeJson({ ...signed, network_name: 'B' }) })).toMatch(
        /^GENESIS_FILE:.*signature/,
      )
      await stop(await start({ genesisText: writeJson(signed) }))
    })

    it.each(WEAK_POINTS)('with the weak root key %s', async (hex) => {
      const root_public_key = Buffer.from(hex, 'hex').toString('base64')
      expect(await refusal({ genesis: { root_public_key }, signedBy: ['root'] })).toMatch(/^GENESIS_FILE:/)
    })

    it('whose authority window does not include the current time', async () => {
      const clock = new ManualClock('2026-05-01T00:00:00Z')
      const { publicKey } = await testSigner('na-test', 'na')
      const window = (valid_from: string, valid_to: string): Situation => ({
        clock,
        genesis: { network_authority: { public_key: publicKey, valid_from, valid_to } },
      })
      const [over, early] = [
        window('2026-01-01T00:00:00Z', '2026-04-30T23:59:59Z'),
        window('2026-05-01T00:00:01Z', '2026-06-01T00:00:00Z'),
      ]
      for (const situation of [over, early]) expect(await refusal(situation)).toMatch(/^GENESIS_FILE:.*valid_/)
      for (const situation of [over, early]) {
        lines.length = 0
        await stop(await start({ ...situation, settings: { NA_GENESIS_WINDOW: 'warn', NA_CLOCK_CHECK: 'off' } }))
        expect(
          lines
            .filter((line) => line['level'] === 'warn')
            .map((line) => String(line['event']))
            .join(),
        ).toMatch(/window/)
      }
      expect(await refusal(window('2026-06-01T00:00:00Z', '2026-05-02T00:00:00Z'))).toMatch(/^GENESIS_FILE:/)
    })
  })

  describe.runIf(once)('is refused for the signing key', () => {
    it('that is not the one of the genesis block', async () => {
      expect(await refusal({ keyText: writePrivateKeyFile(testSeed('stranger')) })).toMatch(/NA_PRIVATE_KEY_FILE/)
    })

    it('that is also the root key', async () => {
      const { publicKey } = await testSigner('rs-test', 'root')
      const window = {
        valid_from: writeInstant(systemClock.now() - DAY),
        valid_to: writeInstant(systemClock.now() + DAY),
      }
      const keyText = writePrivateKeyFile(testSeed('root'))
      expect(await refusal({ keyText, genesis: { network_authority: { public_key: publicKey, ...window } } })).toMatch(
        /root/,
      )
    })

    it.each<[string, Situation]>([
      ['that is not there', { settings: { NA_PRIVATE_KEY_FILE: '/nowhere/na.key' } }],
      ['that is empty', { keyText: '' }],
      ['with comments only', { keyText: '# Ed25519 Private Key\n# Key ID: x\n' }],
      ['that is too short', { keyText: 'AAAA\n' }],
      ['that is too long', { keyText: `${Buffer.alloc(33).toString('base64')}\n` }],
      ['without padding', { keyText: `${testSeed('na').replace('=', '')}\n` }],
      ['in hex', { keyText: `${Buffer.from(testSeed('na'), 'base64').toString('hex')}\n` }],
    ])('%s, in a line that names the setting', async (_what, situation) => {
      const message = await refusal(situation)
      expect(message).toMatch(/NA_PRIVATE_KEY_FILE/)
      expect(message).not.toContain(testSeed('na').slice(0, 20))
    })

    it.each<[string, Record<string, string>, RegExp]>([
      ['in the environment', { NA_PRIVATE_KEY_SEED: 'canary-seed' }, /NA_PRIVATE_KEY_SEED\b/],
      ['in a renamed variable', { NA_KEY_SEED_ENV: 'MY_SEED', MY_SEED: 'canary-seed' }, /MY_SEED\b/],
      ['in a file that is not there', { NA_PRIVATE_KEY_SEED_FILE: '/nowhere/seed' }, /NA_PRIVATE_KEY_SEED_FILE/],
    ])('that is malformed %s, naming the variable and never the value', async (_what, settings, named) => {
      const message = await refusal({
        settings: { NA_KEY_PROVIDER: 'env', NA_PRIVATE_KEY_FILE: undefined, ...settings },
      })
      expect(message).toMatch(named)
      expect(message).not.toContain('canary')
    })

    it('is not refused, only warned about, when others may read the file', async () => {
      lines.length = 0
      await stop(await start({ keyMode: 0o644 }))
      expect(lines.filter((line) => line['level'] === 'warn')).toHaveLength(1)
      lines.length = 0
      await stop(await start({ keyText: `# Ed25519 Private Key\r\n# Key ID: na\r\n${testSeed('na')}\r\n` }))
      expect(lines.filter((line) => line['level'] === 'warn')).toEqual([])
    })

    it('is read from the environment, too', async () => {
      const authority = await start({
        settings: { NA_KEY_PROVIDER: 'env', NA_PRIVATE_KEY_FILE: undefined, NA_PRIVATE_KEY_SEED: testSeed('na') },
      })
      expect(authority.core.signing.signer.provider).toBe('env')
      await stop(authority)
    })
  })

  describe.runIf(once)('is refused for operator keys', () => {
    it.each(['root', 'na'])('that are the %s key', async (name) => {
      const { publicKey } = await testSigner('x', name)
      const settings = {
        OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'ops-1': publicKey }),
        OPERATOR_KEY_TIERS_JSON: '{"ops-1":"standard"}',
      }
      expect(await refusal({ settings })).toMatch(/^OPERATOR_PUBLIC_KEYS_JSON:.*ops-1/)
    })

    it.each([...WEAK_POINTS, '9599999999999999999999999999999999999999999999999999999999999999'])(
      'that are weak: %s',
      async (hex) => {
        const weak = Buffer.from(hex, 'hex').toString('base64')
        const settings = {
          OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'ops-weak': weak }),
          OPERATOR_KEY_TIERS_JSON: '{"ops-weak":"standard"}',
        }
        expect(await refusal({ settings })).toMatch(/^OPERATOR_PUBLIC_KEYS_JSON:.*ops-weak/)
      },
    )

    it('is only warned about when two ids share one key', async () => {
      const { publicKey } = await testSigner('shared')
      const settings = {
        OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ a: publicKey, b: publicKey }),
        OPERATOR_KEY_TIERS_JSON: '{"a":"standard","b":"privileged"}',
      }
      lines.length = 0
      await stop(await start({ settings }))
      expect(lines.filter((line) => line['level'] === 'warn')).toHaveLength(1)
    })
  })

  it('leaves no open database behind when it is refused', async () => {
    const database = await createTestDatabase()
    const authority = await start({ settings: { DB_PATH: undefined, ...database.settings } })
    await stop(authority)
    // The name differs from the one of the database's owner.
    expect(
      await refusal({ genesis: { network_name: 'OTHER-NET' }, settings: { DB_PATH: undefined, ...database.settings } }),
    ).toMatch(/START-NET/)
    await database.drop()
  })
})
