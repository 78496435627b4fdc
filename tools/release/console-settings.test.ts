import { join } from 'node:path'
import { build } from 'vite'
import { expect, it } from 'vitest'
import { CONSOLE_SETTINGS } from './console-settings.ts'

const ROOT = join(import.meta.dirname, '..', '..')

it('a script has no path of the machine that built it, whatever NODE_ENV is', async () => {
  expect(process.env['NODE_ENV']).toBe('test')
  const input = join(ROOT, 'apps/console/src/explorer/main.tsx')
  const output = await build({ ...CONSOLE_SETTINGS, root: ROOT, build: { write: false, rolldownOptions: { input } } })
  const files = [output].flat().flatMap((one) => ('output' in one ? one.output : []))
  const scripts = files.flatMap((file) => (file.type === 'chunk' ? [file.code] : []))
  expect(scripts.join('').length).toBeGreaterThan(10_000)
  for (const script of scripts) expect(script.includes(ROOT)).toBe(false)
})
