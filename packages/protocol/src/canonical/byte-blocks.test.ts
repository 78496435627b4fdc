import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { ByteBlocks } from './byte-blocks.ts'
import { joinBytes } from './utf8.ts'

it('gives what was added, in one run and in blocks, whatever the pieces were', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(70_000), { maxLength: 40 }), (sizes) => {
      const pieces = sizes.map((size, n) => Uint8Array.from({ length: size }, (_, at) => at * 7 + n))
      const blocks = new ByteBlocks()
      for (const piece of pieces) blocks.add(piece)
      const whole = Buffer.from(joinBytes(pieces))
      expect(blocks.size).toBe(whole.length)
      expect(whole.equals(joinBytes(blocks.take()))).toBe(true)
      expect(whole.equals(blocks.join())).toBe(true)
    }),
    { numRuns: 50 },
  )
})

it('leaves the pieces of others as they are', () => {
  const piece = new Uint8Array([1, 2, 3])
  const blocks = new ByteBlocks()
  blocks.add(piece)
  expect([...blocks.join()]).toEqual([1, 2, 3])
  expect([...piece]).toEqual([1, 2, 3])
})
