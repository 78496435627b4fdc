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
import { createGovernor, joinNetwork } from '@chancery/sdk'
import { FileNodeStore, FileOutbox, readAttestationFile, readGenesisFile, readSignerFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', OUTBOX = 'outbox' } = process.env
const { NODE_HOME = 'node', INVITE, EXECUTOR_KEY = 'executor.key' } = process.env
const { ATTESTATION = 'attestation.json', POLICY_PINS = 'policy-pins.json' } = process.env

const authority = { url: NA_URL.split(','), genesis: await readGenesisFile(GENESIS) }
await using node = await joinNetwork({
  ...authority,
  store: new FileNodeStore(NODE_HOME),
  // What decisions are about: a decision on another record is not accepted.
  attestation: await readAttestationFile(ATTESTATION),
  ...(INVITE === undefined ? {} : { invite: INVITE }),
})
await using outbox = await FileOutbox.open(OUTBOX)
await using govern = await createGovernor({
  decisions: node,
  authority,
  outbox,
  executor: { signer: await readSignerFile(EXECUTOR_KEY), id: 'rotator' },
  // A decision must be signed by this authority, for this request, with these policies. Otherwise nothing runs.
  expectedPolicies: JSON.parse(await readFile(POLICY_PINS, 'utf8')),
})

const rotation = govern(
  'secret.rotate',
  async (_input: { environment: string }, { report }) => {
    const version = await rotate()
    report('success', `now at version ${version}`)
    return version
  },
  {
    // What policies may read and evidence states. Metadata only: values that look like secrets are refused.
    parameters: ({ environment }) => ({ environment, vault: 'payments' }),
    resource: () => ({ id: 'kv/payments/api-key', action: 'rotate' }),
  },
)

const result = await rotation.try({ environment: process.env['ENVIRONMENT'] ?? 'staging' })
if (result.allowed) {
  const { resource_sequence, evidence_id } = result.evidence
  console.log(`ALLOW ${result.answer.decision.decision_id}`)
  console.log(`version ${result.value}; evidence ${evidence_id} is number ${resource_sequence} of the secret`)
  // Not an error: the evidence is in the outbox, and is submitted in the background.
  console.log(result.stored ? 'stored' : 'waiting')
} else console.log(`DENY ${result.answer.explanation}`)

/** A real controller creates a new version in its vault here. */
async function rotate(): Promise<number> {
  return Promise.resolve(8)
}
