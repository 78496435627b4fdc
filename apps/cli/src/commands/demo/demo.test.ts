import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

it('a demo on a port that is taken names the port and leaves no folder', async () => {
  const setup = await TestContext.make()
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  try {
    const { code, stderr } = await setup.run(`demo --home demo --port ${port} --nodes 1`)
    expect([code, stderr]).toEqual([1, expect.stringContaining(`Port ${port} cannot be used: another program uses it`)])
    expect(await readdir(setup.folder)).toEqual([])
  } finally {
    taken.close()
    await setup.remove()
  }
})
