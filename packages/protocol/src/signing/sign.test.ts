import { describe, expect, it } from 'vitest'
import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { toHex } from '../canonical/digest.ts'
import { BACKENDS } from './backends.suite.ts'
import { seedSigner, verifySignature } from './keys.ts'

// RFC 8032 section 7.1, tests 1 to 3.
const RFC = [
  {
    seed: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    publicKey: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    message: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    seed: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    message: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
  {
    seed: 'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
    publicKey: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    message: 'af82',
    signature:
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  },
]

function bytes(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'))
}

describe.each(BACKENDS)('seedSigner with $name', (backend) => {
  it.each(RFC)(
    'gives key and signature of RFC 8032 for seed $seed',
    async ({ seed, publicKey, message, signature }) => {
      const signer = await seedSigner('k', toBase64(bytes(seed)), backend)
      expect(toHex(fromBase64(signer.publicKey) ?? new Uint8Array())).toBe(publicKey)
      const signed = await signer.sign(bytes(message))
      expect(toHex(signed)).toBe(signature)
      expect(await verifySignature(signer.publicKey, bytes(message), toBase64(signed), backend)).toBe(true)
    },
  )

  it('signs the same message always alike', async () => {
    const signer = await seedSigner('k', toBase64(new Uint8Array(32).fill(3)), backend)
    expect(await signer.sign(bytes('00ff'))).toEqual(await signer.sign(bytes('00ff')))
  })

  it('never exposes the seed', async () => {
    const seed = toBase64(new Uint8Array(32).fill(3))
    const signer = await seedSigner('k', seed, backend)
    expect(Object.keys(signer).toSorted()).toEqual(['keyId', 'publicKey', 'sign'])
    expect(JSON.stringify(signer)).not.toContain(seed.slice(0, 20))
  })

  it.each([
    ['nothing', ''],
    ['hex', '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'],
    ['31 bytes', toBase64(new Uint8Array(31))],
    ['64 bytes', toBase64(new Uint8Array(64))],
    ['no padding', toBase64(new Uint8Array(32)).slice(0, -1)],
  ])('refuses %s as a seed, without repeating it', async (_name, seed) => {
    await expect(seedSigner('k', seed, backend)).rejects.toThrow(new TypeError('a private key is 32 bytes in base64'))
  })
})
