/**
 * A controller that rotates a secret, but only when the authority's policies allow it, and leaves signed evidence of
 * every rotation. It can be killed at any time: a started action is in the outbox and is recorded after the next start.
 *
 *   NA_URL, GENESIS     as in node.ts
 *   OPERATOR_KEY        requests decisions
 *   EXECUTOR_KEY        signs executed actions; registered with `chancery executor-key register`
 *   ATTESTATION         the member on whose behalf it acts, as reviewed by a person
 *   POLICY_PINS         the policies that decisions must use: [{policy_id, version, policy_digest}]
 *   OUTBOX              a separate folder
 */
import { readFile } from 'node:fs/promises'
import { readAttestation } from '@chancery/protocol'
import { GovernedActionRunner, createClient, pinAttestation, readJson, summarizeDecision } from '@chancery/sdk'
import { FileOutbox, readGenesisFile, readSignerFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', OUTBOX = 'outbox' } = process.env
const { OPERATOR_KEY = 'operator.key', EXECUTOR_KEY = 'executor.key' } = process.env
const { ATTESTATION = 'attestation.json', POLICY_PINS = 'policy-pins.json' } = process.env

const authorityKey = (await readGenesisFile(GENESIS)).network_authority.public_key
// Not JSON.parse: it changes the spelling of numbers, so the pinned digest below would differ.
const attestation = readAttestation(readJson(await readFile(ATTESTATION, 'utf8')))
const client = createClient({
  url: NA_URL,
  operator: { signer: await readSignerFile(OPERATOR_KEY), audience: authorityKey },
})
const outbox = await FileOutbox.open(OUTBOX)
const governor = await GovernedActionRunner.open({
  client,
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
  authorityKeys: [authorityKey],
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

/** A real controller creates a new version in its vault here. */
async function rotate(): Promise<number> {
  return Promise.resolve(8)
}
