/**
 * A controller that rotates a secret, but only when the authority's policies allow it, and leaves signed evidence of
 * every rotation. It can be killed at any time: a started action is in the outbox and is recorded after the next start.
 *
 *   NA_URL, GENESIS     as in node.ts
 *   NODE_HOME, INVITE   as in node.ts: its node key asks for decisions, so it needs no operator key
 *   EXECUTOR_KEY        signs executed actions; registered with `chancery evidence key add`
 *   ATTESTATION         of its node key, issued with `chancery attestation issue --node` and reviewed
 *   POLICY_PINS         the policies that decisions must use: [{policy_id, version, policy_digest}]
 *   OUTBOX              a separate folder
 */
import { readFile } from 'node:fs/promises'
import { GovernedActionRunner, Node, pinAttestation, readAttestation, readJson, summarizeDecision } from '@chancery/sdk'
import { FileNodeStore, FileOutbox, readGenesisFile, readSignerFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', OUTBOX = 'outbox' } = process.env
const { NODE_HOME = 'node', INVITE, EXECUTOR_KEY = 'executor.key' } = process.env
const { ATTESTATION = 'attestation.json', POLICY_PINS = 'policy-pins.json' } = process.env

// Not JSON.parse: it changes the spelling of numbers, so the pinned digest below would differ.
const attestation = readAttestation(readJson(await readFile(ATTESTATION, 'utf8')))
const node = await Node.join({
  url: NA_URL.split(','),
  genesis: await readGenesisFile(GENESIS),
  store: new FileNodeStore(NODE_HOME),
  ...(INVITE === undefined ? {} : { invite: INVITE }),
})
const outbox = await FileOutbox.open(OUTBOX)
const governor = await GovernedActionRunner.open({
  client: node.client,
  ask: 'node',
  node,
  outbox,
  executor: { signer: await readSignerFile(EXECUTOR_KEY), sovereignId: 'rotator' },
})

const result = await governor.run({
  request: {
    attestation_id: attestation.attestation_id,
    requested_capability: 'secret.rotate',
    context: { request_parameters: { environment: process.env['ENVIRONMENT'] ?? 'staging' } },
  },
  // Verifies the decision offline before the action runs: it must be signed by this authority, for this request, with
  // this attestation and these policies. Otherwise it throws and the action does not run.
  authorityKeys: node.keys,
  expectedAttestation: pinAttestation(attestation),
  expectedPolicies: JSON.parse(await readFile(POLICY_PINS, 'utf8')),
  resource: { id: 'kv/payments/api-key', action: 'rotate' },
  // Content of the evidence. Metadata only: values that look like secrets are refused.
  parameters: { vault: 'payments', rotated_by: 'controller' },
  run: async (_decision, report) => {
    const version = await rotate()
    report({ detail: `now at version ${version}` })
    return version
  },
})

console.log(summarizeDecision(result.decision))
if (result.authorized) {
  const { resource_sequence, evidence_id } = result.evidence
  console.log(`version ${result.value}; evidence ${evidence_id} is number ${resource_sequence} of the secret`)
  // Not an error: the evidence is in the outbox, and governor.start() sends it in the background.
  console.log(result.stored ? 'stored' : 'waiting')
}
outbox.close()
await node.stop()

/** A real controller creates a new version in its vault here. */
async function rotate(): Promise<number> {
  return Promise.resolve(8)
}
