import { expect, it } from 'vitest'
import { readTraceParent } from './trace-parent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const GOOD = `00-${TRACE}-${SPAN}-01`

it.each([GOOD, `00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-03`])('reads %s', (text) => {
  expect(readTraceParent([text])).toEqual({ text, traceId: TRACE })
})

it.each<[string, readonly string[]]>([
  ['no header', []],
  ['two headers', [GOOD, GOOD]],
  ['an empty one', ['']],
  ['two joined', [`${GOOD}, ${GOOD}`]],
  ['capital letters', [GOOD.toUpperCase()]],
  ['version ff', [GOOD.replace(/^00/, 'ff')]],
  ['a later version', [GOOD.replace(/^00/, '01')]],
  ['a trace of zeros', [`00-${'0'.repeat(32)}-${SPAN}-01`]],
  ['a span of zeros', [`00-${TRACE}-${'0'.repeat(16)}-01`]],
  ['a short trace', [`00-${TRACE.slice(1)}-${SPAN}-01`]],
  ['more members', [`${GOOD}-x`]],
  ['a line feed', [`${GOOD}\n`]],
  ['a space before it', [` ${GOOD}`]],
])('ignores %s', (_name, values) => {
  expect(readTraceParent(values)).toBeUndefined()
})
