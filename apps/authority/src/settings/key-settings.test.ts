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

  describe('in a token', () => {
    const token = {
      NA_KEY_PROVIDER: 'pkcs11',
      NA_PRIVATE_KEY_FILE: undefined,
      NA_PKCS11_MODULE: '/lib/hsm.so',
      NA_PKCS11_TOKEN: 'chancery',
      NA_PKCS11_KEY: 'na',
      NA_PKCS11_PIN: '1234',
    }

    it('read where it is', () => {
      expect(read(token).keySource).toEqual({
        provider: 'pkcs11',
        setting: 'NA_PKCS11_KEY',
        modulePath: '/lib/hsm.so',
        tokenLabel: 'chancery',
        keyLabel: 'na',
        pin: { setting: 'NA_PKCS11_PIN', value: '1234' },
        sessions: 4,
      })
      expect(read({ ...token, NA_PKCS11_PIN: undefined, NA_PKCS11_PIN_FILE: '/pin' }).keySource).toMatchObject({
        pin: { setting: 'NA_PKCS11_PIN_FILE', file: '/pin' },
      })
    })

    it.each(['NA_PKCS11_MODULE', 'NA_PKCS11_TOKEN', 'NA_PKCS11_KEY', 'NA_PKCS11_PIN'])(
      'refuse it without %s',
      (name) => {
        expectBlamed({ ...token, [name]: undefined }, name)
      },
    )

    it('refuse two PINs', () => {
      expectBlamed({ ...token, NA_PKCS11_PIN_FILE: '/pin' }, 'NA_PKCS11_PIN')
    })
  })

  describe('in a service', () => {
    const vault = {
      NA_KEY_PROVIDER: 'vault',
      NA_PRIVATE_KEY_FILE: undefined,
      NA_VAULT_ADDR: 'https://vault.example:8200',
      NA_VAULT_KEY: 'na',
      NA_VAULT_TOKEN_FILE: '/run/vault',
    }
    const kms = {
      NA_KEY_PROVIDER: 'gcp-kms',
      NA_PRIVATE_KEY_FILE: undefined,
      NA_GCP_KMS_KEY: 'projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1',
      NA_GCP_KMS_TOKEN_FILE: '/run/token',
    }

    it('read where it is', () => {
      expect(read(vault).keySource).toMatchObject({ provider: 'vault', mount: 'transit', keyVersion: 1 })
      expect(read(kms).keySource).toMatchObject({ provider: 'gcp-kms', origin: 'https://cloudkms.googleapis.com' })
    })

    it('refuse it half given, without TLS, or by a name that is none', () => {
      for (const name of ['NA_VAULT_ADDR', 'NA_VAULT_KEY']) expectBlamed({ ...vault, [name]: undefined }, name)
      expectBlamed({ ...vault, NA_VAULT_TOKEN_FILE: undefined }, 'NA_VAULT_TOKEN')
      expectBlamed({ ...vault, NA_VAULT_ADDR: 'http://vault.example:8200' }, 'NA_VAULT_ADDR')
      for (const name of ['NA_GCP_KMS_KEY', 'NA_GCP_KMS_TOKEN_FILE']) expectBlamed({ ...kms, [name]: undefined }, name)
      expectBlamed({ ...kms, NA_GCP_KMS_KEY: 'projects/p/../k' }, 'NA_GCP_KMS_KEY')
    })
  })

  it('refuse a former key without its history, or in a token that is not used', () => {
    expectBlamed({ NA_FORMER_PRIVATE_KEY_FILE: '/old.key' }, 'NA_KEY_HISTORY_FILE')
    expectBlamed({ NA_PKCS11_FORMER_KEY: 'old', NA_KEY_HISTORY_FILE: '/h' }, 'NA_PKCS11_FORMER_KEY')
    expectBlamed(
      { NA_FORMER_PRIVATE_KEY_FILE: '/old.key', NA_PKCS11_FORMER_KEY: 'old', NA_KEY_HISTORY_FILE: '/h' },
      'NA_FORMER_PRIVATE_KEY_FILE',
    )
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
