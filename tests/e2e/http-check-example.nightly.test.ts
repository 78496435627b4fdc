import { execFile, spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { COMPILE_CACHE } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { PROXIES } from '../instances/check-proxies.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** Runs examples/http-check with the built program, as a reader does. */
it('the example of the HTTP check shows allowed, denied and revoked requests, and stays closed without a gateway', async () => {
  const path = [join(ROOT, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter)
  const env = { ...COMPILE_CACHE, PATH: path }
  const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'examples/http-check/run.ts')], { env })
  for (const proxy of PROXIES) {
    expect(spawnSync(proxy, ['-v']).error).toBeUndefined()
    const lines = stdout.split('\n').filter((line) => line.trim().startsWith(`${proxy} `))
    const statuses = lines.map((line) => /(\d{3}) (reached the service|stopped)/.exec(line)?.slice(1, 3).join(' '))
    expect(statuses.slice(0, 7), stdout).toEqual([
      '401 stopped',
      '200 reached the service',
      '403 stopped',
      '200 reached the service',
      '403 stopped',
      '403 stopped',
      '200 reached the service',
    ])
    expect(statuses[7]).toMatch(/^(?:403|50\d) stopped$/)
    expect(lines[3]).toMatch(/decision [\w-]{36}$/)
  }
  expect(stdout).toContain('Every request had the expected result.')
}, 240_000)
