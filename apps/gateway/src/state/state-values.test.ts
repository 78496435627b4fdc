import { canonicalJson, sha256Hex } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { type FactRow, digestOfRow } from './state-values.ts'

const MIB = 1_048_576

it.each<[string, FactRow]>([
  ['short', ['checkpoints', 'n', 7, '"é"']],
  ['nothing but a table', ['checkpoints']],
  ['long', ['checkpoints', 'n', 7, '{"a":"\\u00e9"}'.repeat(200_000), 0, 'é'.repeat(MIB + 1)]],
  [
    'a character of two units where a piece would end',
    ['checkpoints', `${'x'.repeat(MIB - 1)}\u{1f600}${'y'.repeat(MIB)}`],
  ],
])('a row (%s) has the digest of its canonical form, in pieces of any size', (_name, row) => {
  expect(digestOfRow(row)).toBe(BigInt(`0x${sha256Hex(canonicalJson([...row]))}`))
})
