import { JsonFloat, type JsonValue } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { JSON_TEXT, NUMBER_TEXT, SCALAR_LINES, SCALAR_TEXT, TEXT_LINES, isSame } from './field-text.ts'

describe('a field of the form', () => {
  it.each([
    ['1000', 1000],
    ['1000.0', new JsonFloat(1000)],
    ['1e3', new JsonFloat(1000)],
    ['0.5', new JsonFloat(0.5)],
    ['18446744073709551615', 18446744073709551615n],
    ['1.', '1.'],
    ['0x10', '0x10'],
    ['1e999', '1e999'],
    ['', undefined],
  ] as const)('reads the number %j with its type, and another text as it is', (text, value) => {
    expect(NUMBER_TEXT.read(text)).toEqual(value)
  })

  it.each<readonly [JsonValue[], string]>([
    [['EUR', 'CHF'], 'EUR\nCHF'],
    [['5', 5, new JsonFloat(5), true, 'true', null, 'null'], '"5"\n5\n5.0\ntrue\n"true"\nnull\n"null"'],
    [['', ' a', 'a\nb', '"x'], '""\n" a"\n"a\\nb"\n"\\"x"'],
    [['1e999', '.5', '+5', '007', '0x10', '0,5'], '"1e999"\n".5"\n"+5"\n"007"\n"0x10"\n"0,5"'],
    [['99999999999999999999', '{a', '[b]'], '"99999999999999999999"\n"{a"\n"[b]"'],
    [['10.0.0.1', '2027-01-14', 'pay.5', '-'], '10.0.0.1\n2027-01-14\npay.5\n-'],
    [[{ a: [1] }, [new JsonFloat(2)]], '{ "a": [ 1 ] }\n[ 2.0 ]'],
  ])('shows the values %j, one per line, and reads the same values', (values, text) => {
    expect(SCALAR_LINES.write(values)).toBe(text)
    expect(isSame(SCALAR_LINES.read(`${text}\n\n`), values)).toBe(true)
  })

  it.each(['1e999', '.5', '+5', '99999999999999999999', '1.', '1,000', '{a', '[b', ' -.5 '])(
    'reports the line %j, which is read as a text, until it is in quotes',
    (line) => {
      const report = 'Line 3 is a text. Write it in quotes, or correct the number.'
      expect(SCALAR_LINES.findLoose?.(`EUR\n\n${line}\n5`)).toBe(report)
      expect(SCALAR_TEXT.findLoose?.(line)).toBe('This is a text. Write it in quotes, or correct the number.')
      expect(SCALAR_LINES.findLoose?.(SCALAR_LINES.write(['EUR', line.trim(), '5']))).toBeUndefined()
    },
  )

  it('reports no line that is a number, a text, a boolean, null, or a list that the authority refuses', () => {
    expect(SCALAR_LINES.findLoose?.('5\n-0.5\n1e3\nEUR\n10.0.0.1\ntrue\nnull\n"5"\n[1]\n\n')).toBeUndefined()
    expect(SCALAR_LINES.read('[1]\n{"a": 2}')).toEqual([[1], { a: 2 }])
  })

  it('reads every line of a list of texts as a text', () => {
    expect(TEXT_LINES.read('pay.*\n 5 \ntrue\n\n"a b "')).toEqual(['pay.*', '5', 'true', 'a b '])
    expect(TEXT_LINES.read(' \n')).toBeUndefined()
  })

  it('keeps what is not JSON as a text, which the authority refuses', () => {
    expect(JSON_TEXT.read('{"a": 1.0}')).toEqual({ a: new JsonFloat(1) })
    expect(JSON_TEXT.read('{"a": 1')).toBe('{"a": 1')
    expect([SCALAR_TEXT.read('null'), JSON_TEXT.read('null')]).toEqual([null, null])
  })

  it('distinguishes 1 and 1.0, as the signature does', () => {
    expect(isSame(1, new JsonFloat(1))).toBe(false)
    expect(isSame({ a: [1] }, { a: [1] })).toBe(true)
    expect(isSame(undefined, null)).toBe(false)
  })
})
