import { availableParallelism } from 'node:os'
import { expect, it } from 'vitest'
import { workerCount } from './worker-count.ts'

it('reads a number of workers or auto', () => {
  expect([workerCount('1'), workerCount('64'), workerCount('auto')]).toEqual([
    1,
    64,
    Math.min(availableParallelism(), 64),
  ])
  for (const wrong of ['0', '65', '-1', '1.5', '', ' 2', 'AUTO', '02', '100'])
    expect(() => workerCount(wrong)).toThrow('must be a whole number from 1 to 64, or auto')
})
