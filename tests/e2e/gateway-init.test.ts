import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { GATEWAY_PAGE, runnablePages } from './runnable-pages.ts'
import type { Ran } from './runnable-pages.ts'
import { describePages } from './runnable-pages.suite.ts'

const all = describePages([GATEWAY_PAGE])

it('the gateway tutorial is one of the pages whose commands run', () => {
  expect(runnablePages()).toContain(GATEWAY_PAGE)
})

it('the tutorial leaves the caller token in its file only, and both services stop without an error', async () => {
  const ran = all().get(GATEWAY_PAGE) as Ran
  const read = (name: string): Promise<string> => readFile(join(ran.folder, name), 'utf8')
  const token = (await read('gateway/caller.token')).trim()
  expect(token).toMatch(/^gw1_/)
  const texts = [ran.output, ran.errors]
  for (const name of ['gateway/policy.json', 'gateway/gateway.env', 'authority.log', 'gateway.log', 'service.log'])
    texts.push(await read(name))
  for (const text of texts) expect(text).not.toContain(token)
  expect(await read('service.log')).toMatch(/^allowed: GET \/stock by /m)
  for (const log of ['authority.log', 'gateway.log']) expect(await read(log)).not.toMatch(/"level":"(?:error|fatal)"/)
})
