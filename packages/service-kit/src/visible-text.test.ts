import { describe, expect, it } from 'vitest'
import { visibleText } from './visible-text.ts'

describe('visibleText', () => {
  it.each([
    ['plain', 'plain', 'plain'],
    ['letters of any script', 'Zürich 東京 🏛', 'Zürich 東京 🏛'],
    ['a forged line', 'a\r\nERROR forged', 'a\\u000d\\u000aERROR forged'],
    ['a terminal escape', '\u001b[31mred', '\\u001b[31mred'],
    ['the eight-bit escape', '\u009b31m', '\\u009b31m'],
    ['NUL and DEL', '\u0000\u007f', '\\u0000\\u007f'],
    ['a bidirectional override', 'abc\u202egnp.exe', 'abc\\u202egnp.exe'],
    ['Unicode line ends', 'a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
    ['a tag character', 'a\u{e0041}', 'a\\u{e0041}'],
    ['a lone surrogate', 'a\ud800', 'a\ufffd'],
  ])('shows %s', (_name, text, shown) => {
    expect(visibleText(text, 100)).toBe(shown)
  })

  it('cuts after the length and says so', () => {
    expect(visibleText('x'.repeat(10), 10)).toBe('x'.repeat(10))
    expect(visibleText('x'.repeat(11), 10)).toBe(`${'x'.repeat(10)}…`)
  })

  it('does not leave half a character where it cuts', () => {
    expect(visibleText('a🏛b', 2)).toBe('a\ufffd…')
  })
})
