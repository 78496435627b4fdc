import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const MOST = { 'POST /join': 66, 'POST /admin/boundary/evaluate': 98, 'POST /verify of the gateway': 54 }

// A reader who follows a request reads these files. `--list` prints them.
it('a request runs through a limited number of files', async () => {
  const args = ['--conditions=development', join(import.meta.dirname, 'traced-files.ts')]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const counts = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(': '))
  expect(counts.map(([name]) => name)).toEqual(Object.keys(MOST))
  const over = counts.filter(([name = '', count]) => Number(count) > (MOST[name as keyof typeof MOST] ?? 0))
  expect(over).toEqual([])
}, 120_000)
