import { describe, expect, it } from 'vitest'
import { visible } from './visible.ts'

describe('visible', () => {
  it.each([
    ['plain', 'plain', 'plain'],
    ['letters of any script', 'Zürich 東京 🏛', 'Zürich 東京 🏛'],
    ['a forged line', 'a\r\nERROR forged', 'a\\u000d\\u000aERROR forged'],
    ['a terminal escape', '\u001b[31mred', '\\u001b[31mred'],
    ['the eight-bit escape', '\u009b31m', '\\u009b31m'],
    ['NUL and DEL', '\u0000\u007f', '\\u0000\\u007f'],
    ['a bidirectional override', 'abc\u202egnp.exe', 'abc\\u202egnp.exe'],
    ['Unicode line ends', 'a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
    ['a tag character', 'a\u{e0041}', 'a\\udb40\\udc41'],
    ['a lone surrogate', 'a\ud800', 'a\ufffd'],
  ])('shows %s', (_name, text, shown) => {
    expect(visible(text, { maxLength: 100 })).toBe(shown)
  })

  it('cuts after the length and says so', () => {
    expect(visible('x'.repeat(10), { maxLength: 10 })).toBe('x'.repeat(10))
    expect(visible('x'.repeat(11), { maxLength: 10 })).toBe(`${'x'.repeat(10)}…`)
  })

  it('does not leave half a character where it cuts', () => {
    expect(visible('a🏛b', { maxLength: 2 })).toBe('a\ufffd…')
  })
})

describe('visible with keepLineBreaks', () => {
  it('leaves the meaning of a JSON text as it is', () => {
    const value = { 'a\u009b\u007f': ['\u202e\u200b\\', '\u{e0041}\u0000\n'] }
    const shown = visible(JSON.stringify(value), { keepLineBreaks: true })
    expect(shown).toMatch(/^[ -~]*$/)
    expect(JSON.parse(shown)).toEqual(value)
  })

  it('keeps line breaks and shows everything else', () => {
    expect(visible('a\n\r\u001b[2J\u009b2J\tb\u200b\n', { keepLineBreaks: true })).toBe(
      'a\n\\u000d\\u001b[2J\\u009b2J\\u0009b\\u200b\n',
    )
  })
})
