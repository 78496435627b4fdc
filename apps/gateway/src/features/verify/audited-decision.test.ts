import { describe, expect, it } from 'vitest'
import { toAudited, toAuditedBatch } from './audited-decision.ts'

const long = `UnknownIssuer { key_id: "${'k'.repeat(256)}" }`

describe('what the audit keeps of decisions', () => {
  it('short reasons as they are, long ones cut', () => {
    expect(toAudited({ trusted: false, reasons: ['NoSignatures', long] })).toEqual({
      trusted: false,
      reasons: ['NoSignatures', `${long.slice(0, 128)}…`],
    })
  })

  it('of a large batch no more than a bound, whatever key ids callers write', () => {
    const decision = { trusted: false, reasons: Array.from({ length: 8 }, () => long) }
    const audited = toAuditedBatch(Array.from({ length: 4096 }, () => decision))
    expect(audited).toHaveLength(4096)
    expect(audited[0]?.reasons).toHaveLength(8)
    expect(audited.at(-1)).toEqual({ trusted: false, reasons: ['UnknownIssuer'] })
    expect(JSON.stringify(audited).length).toBeLessThan(400_000)
  })

  it('never half a character', () => {
    const [reason = ''] = toAudited({ trusted: false, reasons: [`${'x'.repeat(127)}😀`] }).reasons
    expect(reason.isWellFormed()).toBe(true)
  })
})
