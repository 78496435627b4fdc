import type { JsonObject } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { KnownTools, ListUnavailableError } from './known-tools.ts'

const LIST: JsonObject = { tools: [{ name: 'read' }] }

it('asks again after a list that failed, and never takes it for an empty list', async () => {
  const known = new KnownTools()
  const answers: (JsonObject | undefined)[] = [undefined, LIST]
  const ask = (): Promise<JsonObject | undefined> => Promise.resolve(answers.shift())
  await expect(known.find('read', ask, undefined)).rejects.toThrow(ListUnavailableError)
  expect((await known.find('read', ask, undefined))?.digest).toMatch(/^[0-9a-f]{64}$/)
  expect(await known.find('absent', ask, undefined)).toBeUndefined()
})

it('lists again after a minute and after a change of the server, and not before', async () => {
  let [now, count] = [0, 0]
  const known = new KnownTools(() => now)
  const ask = (): Promise<JsonObject> => {
    count += 1
    return Promise.resolve(LIST)
  }
  const counts: number[] = []
  for (const step of [() => 0, () => (now = 59_000), () => (now = 61_000), () => known.clear()]) {
    step()
    await known.find('read', ask, undefined)
    counts.push(count)
  }
  expect(counts).toEqual([1, 1, 2, 3])
})

it('reads all pages, without the progress token of the caller', async () => {
  const asked: JsonObject[] = []
  const pages: JsonObject[] = [{ ...LIST, nextCursor: '2' }, { tools: [{ name: 'write' }] }]
  const ask = (_method: string, params: JsonObject): Promise<JsonObject | undefined> => {
    asked.push(params)
    return Promise.resolve(pages.shift())
  }
  expect(await new KnownTools().find('write', ask, { progressToken: 1, key: 'x' })).toBeDefined()
  expect(asked).toEqual([{ _meta: { key: 'x' } }, { _meta: { key: 'x' }, cursor: '2' }])
})
