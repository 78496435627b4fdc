import type { Random } from '../lib/random.ts'

/**
 * Documents at every rule of protocol/core 1.1 to 1.3: about half are valid, the others almost valid. Bytes, because
 * ill-formed UTF-8 is one of the errors.
 */
export function makeDocument(random: Random): Uint8Array {
  const kind = random.below(100)
  if (kind < 45) return encode(value(random, 0))
  if (kind < 65) return encode(pad(random, number(random)))
  if (kind < 70) return encode(deep(random))
  if (kind < 75) return encode(pad(random, string(random)))
  if (kind < 97) return damage(random, encode(value(random, 0)))
  return Uint8Array.from({ length: random.below(24) }, () => random.below(256))
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** Returns a value with all difficult forms; containers get rarer with depth. */
function value(random: Random, depth: number): string {
  const kind = random.below(depth === 0 ? 60 : 100 + depth * 20)
  if (kind < 30) return pad(random, object(random, depth))
  if (kind < 60) return pad(random, array(random, depth))
  if (kind % 3 === 0) return pad(random, number(random))
  if (kind % 3 === 1) return pad(random, string(random))
  return pad(
    random,
    random.chance(1) ? random.pick(['True', 'nul', 'NaN', 'undefined']) : random.pick(['true', 'false', 'null']),
  )
}

/** White space of JSON, and sometimes characters that are white space elsewhere. */
function pad(random: Random, text: string): string {
  if (random.chance(80)) return text
  const space = random.chance(2)
    ? random.pick(['\f', '\v', '\u00a0', '\u2028', '\ufeff'])
    : random.pick([' ', '\t', '\n', '\r', ' \r\n'])
  return random.chance(50) ? space + text : text + space
}

function array(random: Random, depth: number): string {
  const items = Array.from({ length: random.below(5) }, () => value(random, depth + 1))
  return `[${items.join(',')}]`
}

// Names whose order, equality or spelling two readers may see differently.
// prettier-ignore
const NAMES = [
  'a', 'b', 'aa', 'A', '', '10', '9', '-1', '__proto__', 'constructor', 'toString', '\u007f', '"', '\\', '/', '\n',
  '\u0000', '\u00e9', 'e\u0301', '\ud7ff', '\ue000', '\uffff', '\ufeff', '\u{10000}', '\u{1f600}', '\u{1f600}a',
  '\u{10ffff}', 'a\u{1f600}',
] as const

function object(random: Random, depth: number): string {
  const names: string[] = []
  for (let count = random.below(6); count > 0; count -= 1) {
    const name = random.pick(NAMES)
    // Mostly distinct names; a repeated name is usually spelled differently.
    if (!names.includes(name) || random.chance(8)) names.push(name)
  }
  const members = names.map((name) => `${pad(random, memberName(random, name))}:${value(random, depth + 1)}`)
  return `{${members.join(',')}}`
}

/** Rarely with an unpaired surrogate, which the reader must find in names as well as in values. */
function memberName(random: Random, name: string): string {
  const spelled = spell(random, name)
  return random.chance(1) ? `"${unit(random, 0xd800 + random.below(0x800))}${spelled.slice(1)}` : spelled
}

/** Returns one of the many spellings of a string. */
function spell(random: Random, text: string): string {
  let out = '"'
  for (const character of text)
    out += mustEscape(character) || random.chance(25) ? escape(random, character) : character
  return `${out}"`
}

function mustEscape(character: string): boolean {
  return character === '"' || character === '\\' || character < ' '
}

// prettier-ignore
const SHORT = new Map([
  ['"', '\\"'], ['\\', '\\\\'], ['/', '\\/'], ['\b', '\\b'], ['\f', '\\f'], ['\n', '\\n'], ['\r', '\\r'], ['\t', '\\t'],
])

function escape(random: Random, character: string): string {
  const short = SHORT.get(character)
  if (short !== undefined && random.chance(50)) return short
  return Array.from({ length: character.length }, (_, i) => unit(random, character.charCodeAt(i))).join('')
}

function unit(random: Random, code: number): string {
  const hex = code.toString(16).padStart(4, '0')
  return `\\u${random.chance(50) ? hex : hex.toUpperCase()}`
}

function string(random: Random): string {
  let out = '"'
  for (let length = random.below(8); length > 0; length -= 1) out += piece(random)
  return `${out}"`
}

/** Returns a part of a string: valid in 97 of 100 cases. */
function piece(random: Random): string {
  const kind = random.below(100)
  if (kind < 35) return spell(random, String.fromCharCode(0x20 + random.below(0x60))).slice(1, -1)
  if (kind < 50) return spell(random, String.fromCodePoint(0x80 + random.below(0xd800 - 0x80))).slice(1, -1)
  if (kind < 60) return spell(random, String.fromCodePoint(0xe000 + random.below(0x2000))).slice(1, -1)
  if (kind < 75) return spell(random, String.fromCodePoint(0x10000 + random.below(0x100000))).slice(1, -1)
  if (kind < 85) return unit(random, random.below(0x20))
  if (kind < 97) return random.pick([...SHORT.values()] as [string, ...string[]])
  // prettier-ignore
  return random.pick([
    unit(random, 0xd800 + random.below(0x400)),
    unit(random, 0xdc00 + random.below(0x400)),
    unit(random, 0xdc00 + random.below(0x400)) + unit(random, 0xd800 + random.below(0x400)),
    unit(random, 0xd800) + unit(random, random.below(0xd800)),
    String.fromCharCode(random.below(0x20)),
    '\\x41', '\\u12', '\\u00g0', '\\u+041', '\\u 041', '\\U0041', "\\'", '\\0', '\\u{41}', '\\\n',
  ])
}

const EDGES = [0n, 10n ** 15n, 10n ** 16n, 2n ** 31n, 2n ** 53n, 2n ** 63n, 2n ** 64n, 10n ** 19n, 10n ** 20n] as const
// prettier-ignore
const EXTREMES = [
  '1.7976931348623157e308', '1.7976931348623158e308', '1.797693134862315807e308', '1.797693134862315808e308',
  '1.7976931348623159e308', '1e308', '1e309', '-1e309', '1e400', '1e99999', '1e-99999', '0e99999', '-0e-99999',
  '4.9e-324', '5e-324', '2.4e-324', '2.5e-324', '2.47032822920623272e-324', '2.47032822920623273e-324',
  '2.2250738585072014e-308', '2.2250738585072011e-308', '1e-05', '0.0001', '0.00001', '1e15', '1e16',
  '9999999999999998.0', '9999999999999999.0', '123456789012345680.0', '-0', '-0.0', '0.0', '1E5', '9.0e1', '90.00',
  '1e23', '8.5e22',
] as const
// prettier-ignore
const MALFORMED = [
  '-', '+1', '01', '-01', '00', '00.1', '1.', '.5', '-.5', '1e', '1e+', '1e-', '1.e5', '1e1.5', '--1', '0x10', '1_0',
  '1,0', 'NaN', 'Infinity', '-Infinity', '\uff11', '1\u0660', '1 2', '1e5e5', '1.2.3', '1n', '1f', '-a', 'inf',
  '1/2', '\u22121',
] as const

/** Returns a number token of any form. */
function number(random: Random): string {
  const kind = random.below(100)
  if (kind < 4) return random.pick(MALFORMED)
  if (kind < 14) return random.pick(EXTREMES)
  if (kind < 34) return nearEdge(random)
  if (kind < 42) return halfway(random)
  if (kind < 52) return digits(random, 1 + random.below(random.chance(5) ? 400 : 24))
  return respell(random, spellDouble(random, anyDouble(random)))
}

/** Returns an integer near the limits of exactness and range, sometimes written as a double. */
function nearEdge(random: Random): string {
  const exact = random.pick(EDGES) + BigInt(random.below(9) - 4)
  const text = String(random.chance(50) ? exact : -exact)
  return random.chance(70) ? text : text + random.pick(['.0', 'e0', '.5', 'E+0', '.000000000000000000001', 'e1', 'e-1'])
}

/** Returns the exact middle between two doubles, or a number next to it: rounding must use every digit. */
function halfway(random: Random): string {
  const mantissa = (2n ** 52n + ((BigInt(random.next()) << 20n) | BigInt(random.below(2 ** 20)))) * 2n + 1n
  const shift = random.below(random.chance(20) ? 1000 : 60)
  if (random.chance(30)) return `${mantissa << BigInt(shift)}.0${random.chance(50) ? '' : '1'}`
  const scaled = String(mantissa * 5n ** BigInt(shift)).padStart(shift + 1, '0')
  const point = scaled.length - shift
  const beside = random.pick(['', '0', '1', '00001'])
  return `${random.chance(50) ? '-' : ''}${scaled.slice(0, point)}.${scaled.slice(point) || '0'}${beside}`
}

function digits(random: Random, length: number): string {
  const some = (count: number): string => Array.from({ length: count }, () => random.below(10)).join('')
  const whole = `${1 + random.below(9)}${some(length - 1)}`
  const sign = random.chance(30) ? '-' : ''
  if (random.chance(40)) return sign + whole
  const fraction = random.chance(70) ? `.${some(1 + random.below(25))}` : ''
  return `${sign}${whole}${fraction}e${random.pick(['', '+', '-'])}${random.below(random.chance(50) ? 20 : 340)}`
}

/** All bit patterns are equally likely; denormals have a separate draw. */
function anyDouble(random: Random): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setUint32(0, random.chance(10) ? random.next() & 0x800fffff : random.next())
  view.setUint32(4, random.next())
  const bits = view.getFloat64(0)
  if (!Number.isFinite(bits)) return random.below(1000) / 100
  return random.chance(40) ? (bits % 1) * 10 ** random.below(24) : bits
}

