import { describe, expect, it } from 'vitest'
import { toAudited, toAuditedBatch } from './audited-decision.ts'

const long = `UnknownIssuer { key_id: "${'k'.repeat(256)}" }`

describe('the audited part of decisions', () => {
  it('has short reasons unchanged, and long ones cut', () => {
    expect(toAudited({ trusted: false, reasons: ['NoSignatures', long] })).toEqual({
      trusted: false,
      reasons: ['NoSignatures', `${long.slice(0, 128)}…`],
    })
  })

  it('has a size limit for a large batch with any key ids', () => {
    const decision = { trusted: false, reasons: Array.from({ length: 8 }, () => long) }
    const audited = toAuditedBatch(Array.from({ length: 4096 }, () => decision))
    expect(audited).toHaveLength(4096)
    expect(audited[0]?.reasons).toHaveLength(8)
    expect(audited.at(-1)).toEqual({ trusted: false, reasons: ['UnknownIssuer'] })
    expect(JSON.stringify(audited).length).toBeLessThan(400_000)
  })

  it('never cuts a character in half', () => {
    const [reason = ''] = toAudited({ trusted: false, reasons: [`${'x'.repeat(127)}😀`] }).reasons
    expect(reason.isWellFormed()).toBe(true)
  })
})
