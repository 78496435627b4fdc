import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

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

it('agent list finds agents by prefix, capability, host, key and state, and agent capabilities counts them', async () => {
  const list = async (flags: string): Promise<readonly string[]> =>
    (await network.asOperator(`agent list --quiet ${flags}`)).stdout.trim().split('\n').filter(Boolean).sort()
  await network.join('three')
  await network.run(
    'agent register --home three --agent-id payer --capability pay.invoice --endpoint https://pay.example --once',
  )
  expect(await list('--search pay')).toEqual(['payer'])
  expect(await list('--search llm')).toEqual(['llm-1', 'llm-2'])
  expect(await list('--capability pay.invoice')).toEqual(['payer'])
  expect(await list('--host pay.example')).toEqual(['payer'])
  expect(await list('--node-key three/node.pub')).toEqual(['payer'])
  expect(await list('--state silent')).toEqual([])
  expect(await list('--expires-before 2000-01-01T00:00:00Z')).toEqual([])
  expect((await network.asOperator('agent list --search none')).stdout).toContain('No agent matches.')
  const { stdout } = await network.asOperator('agent list --count-by capability')
  expect(stdout).toMatch(/llm:chat +2\n *pay\.invoice +1\n/)
  expect((await network.asOperator('agent list --count-by capability --search pay --quiet')).stdout).toBe(
    'pay.invoice\n',
  )
  expect((await network.asOperator('agent list --count-by capability --limit 1')).stdout).toContain('Shows 1 of 2.')
  expect((await network.asOperator('agent list --count-by capability --all --json')).json()).toMatchObject({
    count: 2,
    total: 2,
  })
})
