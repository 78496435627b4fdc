import { afterAll, beforeAll, expect, it } from 'vitest'
import { openNetwork } from '../../testing/real-authority.suite.ts'
import type { RealNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
beforeAll(async () => {
  network = await openNetwork()
})
afterAll(() => network.close())

async function register(home: string, id: string): Promise<void> {
  await network.join(home)
  const { code } = await network.run(
    `agent register --home ${home} --agent-id ${id} --capability llm:chat --endpoint wss://198.51.100.7:7448 --once`,
  )
  expect(code).toBe(0)
}

it('agent list lists the agents of all nodes, and prints ids only with --quiet', async () => {
  expect((await network.asOperator('agent list')).stdout).toContain('No agent is registered.')
  expect((await network.asOperator('agent list --quiet')).stdout).toBe('')
  await network.join('without-agent')
  await register('one', 'llm-1')
  const { code, stdout } = await network.asOperator('agent list')
  expect(code).toBe(0)
  expect(stdout).toContain('1 agent; its signature is valid.')
  await register('two', 'llm-2')
  expect((await network.asOperator('agent list --all --json')).json()).toMatchObject({ count: 2, total: 2 })
  expect((await network.asOperator('agent list --quiet')).stdout.trim().split('\n').sort()).toEqual(['llm-1', 'llm-2'])
  expect((await network.asOperator('agent list --limit 1')).stdout).toContain('Shows 1 of 2.')
})
