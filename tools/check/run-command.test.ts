import { expect, it } from 'vitest'
import { NOT_RUN, runCommand } from './run-command.ts'

it.each([
  [0, { isGood: true, isRun: true }],
  [1, { isGood: false, isRun: true }],
  // Neither passed nor failed.
  [NOT_RUN, { isGood: false, isRun: false }],
])('a program that ends with %i', async (code, ended) => {
  expect(await runCommand(['node', '-e', `console.log('why'); process.exit(${code})`], 60)).toEqual({
    ...ended,
    output: 'why\n',
  })
})
