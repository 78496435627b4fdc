import { testSeed } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { expectBlamed, problemsOf, read } from './read-settings.suite.ts'

describe('settings of the signing key', () => {
  const seed = testSeed('na')
  const env = { NA_KEY_PROVIDER: 'env', NA_PRIVATE_KEY_FILE: undefined }

  it('read the seed from the environment, from a file, or from a renamed variable', () => {
    expect(read({ ...env, NA_PRIVATE_KEY_SEED: seed }).keySource).toMatchObject({ provider: 'env', seed })
    expect(read({ ...env, NA_PRIVATE_KEY_SEED_FILE: '/run/seed' }).keySource).toMatchObject({
      provider: 'env',
      seedFile: '/run/seed',
    })
    expect(read({ ...env, NA_KEY_SEED_ENV: 'MY_SEED', MY_SEED: seed }).keySource).toMatchObject({
      provider: 'env',
      seed,
    })
    expect(read({ ...env, NA_KEY_SEED_ENV: 'MY_SEED', MY_SEED_FILE: '/s' }).keySource).toMatchObject({
      provider: 'env',
      seedFile: '/s',
    })
  })

  it('refuse both sources at once, and none', () => {
    expectBlamed({ ...env, NA_PRIVATE_KEY_SEED: seed, NA_PRIVATE_KEY_SEED_FILE: '/s' }, 'NA_PRIVATE_KEY_SEED')
    expectBlamed({ ...env, NA_KEY_SEED_ENV: 'MY_SEED', MY_SEED: seed, MY_SEED_FILE: '/s' }, 'MY_SEED')
    expectBlamed(env, 'NA_PRIVATE_KEY_SEED')
  })

  describe('in a token or a service', () => {
    const token = {
      NA_KEY_PROVIDER: 'pkcs11',
      NA_PRIVATE_KEY_FILE: undefined,
      NA_KEY_URI: 'pkcs11:token=chancery;object=na?module-path=/lib/hsm.so',
      NA_KEY_TOKEN_FILE: '/run/pin',
    }
    const vault = {
      ...token,
      NA_KEY_PROVIDER: 'vault',
      NA_KEY_URI: 'vault+https://vault.example:8200/transit/na?version=2',
      NA_KEY_TOKEN_FILE: '/run/vault',
    }
    const kms = {
      ...token,
      NA_KEY_PROVIDER: 'gcp-kms',
      NA_KEY_URI: 'gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1',
      NA_KEY_TOKEN_FILE: '/run/token',
    }

    it('read where it is, and the file with its PIN or token', () => {
      expect(read(token).keySource).toEqual({
        provider: 'pkcs11',
        setting: 'NA_KEY_URI',
        modulePath: '/lib/hsm.so',
        tokenLabel: 'chancery',
        keyLabel: 'na',
        pin: { setting: 'NA_KEY_TOKEN_FILE', file: '/run/pin' },
        sessions: 4,
      })
      expect(read(vault).keySource).toMatchObject({
        provider: 'vault',
        setting: 'NA_KEY_URI',
        mount: 'transit',
        keyVersion: 2,
        token: { file: '/run/vault' },
      })
      expect(read(kms).keySource).toMatchObject({ provider: 'gcp-kms', token: { file: '/run/token' } })
    })

    it.each([token, vault, kms])('refuse $NA_KEY_PROVIDER half given, or of another provider', (place) => {
      for (const name of ['NA_KEY_URI', 'NA_KEY_TOKEN_FILE']) expectBlamed({ ...place, [name]: undefined }, name)
      for (const other of [token, vault, kms])
        if (other !== place) expectBlamed({ ...place, NA_KEY_URI: other.NA_KEY_URI }, 'NA_KEY_URI')
      const file = { NA_KEY_PROVIDER: 'file', NA_PRIVATE_KEY_FILE: '/na.key' }
      expectBlamed({ ...place, ...file }, 'NA_KEY_URI')
      expectBlamed({ ...file, NA_KEY_TOKEN_FILE: '/run/pin' }, 'NA_KEY_TOKEN_FILE')
    })

    it('never show a wrong URI, which may have a PIN', () => {
      const wrong = { ...token, NA_KEY_URI: `${token.NA_KEY_URI}&pin-value=hunter2` }
      expect(problemsOf(() => read(wrong))).toEqual([
        'NA_KEY_URI: must have no PIN: NA_KEY_TOKEN_FILE names the file with it',
      ])
    })

    it('read a former key in the same token', () => {
      const former = { ...token, NA_KEY_HISTORY_FILE: '/h', NA_KEY_URI: `${token.NA_KEY_URI}&former-object=old` }
      expect(read(former).keySource).toEqual(read(token).keySource)
      expect(read(former).formerKeySource).toEqual({ ...read(token).keySource, keyLabel: 'old' })
      expectBlamed({ ...former, NA_KEY_HISTORY_FILE: undefined }, 'NA_KEY_HISTORY_FILE')
      expectBlamed({ ...former, NA_FORMER_PRIVATE_KEY_FILE: '/old.key' }, 'NA_FORMER_PRIVATE_KEY_FILE')
    })
  })

  it('refuse a former key without its history', () => {
    expectBlamed({ NA_FORMER_PRIVATE_KEY_FILE: '/old.key' }, 'NA_KEY_HISTORY_FILE')
  })

  it('refuse a provider that could not sign a grown revocation list', () => {
    expectBlamed({ NA_KEY_PROVIDER: 'aws-kms' }, 'NA_KEY_PROVIDER')
    expect(problemsOf(() => read({ NA_KEY_PROVIDER: 'aws-kms' }))[0]).toContain('4096')
  })

  it('never show the seed', () => {
    const problems = problemsOf(() =>
      read({ ...env, NA_PRIVATE_KEY_SEED: seed, NA_PRIVATE_KEY_SEED_FILE: '/s', PORT: 'x' }),
    )
    expect(problems.length).toBeGreaterThan(0)
    for (const problem of problems) expect(problem).not.toContain(seed)
  })
})
