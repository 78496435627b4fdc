import { randomBytes } from 'node:crypto'
import { readEventLine, seedSigner } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, JsonObject, JsonValue, Signer, StoreHead } from '@chancery/protocol'
import { EXECUTED_CAPABILITY as CAPABILITY, EXECUTOR_SOVEREIGN as EXECUTOR, signExecution } from '@chancery/testkit'
import type { BenchOptions } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import type { BenchNetwork } from '../lib/network.ts'
import { type BenchOperator, operatorOf } from '../lib/operator.ts'
import { openAuthority } from '../lib/servers.ts'
import { readSample, type Sample } from './lines.ts'

/** Data of the evidence store of one authority process: a member, an executor, a decision. */
export interface EvidenceSetup {
  readonly operator: BenchOperator
  readonly executor: Signer
  readonly attestationId: JsonValue
  decide(): Promise<BoundaryDecision>
  /** An execution on a decision, as its executor signs it. */
  sign(decision: BoundaryDecision, more?: Partial<ExecutionEvidence>): Promise<ExecutionEvidence>
}

/** An authority process with the evidence store on, and its data. */
export async function openStore(options: BenchOptions) {
  const settings = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
  const opened = await openAuthority(options, { settings })
  return { ...opened, setup: await openSetup(opened.network, opened.server.port) }
}

async function openSetup(network: BenchNetwork, port: number): Promise<EvidenceSetup> {
  const operator = await operatorOf(network, port)
  const executor = await seedSigner('rotator-key', randomBytes(32).toString('base64'))
  const key = { key_id: executor.keyId, public_key: executor.publicKey, executor_sovereign_id: EXECUTOR }
  await operator.post('/admin/evidence/executor-keys', key)
  const member = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: [CAPABILITY] } }
  const { attestation_id = null } = await operator.post('/admin/attestations', member)
  return {
    operator,
    executor,
    attestationId: attestation_id,
    decide: async () => {
      const asked = { attestation_id, requested_capability: CAPABILITY }
      return (await operator.post('/admin/boundary/evaluate', asked))['decision'] as unknown as BoundaryDecision
    },
    sign: (decision, more) => signExecution(decision, executor, more),
  }
}

/** One decision with its justification and execution through the routes, and the head of the chain after them. */
export async function drawSample(
  setup: EvidenceSetup,
  port: number,
): Promise<{ readonly sample: Sample; readonly head: StoreHead }> {
  const evidence = await setup.sign(await setup.decide())
  const answer = await fetch(`http://${HOST}:${port}/evidence/execution`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ evidence } satisfies { evidence: JsonObject }),
  })
  if (!answer.ok) throw new Error(`no execution was stored: ${await answer.text()}`)
  const lines = (await setup.operator.getText('/admin/evidence/export')).split('\n').slice(0, -1)
  const last = readEventLine(lines.at(-1) ?? '')
  if (last === undefined) throw new Error('the store holds nothing')
  return {
    sample: readSample(lines),
    head: { store_sequence: last.entry.store_sequence, entry_digest: last.entryDigest },
  }
}
