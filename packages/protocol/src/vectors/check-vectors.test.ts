import { describe, expect, it } from 'vitest'
import * as protocol from '../index.ts'
import { BACKENDS } from '../signing/backends.suite.ts'
import { sha256 as webSha256 } from '../signing/sha256.ts'
import { checkCoreVectors } from './check-vectors.ts'
import type { CoreVectors } from './cases.ts'
import core from './core.json' with { type: 'json' }

const vectors: CoreVectors = core

describe('golden vectors of protocol/core', () => {
  it.each(BACKENDS)('all hold with $name', async (backend) => {
    const { passed, failures } = await checkCoreVectors(vectors, protocol, { backend })
    expect(failures).toEqual([])
    // A missing vector must be detected: the figure changes only together with core.json.
    expect(passed).toBe(333)
  })

  it('all hold with the digest that browsers use', async () => {
    const sha256Hex = (input: Uint8Array | string): string =>
      protocol.toHex(webSha256(typeof input === 'string' ? protocol.toUtf8(input) : input))
    const { failures } = await checkCoreVectors(vectors, { ...protocol, sha256Hex })
    expect(failures).toEqual([])
  })

  it('notice a reader, a writer, a clock, a digest and a verifier that are wrong', async () => {
    const broken = {
      ...protocol,
      readJson: (text: string) => JSON.parse(text) as protocol.JsonValue,
      readInstant: (text: string) => BigInt(Date.parse(text) || 0) * 1000n,
      sha256Hex: () => '',
      verifySignature: () => Promise.resolve(true),
    }
    const { failures } = await checkCoreVectors(vectors, broken)
    for (const part of ['1.3 C of 90.00', '1.1 rule 2', '1.4 refuses', 'SHA-256', 'any change is refused']) {
      expect(failures.some((failure) => failure.includes(part))).toBe(true)
    }
  })
})
