import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromBase64, toBase64 } from './base64.ts'

describe('toBase64', () => {
  it('gives what the platform gives', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
      }),
    )
  })
})

describe('fromBase64', () => {
  it('reads back every encoding', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(fromBase64(toBase64(bytes))).toEqual(bytes)
      }),
    )
  })

  it('accepts only texts that encode to themselves, so no two texts name one key', () => {
    const letters = fc.constantFrom(...'ABYZabyz019+/=-_ \n\u00e9')
    fc.assert(
      fc.property(fc.string({ unit: letters, maxLength: 12 }), (text) => {
        const bytes = fromBase64(text)
        if (bytes !== undefined) expect(toBase64(bytes)).toBe(text)
        // The other way round: refused texts are not the platform's encoding of anything.
        else expect(Buffer.from(text, 'base64').toString('base64')).not.toBe(text)
      }),
      { numRuns: 20_000 },
    )
  })

  it('accepts exactly one spelling of each last group', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const accepted = (texts: string[]): number => texts.filter((text) => fromBase64(text) !== undefined).length
    // One byte is written in two digits (64 × 64 spellings, 256 bytes), two bytes in three (4 spellings of the last).
    expect(accepted([...alphabet].flatMap((a) => [...alphabet].map((b) => `${a}${b}==`)))).toBe(256)
    expect(accepted([...alphabet].map((c) => `AA${c}=`))).toBe(16)
  })

  it.each([
    ['missing padding', 'AAA'],
    ['missing half of the padding', 'AA='],
    ['padding only', '===='],
    ['three padding characters', 'A==='],
    ['too much padding', 'AAAA===='],
    ['padding inside', 'AA==AAAA'],
    ['padding before a digit', 'A=AA'],
    ['stray bits, one byte', 'AB=='],
    ['stray bits, two bytes', 'AAB='],
    ['url alphabet', 'A-_A'],
    ['white space inside', 'AA AA'],
    ['line end', 'AAAA\n'],
    ['leading space', ' AAA'],
    ['beyond ASCII', 'AA\u00c1A'],
    ['a letter whose low byte is a digit', 'AA\u0141A'],
  ])('refuses %s', (_name, text) => {
    expect(fromBase64(text)).toBeUndefined()
  })
})