function spellDouble(random: Random, double: number): string {
  const kind = random.below(4)
  if (kind === 0) return double.toExponential(random.below(25))
  if (kind === 1) return double.toPrecision(1 + random.below(25))
  if (kind === 2 && Math.abs(double) < 1e21) return double.toFixed(random.below(30))
  return String(double)
}

/** Spells the number differently: capital exponent, leading zeros in it, zeros after the fraction. */
function respell(random: Random, text: string): string {
  if (random.chance(60)) return text
  return text
    .replace('e', random.pick(['e', 'E']))
    .replace(
      /([eE][+-]?)(\d)/,
      (_whole, mark: string, digit: string) => `${mark}${random.pick(['', '0', '000'])}${digit}`,
    )
    .replace(/(\.\d+)/, (fraction) => fraction + random.pick(['', '0', '000']))
}

/** About 64 levels, which is the limit, rarely many more. */
function deep(random: Random): string {
  const levels = random.chance(5) ? 200 + random.below(3000) : 60 + random.below(9)
  const closers: string[] = []
  let out = ''
  for (let i = 0; i < levels; i += 1) {
    const isArray = random.chance(50)
    // Brackets inside strings do not count.
    out += isArray ? random.pick(['[', '[', '["[[",']) : `{"${random.pick(['a', '}', '\\"{'])}":`
    closers.push(isArray ? ']' : '}')
  }
  return out + random.pick(['1', '[]', '{}', '"]"', 'null']) + closers.toReversed().join('')
}

/** Makes a small change. The result is rarely valid, and both readers must still agree. */
function damage(random: Random, bytes: Uint8Array): Uint8Array {
  const at = random.below(bytes.length + 1)
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  const letters = '{}[],:"\\0123456789-+.eEtfnu \u007f\n'
  switch (random.below(8)) {
    case 0:
      return before.slice()
    case 1:
      return Uint8Array.of(...before, ...after.subarray(1))
    case 2:
      return Uint8Array.of(...before, random.below(256), ...after)
    case 3:
      return Uint8Array.of(...before, letters.charCodeAt(random.below(letters.length)), ...after)
    case 4:
      return Uint8Array.of(...before, letters.charCodeAt(random.below(letters.length)), ...after.subarray(1))
    case 5:
      return Uint8Array.of(...before, ...before.subarray(-1 - random.below(6)), ...after)
    case 6:
      return Uint8Array.of(...random.pick([[0xef, 0xbb, 0xbf], [0xfe, 0xff], [0], [0x20], [0x0a]]), ...bytes)
    default:
      return Uint8Array.of(...bytes, ...random.pick([[0], [0x20], [0x2c], [0x7d], [0x5d], [0xef, 0xbb, 0xbf], [0x31]]))
  }
}
