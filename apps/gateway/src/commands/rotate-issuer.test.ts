import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RevocationList, seconds, writeJson } from '@chancery/protocol'
import { requireValues, systemClock } from '@chancery/service-kit'
import { type TestIssuer, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type GatewaySettings, readGatewaySettings } from '../settings/gateway-settings.ts'
import { type StoredCheckpoint, readCheckpoints, writeCheckpoint } from '../state/checkpoints.ts'
import { createStateFile, inTransaction, readState } from '../state/state-file.ts'
import { rotateIssuer } from './rotate-issuer.ts'

const before = await testIssuer('agency')
// A rotation: the same key id with another key.
const after: TestIssuer = { ...before, signer: { ...(await testIssuer('rotated')).signer, keyId: before.keyId } }
const WITHDRAWN = { certificate_id: 'withdrawn', reason: 'key_compromise', revoked_at: '2026-01-02T03:04:05Z' }
let folder: string
let settings: GatewaySettings

function list(by: TestIssuer, sequence: number, ...ids: string[]): Promise<RevocationList> {
  const entries = ids.map((certificate_id) => ({ certificate_id }))
  return testList(by, systemClock.now(), { sequence, issuedAgo: seconds(600 - 10 * sequence), entries })
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-rotate-'))
  const stored = await list(before, 9, 'listed')
  const stateFile = join(folder, 'state')
  createStateFile(stateFile, (db) =>
    inTransaction(db, () => {
      const { sequence, issued_at } = stored
      const checkpoint = { network: 'agency', issuer: before.keyId, sequence, issued_at, body: writeJson(stored) }
      writeCheckpoint(db, { ...checkpoint, gained: [WITHDRAWN], lost: [] })
    }),
  )
  const policyFile = join(folder, 'policy.json')
  const network = testNetwork(after, await list(after, 10, 'listed'))
  writeFileSync(policyFile, writeJson(testPolicy({ agency: network }, [testClient('caller', ['agency'])])), {
    mode: 0o600,
  })
  const env = { GATEWAY_POLICY_FILE: policyFile, GATEWAY_STATE_FILE: stateFile }
  settings = requireValues(readGatewaySettings({ flags: {}, env }))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function rotate(newList: RevocationList, oldKey = before.signer.publicKey): Promise<unknown> {
  const file = join(folder, 'new.json')
  writeFileSync(file, writeJson(newList))
  return rotateIssuer(settings, { network: 'agency', issuer: before.keyId, oldKey, newList: file })
}

function kept(): StoredCheckpoint | undefined {
  return readState(join(folder, 'state'), settings, (db) => readCheckpoints(db)[0])
}

it('accepts a higher list of the new key with every stored revocation; withdrawn revocations stay', async () => {
  const next = await list(after, 10, 'listed', 'more')
  await rotate(next)
  expect(kept()).toMatchObject({ sequence: 10, withdrawn: [WITHDRAWN] })
  expect(JSON.parse(kept()?.body ?? '')).toEqual(JSON.parse(writeJson(next)))
})

it.each([
  ['lacks revocations', () => list(after, 10, 'more')],
  ['lacks revocations', () => list(after, 10, 'withdrawn')],
  ['higher sequence', () => list(after, 9, 'listed')],
  ['refused (rollback)', () => list(after, 8, 'listed')],
  ['refused (unauthentic)', () => list(before, 10, 'listed')],
])('refuses a list that cannot follow: %s (%#)', async (problem, offered) => {
  const was = kept()
  await expect(rotate(await offered())).rejects.toThrow(problem)
  expect(kept()).toEqual(was)
})

it('refuses when the stored list does not verify under the given old key', async () => {
  await expect(rotate(await list(after, 10, 'listed'), after.signer.publicKey)).rejects.toThrow('under the old key')
})
