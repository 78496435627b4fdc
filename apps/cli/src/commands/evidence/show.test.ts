import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { accepted } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on' })
})
afterAll(() => network.close())

async function decide(capability: string): Promise<string> {
  const request = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id } = accepted(await network.na.as('privileged')('POST', '/admin/attestations', request), 201)
  const asked = await network.asOperator(
    `ask --as operator ${capability} --attestation ${String(attestation_id)} --quiet`,
  )
  return asked.stdout.trim()
}

it('evidence show prints a decision with its entries and verifies its signature', async () => {
  const id = await decide('secret.rotate')
  const { code, stdout, stderr } = await network.asOperator(`evidence show ${id}`)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('Allowed.')
  expect(stdout).toContain('signature: valid')
  for (const kind of ['decision', 'justification']) expect(stdout).toMatch(new RegExp(` ${kind} `))
  expect(stdout).toContain(`chancery evidence pack ${id} --out pack.json`)
  const denied = await network.asOperator(`evidence show ${await decide('secret.read')}`)
  expect(denied.code).toBe(0)
  expect(denied.stdout).toContain('Denied:')
})

it('evidence show names the search for an unknown decision', async () => {
  const { code, stderr } = await network.asOperator('evidence show nothing')
  expect([code, stderr]).toEqual([1, expect.stringContaining('chancery evidence list')])
})

it('evidence show refuses the signed record of another decision', async () => {
  const [allowed, denied] = [await decide('secret.rotate'), await decide('secret.read')]
  const path = `/admin/evidence?decision_id=${allowed}&limit=1000`
  const { text } = await network.na.as('privileged')('GET', path)
  const proxy = createServer((request, response) => {
    const isEvidence = request.url?.startsWith('/admin/evidence') === true
    const forward = async (): Promise<string> => (await fetch(`${network.na.url}${request.url}`)).text()
    void (isEvidence ? Promise.resolve(text) : forward()).then((body) => response.end(body))
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  try {
    const { port } = proxy.address() as AddressInfo
    const { code, stdout, stderr } = await network.asOperator(`evidence show ${denied} --url http://127.0.0.1:${port}`)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('returned records of another decision')
  } finally {
    proxy.closeAllConnections()
    proxy.close()
  }
})
