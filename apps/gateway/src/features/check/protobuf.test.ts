import { GatewayRefusal } from '@chancery/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readCheckRequest } from './grpc-listener.ts'
import { field, message, readFields } from './protobuf.ts'

/** A CheckRequest with headers as a list of pairs. */
function question(headers: readonly (readonly [string, string])[]): Uint8Array {
  const pairs = headers.map(([name, value]) => field(3, message(field(1, name), field(2, value))))
  return field(1, field(4, field(2, message(field(2, 'GET'), ...pairs, field(4, '/printers')))))
}

/** Returns the request, or undefined when it is refused. Any other error fails the test. */
function read(bytes: Uint8Array): ReturnType<typeof readCheckRequest> | undefined {
  try {
    return readCheckRequest(bytes)
  } catch (error) {
    if (error instanceof GatewayRefusal) return undefined
    throw error
  }
}

describe('messages of protocol buffers', () => {
  it('has all values of a repeated field, in their order', () => {
    const values = Array.from({ length: 900 }, (_, n) => field(7, `v${n}`))
    const read = readFields(message(...values)).get(7) ?? []
    expect(read.map((value) => Buffer.from(value as Uint8Array).toString())).toEqual(
      Array.from({ length: 900 }, (_, n) => `v${n}`),
    )
  })

  it('refuses a message with more fields than a question has, wherever they are', () => {
    const empty = (count: number): Uint8Array => message(...Array.from({ length: count }, () => field(15, '')))
    expect(readFields(empty(1000)).get(15)).toHaveLength(1000)
    expect(() => readFields(empty(1001))).toThrow(GatewayRefusal)
    expect(read(message(question([]), empty(1000)))).toBeUndefined()
    expect(read(question(Array.from({ length: 1000 }, () => ['a', 'b'] as const)))).toBeUndefined()
  })

  it('reads a megabyte of fields in linear time', () => {
    const large = new Uint8Array(1_000_000).fill(0)
    for (let at = 0; at < large.length; at += 2) large[at] = 0x0a
    const began = performance.now()
    expect(() => readFields(large)).toThrow(GatewayRefusal)
    expect(performance.now() - began).toBeLessThan(500)
  })

  it('reads what it wrote, and refuses or reads any change of it without another error', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '-', ' '), maxLength: 12 })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, text), { maxLength: 20 }),
        fc.array(fc.tuple(fc.nat(2000), fc.nat(255)), { maxLength: 4 }),
        fc.option(fc.nat(2000)),
        (headers, changes, cut) => {
          const whole = question(headers)
          expect(read(whole)?.names).toEqual(headers.map(([name]) => name.toLowerCase()))
          const changed = Uint8Array.from(whole.subarray(0, cut ?? whole.length))
          for (const [at, value] of changes) if (at < changed.length) changed[at] = value
          read(changed)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('refuses or reads any bytes without another error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        read(bytes)
      }),
      { numRuns: 3000 },
    )
  })
})
