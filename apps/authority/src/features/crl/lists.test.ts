import { REVOCATION_REASONS, canonicalJson, draftCrl, readJson, writeInstant } from '@chancery/protocol'
import type { CrlEntry, JsonObject, RevocationReason } from '@chancery/protocol'
import { ManualClock, accepted, seedCertificates, startTestAuthority, testSigner } from '@chancery/testkit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entryText, listText } from './lists.ts'

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
const instant = fc.bigInt({ min: 0n, max: 4_000_000_000_000_000n })
const entry: fc.Arbitrary<CrlEntry> = fc.record({
  certificate_id: fc.oneof(fc.uuid(), text),
  revoked_at: instant.map(writeInstant),
  reason: fc.constantFrom<RevocationReason>(...REVOCATION_REASONS),
  issuer: text,
})

describe('listText', () => {
  it('is the canonical form of the whole list, whatever the entries are', () => {
    const facts = fc.record({
      crl_id: fc.uuid(),
      sequence: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      issuer: text,
      now: instant,
      entries: fc.array(entry, { maxLength: 20 }),
    })
    fc.assert(
      fc.property(facts, ({ now, entries, ...header }) => {
        // Built as an object, sorted and serialised by the canonical writer.
        const { signatures: _, ...unsigned } = draftCrl({ ...header, now, entries })
        expect(listText({ ...header, issuedAt: now }, entries.map(entryText).join(','))).toBe(canonicalJson(unsigned))
      }),
    )
  })
})

describe('a served list', () => {
  it('equals the canonical form of its parsed content: built by appending, joined again, pruned, rewritten', async () => {
    const clock = new ManualClock()
    const na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
    try {
      const seed = async (validityHours: number): Promise<string> => {
        const { publicKey } = await testSigner('node', `text-${validityHours}`)
        const facts = { count: 1, node_public_key: publicKey, validityHours }
        return (await seedCertificates(na.parts, facts))[0]?.cert_id ?? ''
      }
      const check = async (): Promise<number> => {
        const answer = await na.request('GET', '/crl')
        expect(answer.text).toBe(canonicalJson(readJson(answer.text)))
        return (accepted(answer)['revoked_certificates'] as JsonObject[]).length
      }
      const revoke = async (body: JsonObject): Promise<void> => {
        accepted(await na.as('privileged')('POST', '/admin/revoke', body))
      }
      expect(await check()).toBe(0)
      const [short, long, longer] = [await seed(1), await seed(100), await seed(200)]
      await revoke({ cert_id: short })
      expect(await check()).toBe(1)
      await revoke({ cert_id: long })
      expect(await check()).toBe(2)
      // An entry gets another reason, so every entry is read again.
      await revoke({ cert_id: long, reason: 'key_compromise' })
      expect(await check()).toBe(2)
      // One entry is pruned.
      clock.advance(2 * 3600 + 1)
      await revoke({ cert_id: longer })
      expect(await check()).toBe(2)
    } finally {
      await na.stop()
    }
  })
})
