import { describe, expect, it } from 'vitest'
import { ProxyReader } from '../features/proxy/send.ts'

const MIB = 1024 * 1024
const ALWAYS = (): void => undefined
/** The slowest body of that size. */
const slow = Buffer.from(`{"a":[${`${'['.repeat(60)}${']'.repeat(60)},`.repeat(8600)}0]}`)

describe('callers of one thread are served round robin', () => {
  it('a caller with one long body waits for one piece of a caller with many', async () => {
    const reader = new ProxyReader()
    try {
      const order: string[] = []
      const ask = async (id: string): Promise<void> => {
        expect(await reader.kindOfBody(slow, { id, check: ALWAYS })).toBe('object')
        order.push(id)
      }
      const greedy = Array.from({ length: 6 }, () => ask('greedy'))
      await Promise.all([...greedy, ask('other')])
      expect(order.indexOf('other')).toBeLessThanOrEqual(1)
      expect(order).toHaveLength(7)
    } finally {
      await reader.close()
    }
  })

  it('work without a waiting caller is not started', async () => {
    const reader = new ProxyReader()
    try {
      const late = {
        id: 'late',
        check: () => {
          throw new Error('too late')
        },
      }
      const [first, second] = [reader.kindOfBody(slow, { id: 'late', check: ALWAYS }), reader.kindOfBody(slow, late)]
      await expect(second).rejects.toThrow('too late')
      expect(await first).toBe('object')
    } finally {
      await reader.close()
    }
  })
})

describe('long bodies and responses', () => {
  it.each([
    ['an object', `{"a":"${'x'.repeat(MIB)}"}`, 'object'],
    ['an array', `["${'x'.repeat(MIB)}"]`, 'other'],
    ['a repeated name', `{"a":1,"b":"${'x'.repeat(MIB)}","a":2}`, 'invalid'],
    ['half of it', `{"a":"${'x'.repeat(MIB)}`, 'invalid'],
  ])('%s gives the result of a short one', async (_what, text, kind) => {
    const reader = new ProxyReader()
    try {
      expect(await reader.kindOfBody(Buffer.from(text), { id: 'x', check: ALWAYS })).toBe(kind)
    } finally {
      await reader.close()
    }
  })

  it('responses must be JSON, or JSON lines', async () => {
    const reader = new ProxyReader()
    const caller = { id: 'x', check: ALWAYS }
    const line = `{"a":"${'x'.repeat(1000)}"}\n`
    try {
      expect(await reader.hasForm(Buffer.from(line.repeat(1000)), 'json-lines', caller)).toBe(true)
      expect(await reader.hasForm(Buffer.from(line.repeat(1000)), 'json', caller)).toBe(false)
      expect(await reader.hasForm(Buffer.from(`${line.repeat(1000)}no`), 'json-lines', caller)).toBe(false)
      expect(await reader.hasForm(Buffer.concat([Buffer.from(line), Buffer.alloc(MIB, 0xff)]), 'json', caller)).toBe(
        false,
      )
    } finally {
      await reader.close()
    }
  })
})
