import { seedSigner, toBase64 } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { movedSigner } from './key-providers.ts'

it('signs the first bytes as the key itself does, and gives the buffer back', async () => {
  const seed = new Uint8Array(32).fill(5)
  const signer = await seedSigner('na', toBase64(seed))
  const given = Uint8Array.from({ length: 300 }, (_, index) => index % 251)
  const copy = given.slice()
  const { bytes, sig } = await movedSigner(seed)(given, 200)
  expect(sig).toEqual(await signer.sign(copy.subarray(0, 200)))
  expect(bytes).toEqual(copy)
  expect(given).toHaveLength(0)
})
