import { resolve } from 'node:path'
import { isPolicyId } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Returns a commented example policy, which is valid. */
function examplePolicy(policyId: string): string {
  return `# A boundary policy: rules for requests, signed and versioned by the authority.
# Test it:    chancery policy test .
# Publish it: chancery policy publish ${policyId}.policy.yaml
policy_id: ${policyId}
description: Payments stay below the limit and within working hours.

# Times need Z or an offset. After valid_until the whole active set denies: replace or deactivate it before.
valid_from: 2025-01-01T00:00:00Z
valid_until: 2035-01-01T00:00:00Z

# To which requests it applies. Every field given must match; an empty selector matches every request.
selector:
  # Exact, or a stem with .* at its end: payment.* covers payment.send, not payment.
  capabilities: [payment.*]

gates:
  # A gate must pass for the request to be allowed; mode observe only records.
  - gate_id: amount
    gate_type: max_value.v1
    order: 0
    config:
      # Facts: request_parameters.…, attributes.…, attestation.claims.…, requested_capability and others.
      path: request_parameters.amount
      max: 1000
  - gate_id: currency
    gate_type: allowlist.v1
    order: 1
    config:
      path: request_parameters.currency
      values: [EUR, CHF]
  - gate_id: working-hours
    gate_type: time_window.v1
    order: 2
    mode: observe
    config:
      # 1 is Monday; hours are UTC.
      weekdays: [1, 2, 3, 4, 5]
      utc_hour_start: 7
      utc_hour_end: 18
`
}

/** Returns test cases for the example policy, each with the expected decision. */
function exampleCases(policyId: string): string {
  return `# Requests and what the policies of this folder should make of them.
# The time of a request that names none; fixed, so that a case means the same tomorrow.
now: 2027-03-01T12:00:00Z
cases:
  - name: a small payment is allowed
    context:
      requested_capability: payment.send
      request_parameters: { amount: 250, currency: EUR }
    expect:
      outcome: allow
      gates:
        ${policyId}/amount: pass
        ${policyId}/currency: pass

  - name: a large payment is denied
    context:
      requested_capability: payment.send
      request_parameters: { amount: 1000.5, currency: EUR }
    expect:
      outcome: deny
      gates:
        ${policyId}/amount: fail

  - name: a payment at night is allowed with a notice
    context:
      requested_capability: payment.send
      requested_at: 2027-03-01T23:00:00Z
      request_parameters: { amount: 1, currency: CHF }
    expect:
      outcome: allow
      gates:
        ${policyId}/working-hours: fail

  - name: other capabilities are not touched
    basis:
      attestation: { subject_id: vendor-1, roles: [role:client], claims: {} }
    context:
      requested_capability: report.read
    expect:
      outcome: allow
`
}

/** Runs `policy new`: writes an example policy and test cases that pass. */
export async function runBoundaryPolicyNew(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const id = options.required('name')
  if (!isPolicyId(id)) throw usageError('A policy id is 1 to 128 characters of A-Z a-z 0-9 . _ : -')
  const folder = options.textOrDefault('out')
  const [policy, cases] = [resolve(cwd, folder, `${id}.policy.yaml`), resolve(cwd, folder, `${id}.cases.yaml`)]
  await refuseExisting([policy, cases])
  await writeNewFile(policy, examplePolicy(id), FOR_ALL)
  await writeNewFile(cases, exampleCases(id), FOR_ALL)
  const text = `${style.good('Written:')} ${typed(cwd, policy)} and ${typed(cwd, cases)}\nNext: chancery policy test ${folder}`
  return { data: { policy_id: id, policy_file: policy, cases_file: cases }, ids: [id], text }
}
