import { EMPTY_STORE, NO_SUBJECT, chainEntry, toUtf8 } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { ResponseError } from '../errors.ts'
import type { Call, Connection } from '../http/call.ts'
import { exportPages, linesOf } from './evidence.ts'

/** A store with entries after `removed`; `read` sees each page that was asked for and may hold it back. */
function storeOf(
  last: () => number,
  removed: () => number,
  read: (after: number) => void | Promise<void> = () => undefined,
): Connection {
  const call = async ({ query, read: readAnswer }: Call<unknown>): Promise<unknown> => {
    const after = Number(query?.['since_sequence'])
    await read(after)
    const first = Math.max(after, removed()) + 1
    const count = Math.max(0, Math.min(1000, last() - first + 1))
    const body = toUtf8(Array.from({ length: count }, (_, at) => `${lineAt(first + at)}\n`).join(''))
    return readAnswer({ status: 200, body } as Parameters<typeof readAnswer>[0])
  }
  return { call } as unknown as Connection
}

function lineAt(sequence: number): string {
  const head = { ...EMPTY_STORE, store_sequence: sequence - 1 }
  return chainEntry(head, { ...NO_SUBJECT, entry_kind: 'rejection' }, '{}', '2027-01-01T00:00:00Z').line
}

async function sequencesOf(connection: Connection, since = 0): Promise<number[]> {
  const found: number[] = []
  for await (const page of exportPages(connection, since, undefined))
    for (const line of linesOf(page)) found.push(Number(/"store_sequence":(\d+)/.exec(line)?.[1]))
  return found
}

const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, at) => first + at)

describe('exportPages', () => {
  it.each([
    [0, 0, 0],
    [1, 0, 0],
    [999, 0, 0],
    [1000, 0, 0],
    [1001, 0, 0],
    [3500, 0, 0],
    [3500, 0, 1234],
    [3500, 700, 0],
    [3500, 700, 1700],
  ])('gives each entry once, in order: %i entries, %i removed, after %i', async (last, removed, since) => {
    const store = storeOf(
      () => last,
      () => removed,
    )
    expect(await sequencesOf(store, since)).toEqual(range(Math.max(removed, since) + 1, last))
  })

  it('asks for two pages ahead of a caller that does not read, and for no more', async () => {
    const asked: number[] = []
    const pages = exportPages(
      storeOf(
        () => 9000,
        () => 0,
        (after) => void asked.push(after),
      ),
      0,
      undefined,
    )
    await pages.next()
    await new Promise((resolve) => setImmediate(resolve))
    expect(asked).toEqual([0, 1000, 2000])
    await pages.next()
    await new Promise((resolve) => setImmediate(resolve))
    expect(asked).toEqual([0, 1000, 2000, 3000])
    await pages.return()
  })

  it('drops a page that was asked for at the wrong place, because entries were removed meanwhile', async () => {
    let removed = 0
    const store = storeOf(
      () => 4000,
      () => removed,
      (after) => {
        if (after === 1000) removed = 1300
      },
    )
    expect(await sequencesOf(store)).toEqual([...range(1, 1000), ...range(1301, 4000)])
  })

  it('ends with the first page that is not full, also when entries were added after it was read', async () => {
    let last = 1500
    const store = storeOf(
      () => last,
      () => 0,
      (after) => {
        if (after === 2000) last = 5000
      },
    )
    const found = await sequencesOf(store)
    expect(found).toEqual(range(1, found.length))
  })

  it.each([
    ['a page that repeats the last one', `${lineAt(1)}\n`, 1, 'does not follow'],
    ['a last line that is no entry', '{}\n', 0, 'cannot be read'],
    ['a line that was cut', lineAt(1), 0, 'does not end with a line feed'],
  ])('refuses %s', async (_name, body, since, problem) => {
    const call = async ({ read }: Call<unknown>): Promise<unknown> =>
      read({ status: 200, body: toUtf8(body) } as Parameters<typeof read>[0])
    await expect(sequencesOf({ call } as unknown as Connection, since)).rejects.toThrow(problem)
  })

  it('asks for compressed pages, and for plain ones after a compressed answer without its length', async () => {
    const store = storeOf(
      () => 2500,
      () => 0,
    )
    const asked: (boolean | undefined)[] = []
    let refuses = true
    const call = async (given: Call<unknown>): Promise<unknown> => {
      asked.push(given.takesGzip)
      if (given.takesGzip === true && refuses)
        throw new ResponseError({ status: 200, requestId: undefined, problem: 'it is compressed' })
      return store.call(given)
    }
    const connection = { ...store, call } as unknown as Connection
    const entries = async (compressed: boolean): Promise<number> => {
      let count = 0
      for await (const page of exportPages(connection, 0, { compressed })) count += page.entries
      return count
    }
    expect(await entries(true)).toBe(2500)
    expect([asked[0], asked.at(-1)]).toEqual([true, undefined])
    refuses = false
    asked.length = 0
    expect([await entries(true), new Set(asked)]).toEqual([2500, new Set([true])])
    asked.length = 0
    expect([await entries(false), new Set(asked)]).toEqual([2500, new Set([undefined])])
  })
})
