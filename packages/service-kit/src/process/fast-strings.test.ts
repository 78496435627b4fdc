import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

/** In a new process: code of other tests may have restored the fast form already. */
const SCRIPT = `
  import { restoreFastStrings } from ${JSON.stringify(new URL('fast-strings.ts', import.meta.url).href)}
  class Marked extends String {}
  const before = %HasFastProperties(String.prototype)
  restoreFastStrings()
  console.log(JSON.stringify([before, %HasFastProperties(String.prototype)]))
`

it('String.prototype has its fast form again after a class extended it', async () => {
  const args = ['--allow-natives-syntax', '--input-type=module', '--eval', SCRIPT]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(JSON.parse(stdout)).toEqual([false, true])
})
