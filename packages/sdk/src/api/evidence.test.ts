import { openCheckpoint, logOrigin, inclusionProof, nodesFromTiles } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence } from '@chancery/protocol'
import { ManualClock, accepted, signExecution, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import { ResponseError, RefusedError } from '../errors.ts'
import { listen } from '../http/http-server.suite.ts'

const clock = new ManualClock('2030-01-02T03:00:00Z')
let na: TestAuthority
let client: Client
let decision: BoundaryDecision
beforeAll(async () => {
  const settings = { NA_CLOCK_CHECK: 'off', EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
  na = await startTestAuthority({ clock, backend: 'sqlite', settings })
  const operator = { signer: await testSigner('op-privileged'), audience: na.genesis.network_authority.public_key }
  client = createAuthorityClient({ url: na.url, operator, clock: () => clock.now(), retry: false })
  const claims = { capabilities: ['secret.rotate'] }
  const { attestation_id } = await client.attestations.issue({ subject_id: 'vendor-1', roles: ['role:client'], claims })
  const asked = { attestation_id, requested_capability: 'secret.rotate' }
  const answer = accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', asked), 201)
  decision = answer['decision'] as unknown as BoundaryDecision
})
afterAll(() => na.stop())

async function evidenceOf(more: Partial<ExecutionEvidence> = {}): Promise<ExecutionEvidence> {
  const resource = { resource_id: 'kv/a b', resource_action: 'create', resource_sequence: 1 } as const
  const first = { evidence_id: 'e-1', execution_parameters: {}, ...resource }
  return signExecution(decision, await testSigner('rotator-1'), { ...first, ...more })
}

describe('evidence', () => {
  it('is submitted under a registered key, found, exported, verified and anchored', async () => {
    const { publicKey } = await testSigner('rotator-1')
    const key = { key_id: 'rotator-1', public_key: publicKey, executor_sovereign_id: 'rotator' }
    expect(await client.evidence.registerKey(key)).toEqual({
      key_id: 'rotator-1',
      executor_sovereign_id: 'rotator',
      active: true,
    })
    const record = await evidenceOf()
    expect((await client.evidence.execution({ evidence: record })).status).toBe('recorded')
    expect((await client.evidence.execution({ evidence: record })).status).toBe('duplicate')
    const page = await client.evidence.search({ resource_id: 'kv/a b' })
    expect(page.entries.map(({ entry }) => entry.evidence_id)).toEqual(['e-1'])
    expect(await client.evidence.resourceHeads('kv/a b')).toMatchObject({ resource_sequence: 1 })
    expect(await client.evidence.resources('kv/a b')).toMatchObject({
      truncated: false,
      verification: { verified: true },
    })
    expect(await client.evidence.vendors('vendor-1')).toMatchObject({ verification: { checked_entries: 3 } })
    const lines: string[] = []
    for await (const line of client.evidence.export()) lines.push(line)
    expect(lines).toHaveLength(3)
    expect(await client.evidence.lines(1, 1)).toEqual(lines.slice(1, 2))
    expect(await client.evidence.verify()).toMatchObject({ verified: true, checked_entries: 3 })
    expect(await client.evidence.status()).toMatchObject({ entries: 3, unanchored_entries: 3 })
    const { anchor, status } = await client.evidence.anchor()
    expect([anchor?.store_sequence, status]).toEqual([3, 'anchored'])
    expect((await client.evidence.anchors({ after_anchor: 0 })).anchors).toEqual([anchor])
    expect(await client.evidence.retention({ older_than_days: 1, dry_run: true })).toEqual({
      dry_run: true,
      would_change: false,
      removed_count: 0,
      removed_through_sequence: null,
      stopped_by: 'too_young',
      complete: true,
      through_sequence: null,
    })
    expect(await client.evidence.retention({ older_than_days: 1, through_sequence: 2, dry_run: true })).toMatchObject({
      removed_count: 0,
      through_sequence: 2,
    })
    expect(await client.evidence.retention({ older_than_days: 1 })).toEqual({
      removed_count: 0,
      checkpoint: null,
      stopped_by: 'too_young',
    })
    expect((await client.evidence.executorKeys()).executor_keys.map(({ key_id }) => key_id)).toEqual(['rotator-1'])
    expect(await client.evidence.retireKey('rotator-1')).toEqual({ key_id: 'rotator-1', active: false })
    await expect(
      client.evidence.execution({ evidence: await evidenceOf({ evidence_id: 'e-2', sequence_no: 2 }) }),
    ).rejects.toMatchObject({
      code: 'evidence_unknown_executor',
    })
    await expect(client.evidence.vendors('nobody')).rejects.toBeInstanceOf(RefusedError)
  })

  it('is a log from which proofs are computed', async () => {
    await na.features.evidenceLog.append()
    const note = await client.evidenceLog.checkpoint()
    const opened = await openCheckpoint(note, logOrigin('TEST-NET'), na.genesis.network_authority.public_key)
    // A refused submission is an entry, too.
    expect(opened?.size).toBe(4)
    expect(
      await inclusionProof(
        0,
        4,
        nodesFromTiles(4, (name) => client.evidenceLog.tile(name)),
      ),
    ).toHaveLength(2)
  })

  it('does not take a tile of another length', async () => {
    const server = await listen(() => ({ raw: 'short' }))
    try {
      const stranger = createAuthorityClient({ url: server.url, retry: false })
      await expect(stranger.evidenceLog.tile({ level: 0, tile: 0, width: 1 })).rejects.toBeInstanceOf(ResponseError)
    } finally {
      await server.close()
    }
  })
})
