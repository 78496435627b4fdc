import { getPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'

const STEPS_BACK = `
  import { getPriority } from 'node:os'
  import { parentPort } from 'node:worker_threads'
  const before = getPriority(0)
  const { lowerThreadPriority } = await import(${JSON.stringify(new URL('index.ts', import.meta.url).href)})
  lowerThreadPriority()
  parentPort.postMessage([before, getPriority(0)])
`

it.runIf(process.platform === 'linux')('lowers the priority of its own thread only', async () => {
  const before = getPriority(process.pid)
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(STEPS_BACK)}`))
  const [atFirst, now] = await new Promise<number[]>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  expect(now, 'run the tests with nice 18 or lower').toBeGreaterThan(atFirst ?? Number.NaN)
  expect(getPriority(process.pid)).toBe(before)
  await worker.terminate()
})
