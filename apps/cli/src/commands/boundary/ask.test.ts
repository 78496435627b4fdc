import { readFile, writeFile } from 'node:fs/promises'
import type { JsonObject } from '@chancery/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network = undefined as unknown as RealNetwork
let attestation: string
beforeAll(async () => {
  network = await openNetwork({ NA_NODE_DECISIONS: 'partners' })
  const { json } = await network.join('node', '--json')
  const key = String((json()['certificate'] as JsonObject)['node_public_key'])
  const line = `attestation issue ${key} --role role:client --capability ledger.read --out member.json --json`
  const issued = await network.asOperator(line)
  attestation = String(issued.json()['attestation_id'])
})
afterAll(() => network.close())

describe('ask', () => {
  it('needs no operator key, and saves the decision of an allowed request', async () => {
    const allowed = await network.run(`ask ledger.read --home node --attestation ${attestation} --out decision.json`)
    expect([allowed.code, allowed.stderr]).toEqual([0, ''])
    expect(allowed.stdout).toContain('Allowed.')
    expect(await readFile(network.setup.path('decision.json'), 'utf8')).toContain('"authorized":true')
  })

  it('reads the id of the attestation from its file', async () => {
    const allowed = await network.run('ask ledger.read --home node --attestation member.json')
    expect([allowed.code, allowed.stderr]).toEqual([0, ''])
    const missing = await network.run('ask ledger.read --home node --attestation absent.json')
    expect([missing.code, missing.stdout]).toEqual([2, ''])
    expect(missing.stderr).toContain('absent.json')
  })

  it('exits with 1 for a denial only', async () => {
    const denied = await network.run(`ask ledger.write --home node --attestation ${attestation} --json`)
    expect(denied.code).toBe(1)
    expect(denied.json()).toMatchObject({ decision: { authorized: false } })
  })

  it('exits with 2 when the authority refuses to decide', async () => {
    const refused = await network.run('ask ledger.read --home node --attestation unknown')
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    const both = await network.run(`ask ledger.read --home node --attestation ${attestation} --attestation x.json`)
    expect(both.code).toBe(2)
  })

  it('prints details and request id of a refusal, as text and as JSON', async () => {
    const record = await readFile(network.setup.path('member.json'), 'utf8')
    await writeFile(network.setup.path('foreign.json'), record.replaceAll('TEST-NET', 'NOBODY-NET'))
    const line = 'ask ledger.read --key node/node.key --presented foreign.json --issuer NOBODY-NET --home operator'
    const asText = await network.run(line)
    expect(asText.stderr).toMatch(/\n  reason: [a-z_]+\n/)
    expect(asText.stderr).toMatch(/request [0-9a-f-]{36}\n/)
    const { details, request_id } = (await network.run(`${line} --json`)).errorJson()['error'] as JsonObject
    expect([asText.code, details, request_id]).toEqual([
      2,
      expect.objectContaining({ reason: expect.stringMatching(/^[a-z_]+$/) }),
      expect.stringMatching(/^[0-9a-f-]{36}$/),
    ])
  })

  it('exits with 2 when the authority is not reachable', async () => {
    const closed = await network.run(
      `ask ledger.read --home node --attestation ${attestation} --url http://127.0.0.1:1`,
      { sleep: async () => undefined },
    )
    expect([closed.code, closed.stdout]).toEqual([2, ''])
  })
})
