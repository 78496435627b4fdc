import { expect, it } from 'vitest'
import type { RunningGateway } from './app.ts'
import { reloader } from './main.ts'

it('a reload asked for during the start runs after it, and reloads never overlap', async () => {
  const started = Promise.withResolvers<RunningGateway>()
  const ask = reloader(started.promise)
  const seen: string[] = []
  ask()
  ask()
  await new Promise((done) => setImmediate(done))
  expect(seen).toEqual([])
  const ended = Promise.withResolvers<undefined>()
  const reload = async (): Promise<void> => {
    seen.push('begins')
    await new Promise((done) => setImmediate(done))
    seen.push('ends')
    if (seen.length === 4) ended.resolve(undefined)
  }
  started.resolve({ reload } as unknown as RunningGateway)
  await ended.promise
  expect(seen).toEqual(['begins', 'ends', 'begins', 'ends'])
})
